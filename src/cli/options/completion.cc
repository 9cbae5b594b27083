#include "cli/options/completion.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "cli/options/option_table.h"

namespace thalweg {
namespace {

// Choices with "word:N" are offered as "word:".
std::string choice_words(const OptionRow& row) {
  std::string words;
  for (const std::string_view choice : split(choices_of(row), '|')) {
    const std::size_t colon = choice.find(':');
    words += fmt::format("{}{}", words.empty() ? "" : " ",
                         choice.substr(0, colon == choice.npos ? colon : colon + 1));
  }
  return words;
}

std::vector<std::string> first_words(std::span<const Command> commands) {
  std::vector<std::string> words;
  std::set<std::string> seen;
  for (const Command& command : commands) {
    std::string word(command.path.substr(0, command.path.find(' ')));
    if (seen.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

std::string second_words(std::span<const Command> commands, std::string_view first) {
  std::string words;
  for (const Command& command : commands) {
    const auto parts = split(command.path, ' ');
    if (parts.size() == 2 && parts[0] == first)
      words += fmt::format("{}{}", words.empty() ? "" : " ", parts[1]);
  }
  return words;
}

// Words that the command's argument is chosen from; "" for a file.
std::string argument_words(const Command& command) {
  if (command.arguments.find('|') == std::string_view::npos) return {};
  return fmt::format("{}", fmt::join(split(command.arguments, '|'), " "));
}

std::string flags_of(const Command& command) {
  std::string flags;
  for (const OptionRow* row : options_of(command)) {
    flags += fmt::format("{}--{}", flags.empty() ? "" : " ", fmt::join(spellings(*row), " --"));
  }
  return flags;
}

// In a single-quoted word.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The body that bash and zsh share: a case of "command words|--flag" to the words that may follow.
std::string value_cases(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    for (const OptionRow* row : options_of(command)) {
      if (row->type == OptionType::kFlag) continue;
      std::string others = row->letter == 0 ? "" : fmt::format("|'{}|-{}'", command.path, row->letter);
      for (const std::string_view alias : split(row->alias, '|')) {
        others += fmt::format("|'{}|--{}'", command.path, alias);
      }
      const std::string words = row->type == OptionType::kChoice ? choice_words(*row) : "";
      text += fmt::format("    '{}|--{}'{}) offers={}; return 0;;\n", command.path, spelling(*row), others,
                          shell_quoted(words));
    }
  }
  return text;
}

std::string flag_cases(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    text += fmt::format("    '{}') flags={}; offers={};;\n", command.path, shell_quoted(flags_of(command)),
                        shell_quoted(argument_words(command)));
  }
  for (const std::string& word : first_words(commands)) {
    const std::string seconds = second_words(commands, word);
    if (!seconds.empty()) text += fmt::format("    '{}') offers={}; only=1;;\n", word, shell_quoted(seconds));
  }
  text += fmt::format("    '') offers={}; only=1;;\n",
                      shell_quoted(fmt::format("{}", fmt::join(first_words(commands), " "))));
  return text;
}

// Sets offers, flags and only=1 (no files) from $command (one or two words) and $previous.
std::string shared_function(std::span<const Command> commands) {
  return "_thalweg_offers() {\n  offers= flags= only=\n  case \"$command|$previous\" in\n" +
         value_cases(commands) + "  esac\n  case \"$command\" in\n" + flag_cases(commands) + "  esac\n}\n";
}

std::string grouped_words(std::span<const Command> commands) {
  std::string groups;
  for (const std::string& word : first_words(commands)) {
    if (!second_words(commands, word).empty()) groups += fmt::format("{}{}", groups.empty() ? "" : "|", word);
  }
  return groups;
}

}  // namespace

std::string bash_completion(std::span<const Command> commands) {
  return "# bash completion for thalweg; source it, or put it where bash-completion looks.\n" +
         shared_function(commands) +
         fmt::format(R"sh(_thalweg() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command= offers= flags= only=
  if [ "$COMP_CWORD" -gt 1 ]; then command="${{COMP_WORDS[1]}}"; fi
  case "$command" in
    {})
      if [ "$COMP_CWORD" -gt 2 ]; then command="$command ${{COMP_WORDS[2]}}"; fi;;
  esac
  _thalweg_offers
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current"));;
    *)
      COMPREPLY=($(compgen -W "$offers" -- "$current"))
      if [ -z "$offers" ] && [ -z "$only" ]; then
        local IFS=$'\n'
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$current"))
      fi;;
  esac
}}
complete -F _thalweg thalweg
)sh",
                     grouped_words(commands));
}

std::string zsh_completion(std::span<const Command> commands) {
  std::string shared = shared_function(commands);
  return "#compdef thalweg\n# zsh completion for thalweg; put it as _thalweg on $fpath.\n" + shared +
         fmt::format(R"sh(_thalweg() {{
  local current="${{words[CURRENT]}}" previous="${{words[CURRENT-1]}}" command= offers= flags= only=
  if (( CURRENT > 2 )); then command="${{words[2]}}"; fi
  case "$command" in
    {})
      if (( CURRENT > 3 )); then command="$command ${{words[3]}}"; fi;;
  esac
  _thalweg_offers
  case "$current" in
    -*) compadd -- ${{=flags}};;
    *)
      compadd -- ${{=offers}}
      if [ -z "$offers" ] && [ -z "$only" ]; then _files; fi;;
  esac
}}
if [ "$funcstack[1]" = _thalweg ]; then _thalweg "$@"; else compdef _thalweg thalweg; fi
)sh",
                     grouped_words(commands));
}

std::string fish_completion(std::span<const Command> commands) {
  std::string text =
      "# fish completion for thalweg; put it as thalweg.fish in a completions directory.\n"
      "function __thalweg_at\n  set -l words (commandline -opc)\n  set -e words[1]\n  test \"$words\" = "
      "\"$argv\"\nend\n"
      "function __thalweg_in\n  set -l words (commandline -opc)\n  set -e words[1]\n  set -l last (count "
      "$argv)\n"
      "  test (count $words) -ge $last; and test \"$words[1..$last]\" = \"$argv\"\nend\n";
  for (const std::string& word : first_words(commands)) {
    text += fmt::format("complete -c thalweg -n '__thalweg_at' -f -a '{}'\n", word);
  }
  for (const Command& command : commands) {
    const auto parts = split(command.path, ' ');
    if (parts.size() == 2) {
      text += fmt::format("complete -c thalweg -n '__thalweg_at {}' -f -a '{}' -d {}\n", parts[0], parts[1],
                          shell_quoted(command.summary));
    }
    const std::string words = argument_words(command);
    if (!words.empty()) {
      text += fmt::format("complete -c thalweg -n '__thalweg_in {}' -f -a '{}'\n", command.path, words);
    }
    for (const OptionRow* row : options_of(command)) {
      const bool choice = row->type == OptionType::kChoice;
      text += fmt::format("complete -c thalweg -n '__thalweg_in {}' -l {}{}{}{} -d {}\n", command.path,
                          fmt::join(spellings(*row), " -l "),
                          row->letter == 0 ? "" : fmt::format(" -s {}", row->letter),
                          row->type == OptionType::kFlag ? ""
                          : choice                       ? " -x"
                                                         : " -r",
                          choice ? fmt::format(" -a '{}'", choice_words(*row)) : "", shell_quoted(row->help));
    }
  }
  return text;
}

}  // namespace thalweg
