#include "cli/options/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/options/suggest.h"

namespace thalweg {
namespace {

Status usage(std::string message) { return {Code::kUsage, std::move(message)}; }

std::string or_try_help(std::string_view near, std::string_view prefix, std::string_view command) {
  if (!near.empty()) return fmt::format("\nhint: did you mean '{}{}'?", prefix, near);
  return fmt::format("\nhint: thalweg {}{}--help lists what there is", command, command.empty() ? "" : " ");
}

Status unknown_flag(const CommandLine& line, const std::string& word) {
  const std::string text = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const OptionRow* row : options_of(line.commands)) {
    if (!line.in_scope(*row)) continue;
    for (const std::string_view name : spellings(*row)) names.push_back(name);
  }
  const std::string bare = text.substr(std::min(text.find_first_not_of('-'), text.size()));
  const std::string_view near = nearest(bare, names);
  std::string others = takers_of(bare, line.commands, "|");
  if (!others.empty()) others.insert(0, "; it belongs to: ");
  return usage(fmt::format("'{}' is not a flag of thalweg {}{}{}", text, line.command->path, others,
                           or_try_help(near, "--", line.command->path)));
}

// Which command, and how many words name it.
Result<std::size_t> find_commands(std::span<const Command> commands, std::span<const std::string> words,
                                  CommandLine& line) {
  line.command = match_command(commands, words);
  if (line.command == nullptr) {
    const bool asks = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
    if (is_command_group(commands, words[0]) && asks) {
      line.help = true, line.topic = words[0];
      return words.size();
    }
    const bool flag_follows = words.size() > 1 && words[1].rfind('-', 0) == 0;
    if (is_command_group(commands, words[0]) && (words.size() == 1 || flag_follows)) {
      return usage(
          fmt::format("thalweg {0} needs a second word\nhint: thalweg {0} --help lists them", words[0]));
    }
    return unknown_command(commands, words);
  }
  const auto words_in = [](const Command& command) { return split(command.path, ' ').size(); };
  std::size_t used = words_in(*line.command);
  if (line.command->about_command) {
    line.about = match_command(commands, words.subspan(used));
    if (line.about != nullptr) used += words_in(*line.about);
  }
  return used;
}

// CLI11 sorts the words; names, values and messages stay ours so that the table is their only source.
class Sorter {
 public:
  explicit Sorter(CommandLine& line) : line_(line) {
    app_.set_help_flag();
    app_.allow_extras();
    for (const OptionRow* row : options_of(line.commands)) {
      if (line.in_scope(*row)) add(*row);
    }
  }

  Status sort(std::span<const std::string> words) {
    const auto end = std::find(words.begin(), words.end(), "--");
    std::vector<std::string> reversed(words.begin(), end);
    std::reverse(reversed.begin(), reversed.end());
    try {
      app_.parse(reversed);
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string what = error.what();  // "--rate: 1 required TEXT missing"
      return usage(fmt::format("{} needs a value", what.substr(0, what.find(':'))));
    } catch (const CLI::ParseError& error) {
      return usage(error.what());
    }
    for (const std::string& word : app_.remaining()) {
      if (word.size() > 1 && word[0] == '-') return unknown_flag(line_, word);
      line_.arguments.push_back(word);
    }
    for (const auto& [row, option] : options_) {
      if (Status status = take(*row, *option); !status.ok()) return status;
    }
    if (end != words.end()) line_.arguments.insert(line_.arguments.end(), end + 1, words.end());
    return ok_status();
  }

 private:
  void add(const OptionRow& row) {
    std::string names = fmt::format("--{}", fmt::join(spellings(row), ",--"));
    if (row.letter != 0) names = fmt::format("-{},{}", row.letter, names);
    const bool valued = row.type != OptionType::kFlag;
    CLI::Option* option = valued ? app_.add_option(names)->type_size(1)->expected(1)->allow_extra_args(false)
                                 : app_.add_flag(names);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    options_.emplace_back(&row, option);
  }

  Status take(const OptionRow& row, const CLI::Option& option) {
    const auto& texts = option.results();
    const bool once = row.type == OptionType::kText || row.type == OptionType::kInts;
    if (once && !row.repeats && texts.size() > 1) {
      return usage(fmt::format("--{} is given twice, as '{}' and '{}'; expected once", spelling(row),
                               texts[0], texts[1]));
    }
    for (const std::string& text : option.results()) {
      const std::string_view word = text;
      if (word.size() > 2 && word.substr(0, 2) == "--" && row.type != OptionType::kFlag) {
        return usage(fmt::format("--{} needs a value, but '{}' follows it", spelling(row), text));
      }
      if (row.name == "help" && text == "true") line_.help = true;
      if (row.explain != nullptr && text == "help") line_.explain = row.explain;
      line_.given.push_back({&row, text});
    }
    return ok_status();
  }

  CommandLine& line_;
  CLI::App app_;
  std::vector<std::pair<const OptionRow*, CLI::Option*>> options_;
};

// May stand before the command.
bool is_common_switch(std::string_view word) {
  const auto rows = option_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
    const bool named = word == fmt::format("--{}", spelling(row)) ||
                       (row.letter != 0 && word == fmt::format("-{}", row.letter));
    return row.type == OptionType::kFlag && row.common && named;
  });
}

Status check_arguments(const CommandLine& line) {
  const Command& command = *line.command;
  const auto count = static_cast<long>(line.arguments.size());
  if (count >= command.arguments_min && count <= command.arguments_max) return ok_status();
  if (count > command.arguments_max) {
    const std::string& extra = line.arguments[static_cast<std::size_t>(command.arguments_max)];
    return usage(fmt::format("thalweg {} takes {}, so '{}' is one too many", command.path,
                             command.arguments.empty() ? "no argument" : command.arguments, extra));
  }
  return usage(
      fmt::format("thalweg {} needs {}\nhint: {}", command.path, command.arguments, command.example));
}

}  // namespace

Status unknown_command(std::span<const Command> commands, std::span<const std::string> words) {
  const bool group = is_command_group(commands, words[0]);
  std::vector<std::string_view> names;
  for (const Command& command : commands) {
    names.push_back(command.path);
    names.push_back(command.path.substr(0, command.path.find(' ')));
  }
  const std::string text = group && words.size() > 1 ? words[0] + " " + words[1] : words[0];
  const std::string_view near = nearest(text, names);
  if (words[0].size() > 1 && words[0][0] == '-') {
    return usage(fmt::format("'{}' stands where a command was expected\nhint: flags come after the command",
                             words[0]));
  }
  return usage(fmt::format("there is no command '{}'{}", text,
                           or_try_help(near, "thalweg ", group ? words[0] : std::string())));
}

bool CommandLine::in_scope(const OptionRow& row) const {
  return (command != nullptr && applies_to(row, *command)) || (about != nullptr && applies_to(row, *about));
}

Result<CommandLine> parse_command_line(std::span<const Command> commands,
                                       std::span<const std::string> words) {
  CommandLine line;
  line.commands = commands;
  const auto first = std::find_if_not(words.begin(), words.end(), is_common_switch);
  const std::vector<std::string> leading(words.begin(), first);
  line.help = std::any_of(words.begin(), first, [](auto& word) { return word == "--help" || word == "-h"; });
  std::vector<std::string> all(first, words.end());
  if (line.help) return line;
  if (all.empty()) return usage("no command given\nhint: thalweg --help lists the commands");
  if (all[0] == "--version") all[0] = "version";
  Result<std::size_t> used = find_commands(commands, all, line);
  if (!used) return used.status();
  if (line.command == nullptr) return line;
  Sorter sorter(line);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(*used));
  all.insert(all.begin(), leading.begin(), leading.end());
  if (Status status = sorter.sort(all); !status.ok()) return status;
  if (line.help || line.explain != nullptr) return line;
  if (line.about != nullptr) line.arguments.insert(line.arguments.begin(), std::string(line.about->path));
  if (Status status = check_arguments(line); !status.ok()) return status;
  return line;
}

}  // namespace thalweg
