#include "cli/command/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/options/option_table.h"

namespace thalweg {
namespace {

template <class Applies>
std::vector<const OptionRow*> select_options(std::span<const Command> commands, Applies applies) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : option_rows()) {
    if (!row.common && applies(row)) rows.push_back(&row);
  }
  for (const Command& command : commands) {
    for (const OptionRow& row : command.own) rows.push_back(&row);
  }
  for (const OptionRow& row : option_rows()) {
    if (row.common) rows.push_back(&row);
  }
  return rows;
}

}  // namespace

const Command* find_command(std::span<const Command> commands, std::string_view path) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.path == path; });
  return found == commands.end() ? nullptr : &*found;
}

const Command* match_command(std::span<const Command> commands, std::span<const std::string> words) {
  if (words.size() >= 2) {
    if (const Command* both = find_command(commands, words[0] + " " + words[1])) return both;
  }
  return words.empty() ? nullptr : find_command(commands, words[0]);
}

bool is_command_group(std::span<const Command> commands, std::string_view word) {
  return std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    return command.path.size() > word.size() && command.path.substr(0, word.size()) == word &&
           command.path[word.size()] == ' ';
  });
}

bool applies_to(const OptionRow& row, const Command& command) {
  if (row.common) return true;
  for (const OptionRow& own : command.own) {
    if (&own == &row) return true;
  }
  return std::any_of(command.options.begin(), command.options.end(), [&](std::string_view names) {
    const auto parts = split(names, '|');
    return std::find(parts.begin(), parts.end(), row.name) != parts.end();
  });
}

std::vector<const OptionRow*> options_of(const Command& command) {
  return select_options({&command, 1}, [&](const OptionRow& row) { return applies_to(row, command); });
}

std::vector<const OptionRow*> options_of(std::span<const Command> commands) {
  return select_options(commands, [](const OptionRow&) { return true; });
}

std::string takers_of(const OptionRow& row, std::span<const Command> commands, std::string_view separator) {
  std::vector<std::string_view> paths;
  for (const Command& command : commands) {
    if (applies_to(row, command)) paths.push_back(command.path);
  }
  return fmt::format("{}", fmt::join(paths, separator));
}

std::string takers_of(std::string_view flag, std::span<const Command> commands, std::string_view separator) {
  std::vector<std::string_view> paths;
  for (const Command& command : commands) {
    const auto rows = options_of(command);
    if (std::none_of(rows.begin(), rows.end(), [&](const OptionRow* row) { return spelling(*row) == flag; }))
      continue;
    paths.insert(command.path == "train" ? paths.begin() : paths.end(), command.path);
  }
  return fmt::format("{}", fmt::join(paths, separator));
}

}  // namespace thalweg
