#include "cli/options/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/options/option_table.h"

namespace thalweg {
namespace {

constexpr std::string_view kCodes[][2] = {
    {"0", "Done."},
    {"1", "An error of the program, or the operating system refused."},
    {"2", "Wrong usage."},
    {"3", "A configuration file or an environment variable is wrong."},
    {"4", "Input data is wrong."},
    {"5", "A node was lost."},
    {"6", "A deadline passed."},
    {"7", "A loss or a value became infinite or not a number."},
    {"8", "A model directory is damaged or of another version."},
    {"130", "Interrupted; the model was saved."},
};

using OptionGroup = std::pair<std::string_view, std::vector<const OptionRow*>>;

std::vector<OptionGroup> grouped(const std::vector<const OptionRow*>& rows) {
  std::vector<OptionGroup> groups;
  for (const OptionRow* row : rows) {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const OptionGroup& group) { return group.first == row->group; });
    if (found == groups.end()) {
      groups.push_back({row->group, {row}});
    } else {
      found->second.push_back(row);
    }
  }
  return groups;
}

std::string usage_line(const Command& command) {
  const std::string_view space = command.arguments.empty() ? "" : " ";
  return fmt::format("thalweg {} [OPTIONS]{}{}", command.path, space, command.arguments);
}

std::string option_help(const OptionRow& row) {
  const std::string letter = row.letter == 0 ? "    " : fmt::format("-{}, ", row.letter);
  const std::string value = placeholder_text(row);
  const std::string left =
      fmt::format("  {}--{}{}{}", letter, fmt::join(spellings(row), ", --"), value.empty() ? "" : " ", value);
  const std::string fallback = row.fallback.empty() ? "" : fmt::format(" [{}]", row.fallback);
  constexpr std::size_t kColumn = 30;
  if (left.size() + 2 > kColumn) return fmt::format("{}\n{:{}}{}{}\n", left, "", kColumn, row.help, fallback);
  return fmt::format("{:<{}}{}{}\n", left, kColumn, row.help, fallback);
}

std::string command_rows(std::span<const Command> commands, std::string_view word) {
  std::string text;
  for (const Command& command : commands) {
    if (!word.empty() && command.path.substr(0, command.path.find(' ')) != word) continue;
    text += fmt::format("  {:<19}{}\n", command.path, command.summary);
  }
  return text;
}

// Roff reads a leading '.' or '\'' as a request and '\' as an escape; '-' would become a hyphen.
std::string roff(std::string_view text) {
  std::string out = !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_manual(const OptionRow& row, std::span<const Command> commands) {
  const std::string value = placeholder_text(row);
  std::string names;
  if (row.letter != 0) names = fmt::format("\\fB{}\\fR", roff(fmt::format("-{}", row.letter)));
  for (const std::string_view name : spellings(row)) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(fmt::format("--{}", name)));
  }
  if (!value.empty()) names += fmt::format(" \\fI{}\\fR", roff(value));
  std::string text = fmt::format(".TP\n{}\n{}.\n", names, roff(row.help));
  if (!row.fallback.empty()) text += fmt::format("Default: {}.\n", roff(row.fallback));
  if (!row.common) text += fmt::format("For {}.\n", roff(takers_of(row, commands, ", ")));
  const std::string variable = variable_name(row);
  if (!row.key.empty()) text += fmt::format("Key {}, variable {}.\n", roff(row.key), roff(variable));
  if (row.key.empty() && !variable.empty()) text += fmt::format("Variable {}.\n", roff(variable));
  return text;
}

}  // namespace

std::string program_help(std::span<const Command> commands) {
  return "thalweg trains sparse models on a parameter server.\n\nUsage: thalweg COMMAND [OPTIONS] "
         "...\n\nCommands:\n" +
         command_rows(commands, "") +
         "\nthalweg COMMAND --help shows the options of one command; thalweg help --man is the manual page.\n"
         "An option's value is taken from its flag, else from --set KEY=VALUE, else from THALWEG_*,\n"
         "else from the file that --config names, else it is the default: see thalweg config show "
         "--origin.\n";
}

std::string group_help(std::span<const Command> commands, std::string_view word) {
  return fmt::format("Usage: thalweg {} COMMAND [OPTIONS] ...\n\nCommands:\n{}", word,
                     command_rows(commands, word));
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("{}.\n\nUsage: {}\n", command.summary, usage_line(command));
  for (const auto& [name, rows] : grouped(options_of(command))) {
    text += fmt::format("\n{}:\n", name);
    for (const OptionRow* row : rows) text += option_help(*row);
  }
  if (command.more_help != nullptr) text += fmt::format("\n{}", command.more_help());
  return text + fmt::format("\nExample:\n  {}\n", command.example);
}

std::string manual_page(std::span<const Command> commands, std::string_view version) {
  std::string text = fmt::format(
      ".TH THALWEG 1 \"\" \"thalweg {}\" \"User Commands\"\n.SH NAME\nthalweg \\- train sparse models on a "
      "parameter server\n.SH SYNOPSIS\n\\fBthalweg\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n.SH COMMANDS\n",
      roff(version));
  for (const Command& command : commands) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}.\n.br\nExample: {}\n", roff(usage_line(command)),
                        roff(command.summary), roff(command.example));
    if (command.more_help != nullptr) text += fmt::format(".nf\n{}.fi\n", roff(command.more_help()));
  }
  text += ".SH OPTIONS\n";
  for (const auto& [name, rows] : grouped(options_of(commands))) {
    text += fmt::format(".SS {}\n", roff(name));
    for (const OptionRow* row : rows) text += option_manual(*row, commands);
  }
  text +=
      ".SH CONFIGURATION\nThe value of an option is that of its flag, else of \\-\\-set KEY=VALUE, else of "
      "its "
      "environment variable, else of its key in the TOML file that \\-\\-config names, else its default.\n"
      ".SH ENVIRONMENT\nTHALWEG_* as above. NO_COLOR turns colors off.\n.SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kCodes) text += fmt::format(".TP\n{}\n{}\n", code, roff(meaning));
  return text;
}

}  // namespace thalweg
