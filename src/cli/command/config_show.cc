// config show: the value of every option and where it came from.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/command_line.h"
#include "cli/options/options.h"
#include "cli/options/settings.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

// JSON's strings and numbers are TOML's as well, so the output is a configuration file.
std::string toml_line(const OptionRow& row, const OptionValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return fmt::format("# {} is unset", row.key);
  const auto replace = ordered_json::error_handler_t::replace;
  return fmt::format("{} = {}", row.key, json_value(value).dump(-1, ' ', false, replace));
}

Status run_config_show(const Options& options, Output& out) {
  const auto& arguments = options.arguments();
  const Command* about = arguments.empty() ? nullptr : find_command(options.commands(), arguments[0]);
  if (!arguments.empty() && about == nullptr) {
    return unknown_command(options.commands(), arguments);
  }
  for (const OptionRow& row : option_rows()) {
    if (row.key.empty() || (about != nullptr && !applies_to(row, *about))) continue;
    const OptionValue& value = options.value(row.name);
    const std::string line = toml_line(row, value);
    const std::string place = options.place(row.name);
    out.human(options.flag("origin") ? fmt::format("{:<44} # {}\n", line, place) : line + "\n");
  }
  out.json({{"options", settings_of(options, about)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kConfigShowCommand = {
    .path = "config show",
    .summary = "Show the value of every option, of one command or of all",
    .example = "thalweg config show train --rate 0.1 --origin",
    .run = run_config_show,
    .options = {"origin"},
    .arguments = "[COMMAND]",
    .arguments_max = 1,
    .about_command = true,
};

}  // namespace thalweg
