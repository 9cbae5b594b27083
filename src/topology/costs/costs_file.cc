#include "topology/costs/costs_file.h"

#include "topology/toml_reader.h"

namespace thalweg {

namespace {

Result<MachineCosts> read_costs(const toml::table& table, const std::string& source) {
  TomlReader in(source);
  in.allow(table, "a costs file", {"shared_memory", "loopback", "core"});
  for (const char* transport : {"shared_memory", "loopback"}) {
    if (const toml::table* inner = table[transport].as_table())
      in.allow(*inner, transport, {"bytes_per_second", "latency_seconds", "message_seconds"});
  }
  if (const toml::table* inner = table["core"].as_table())
    in.allow(*inner, "core", {"add_seconds_per_byte", "fetch_seconds_per_byte", "cache_bytes"});
  MachineCosts costs;
  each_cost(costs, [&](const char* part, const char* key, double& value, bool (*is_valid)(double)) {
    const toml::node* node = table.get(part);
    if (node == nullptr || !in.ok()) return;
    const toml::table* inner = node->as_table();
    if (inner == nullptr) return in.fail(*node, fmt::format("{} is no table; expected [{}]", part, part));
    const toml::node* number = inner->get(key);
    if (number == nullptr) return;
    const auto found = number->value<double>();
    if (!number->is_number() || !found || !is_valid(*found))
      return in.fail(*number, fmt::format("{} is wrong; expected a number such as {}", key, value));
    value = *found;
  });
  if (!in.ok()) return in.status();
  return costs;
}

}  // namespace

Result<MachineCosts> parse_costs(std::string_view text, const std::string& source) {
  if (text.size() > kCostsBytesMax || text.find('\0') != text.npos) {
    return Status(Code::kConfig,
                  fmt::format("{}: expected TOML text of at most {} bytes", source, kCostsBytesMax));
  }
  try {
    return read_costs(toml::parse(text), source);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return Status(Code::kConfig,
                  fmt::format("{}:{}:{}: {}", source, at.line, at.column, error.description()));
  }
}

std::string to_toml(const MachineCosts& costs) {
  std::string text, open;
  each_cost(costs, [&](std::string_view part, std::string_view key, double value, bool (*)(double)) {
    if (part != open) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", part);
    open = part;
    const std::string digits = fmt::format("{}", value);
    const bool is_float = digits.find_first_of(".e") != std::string::npos;
    text += fmt::format("{} = {}{}\n", key, digits, is_float ? "" : ".0");
  });
  return text;
}

}  // namespace thalweg
