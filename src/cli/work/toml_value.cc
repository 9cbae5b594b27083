#include "cli/work/toml_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/options/config_file.h"

namespace thalweg {
namespace {

// What a value may be written as, per type of option.
bool fits(OptionType type, const toml::node& node) {
  switch (type) {
    case OptionType::kFlag:
      return node.is_boolean();
    case OptionType::kInt:
      return node.is_integer();
    case OptionType::kReal:
      return node.is_number();
    case OptionType::kDuration:
      return node.is_number() || node.is_string();
    case OptionType::kText:
    case OptionType::kChoice:
    case OptionType::kInterval:
    case OptionType::kInts:
      return node.is_string();
  }
  return false;
}

std::string scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return {};
}

const char* type_name(const toml::node& node) {
  if (node.is_string()) return "a string";
  if (node.is_integer()) return "an integer";
  if (node.is_floating_point()) return "a float";
  if (node.is_boolean()) return "a boolean";
  return node.is_array() ? "an array" : node.is_table() ? "a table" : "a date";
}

}  // namespace

Status toml_error(const std::string& path, const toml::source_position& at, const std::string& message) {
  return {Code::kConfig, fmt::format("{}:{}:{}: {}", path, at.line, at.column, message)};
}

Result<OptionValue> toml_option(const std::string& path, std::string_view key, const OptionRow& row,
                                const toml::node& node) {
  const toml::source_position at = node.source().begin;
  if (!fits(row.type, node)) {
    return toml_error(path, at, fmt::format("{} is {}, expected {}", key, type_name(node), expectation(row)));
  }
  Result<OptionValue> value = parse_value(row, scalar_text(node));
  if (!value) return toml_error(path, at, fmt::format("{}: {}", key, value.status().message()));
  return value;
}

Result<toml::table> parse_toml(std::string_view text, const std::string& path) {
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    const std::string_view before = text.substr(0, nul);
    const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
    const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return toml_error(path, {line, static_cast<std::uint32_t>(nul - start + 1)},
                      "a NUL byte; expected TOML text");
  }
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return toml_error(path, error.source().begin, std::string(error.description()));
  }
}

Result<std::string> read_toml_text(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return Status(Code::kConfig, fmt::format("{}: {}", path, why));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return refuse(fmt::format("cannot open: {}", std::strerror(errno)));
  std::string text(kConfigBytesMax + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return refuse(fmt::format("cannot read: {}", std::strerror(errno)));
  if (text.size() > kConfigBytesMax) return refuse("larger than 1 MiB, the most a configuration may have");
  return text;
}

}  // namespace thalweg
