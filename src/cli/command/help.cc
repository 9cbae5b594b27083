// help: on the program, a command or all as a manual page.
#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/command/command.h"
#include "cli/options/command_line.h"
#include "cli/options/help.h"
#include "cli/options/options.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

Status run_help(const Options& options, Output& out) {
  const auto commands = options.commands();
  std::string text = program_help(commands);
  if (options.flag("man")) {
    text = manual_page(commands, build_info().version);
  } else if (!options.arguments().empty()) {
    const std::string& topic = options.arguments()[0];
    const Command* command = find_command(commands, topic);
    if (command == nullptr && !is_command_group(commands, topic)) {
      return unknown_command(commands, options.arguments());
    }
    text = command == nullptr ? group_help(commands, topic) : command_help(*command);
  }
  out.human(text);
  out.json({{"help", text}});
  return ok_status();
}

}  // namespace

extern constinit const Command kHelpCommand = {
    .path = "help",
    .summary = "Show help on a command, or the manual page",
    .example = "thalweg help config show",
    .run = run_help,
    .options = {"man"},
    .arguments = "[COMMAND]",
    .arguments_max = 1,
    .about_command = true,
};

}  // namespace thalweg
