#include "cli/options/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/options/suggest.h"

namespace thalweg {
namespace {

Status config_error(const std::string& path, const toml::source_position& at, const std::string& message) {
  return {Code::kConfig, fmt::format("{}:{}:{}: {}", path, at.line, at.column, message)};
}

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

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Status walk(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (const toml::table* inner = node.as_table(); inner != nullptr && is_section(key)) {
        if (Status status = walk(*inner, key + "."); !status.ok()) return status;
        continue;
      }
      const OptionRow* row = find_key(key);
      if (row == nullptr) return config_error(path_, name.source().begin, unknown_key(key));
      if (Status status = take(*row, node); !status.ok()) return status;
    }
    return ok_status();
  }

  std::vector<FileOption> options;

 private:
  static bool is_section(const std::string& key) {
    const auto rows = option_rows();
    return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
      return row.key.size() > key.size() && row.key.substr(0, key.size() + 1) == key + ".";
    });
  }

  Status take(const OptionRow& row, const toml::node& node) {
    const toml::source_position at = node.source().begin;
    if (!fits(row.type, node)) {
      return config_error(path_, at,
                          fmt::format("{} is {}, expected {}", row.key, type_name(node), expectation(row)));
    }
    Result<OptionValue> value = parse_value(row, scalar_text(node));
    if (!value) return config_error(path_, at, fmt::format("{}: {}", row.key, value.status().message()));
    options.push_back({&row, *std::move(value), fmt::format("{}:{}", path_, at.line)});
    return ok_status();
  }

  const std::string& path_;
};

}  // namespace

std::string unknown_key(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const OptionRow& row : option_rows()) {
    if (!row.key.empty()) keys.push_back(row.key);
  }
  std::string message = fmt::format("there is no option '{}'", key.substr(0, 80));
  std::string_view near = nearest(key, keys);
  if (near.empty()) {  // The right word, or nearly so, without or under the wrong section.
    std::vector<std::string_view> words;
    for (const std::string_view known : keys) words.push_back(known.substr(known.find('.') + 1));
    const std::string_view word = nearest(key.substr(key.rfind('.') + 1), words);
    const auto found = std::find(words.begin(), words.end(), word);
    if (found != words.end()) near = keys[static_cast<std::size_t>(found - words.begin())];
  }
  return message + (near.empty() ? std::string("\nhint: thalweg config show lists them")
                                 : fmt::format("\nhint: did you mean '{}'?", near));
}

Result<std::vector<FileOption>> parse_config(std::string_view text, const std::string& path) {
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    const std::string_view before = text.substr(0, nul);
    const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
    const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return config_error(path, {line, static_cast<std::uint32_t>(nul - start + 1)},
                        "a NUL byte; expected TOML text");
  }
  Reader reader(path);
  try {
    const toml::table table = toml::parse(text, path);
    if (Status status = reader.walk(table, ""); !status.ok()) return status;
  } catch (const toml::parse_error& error) {
    return config_error(path, error.source().begin, std::string(error.description()));
  }
  return std::move(reader.options);
}

Result<std::vector<FileOption>> read_config(const std::string& path) {
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
  return parse_config(text, path);
}

}  // namespace thalweg
