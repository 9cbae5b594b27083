// config show: the value of every option and where it came from.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/commands.h"
#include "cli/options/command_line.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

ordered_json json_value(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  return value_text(value);
}

// JSON's strings and numbers are TOML's as well, so the output is a configuration file.
std::string toml_line(const OptionRow& row, const OptionValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return fmt::format("# {} is unset", row.key);
  const auto replace = ordered_json::error_handler_t::replace;
  return fmt::format("{} = {}", row.key, json_value(value).dump(-1, ' ', false, replace));
}

}  // namespace

Status run_config_show(const Options& options, Output& out) {
  const auto& arguments = options.arguments();
  if (!arguments.empty() && find_command(program_commands(), arguments[0]) == nullptr) {
    return unknown_command(program_commands(), arguments);
  }
  ordered_json all = ordered_json::object();
  for (const OptionRow& row : option_rows()) {
    if (row.key.empty() || (!arguments.empty() && !applies_to(row, arguments[0]))) continue;
    const OptionValue& value = options.value(row.name);
    const std::string line = toml_line(row, value);
    const std::string place = options.place(row.name);
    out.human(options.flag("origin") ? fmt::format("{:<44} # {}\n", line, place) : line + "\n");
    all[std::string(row.key)] = {{"value", json_value(value)}, {"origin", place}};
  }
  out.json({{"options", all}});
  return ok_status();
}

}  // namespace thalweg
