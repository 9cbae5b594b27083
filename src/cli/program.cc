#include "cli/program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command/commands.h"
#include "cli/options/help.h"
#include "cli/signals.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

// For errors that come before the options are known.
bool wants_json(std::span<const std::string> words, const Variables& variables) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const bool flag = std::find(words.begin(), end, "--json") != end;
  return flag || std::any_of(variables.begin(), variables.end(), [](const auto& variable) {
           return variable.first == "THALWEG_JSON" && (variable.second == "1" || variable.second == "true");
         });
}

void show_help(const CommandLine& line, Output& out) {
  std::string text = program_help(line.commands);
  if (!line.topic.empty()) text = group_help(line.commands, line.topic);
  if (line.command != nullptr) text = command_help(*line.command);
  if (!line.help) text = line.explain();
  out.human(text);
  out.json({{"help", text}});
}

int end(Output& out, Status status) {
  take_last_words();
  if (status.ok()) status = out.finish();
  if (status.ok()) return out.exit_code();
  out.error(status);
  return exit_code(status.code());
}

}  // namespace

int run_program(std::span<const std::string> words, const Variables& variables, bool color,
                std::FILE* results, std::FILE* people, std::span<const Command> more) {
  const auto own = program_commands();
  std::vector<Command> commands(own.begin(), own.end());
  commands.insert(commands.end(), more.begin(), more.end());
  Output early({.json = wants_json(words, variables), .color = color}, results, people);
  Result<CommandLine> line = parse_command_line(commands, words);
  if (!line) return end(early, line.status());
  if (line->help || line->explain != nullptr) {
    show_help(*line, early);
    return end(early, ok_status());
  }
  Result<Options> options = resolve(*line, variables);
  if (!options) return end(early, options.status());
  Output out({.json = options->flag("json"),
              .quiet = options->flag("quiet"),
              .verbose = options->flag("verbose"),
              .color = color},
             results, people);
  return end(out, line->command->run(*options, out));
}

}  // namespace thalweg
