// The one option table: flags, THALWEG_* variables, configuration keys, help, completion and the manual page
// are all read off its rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

enum class OptionType : std::uint8_t {
  kFlag,      // Present or not; true or false in files and variables.
  kInt,       // Whole number in [low, high].
  kReal,      // Finite number in [low, high].
  kText,      // Any text but the empty one.
  kChoice,    // One of `choices`; a choice written "word:N" takes a whole number in [low, high], and
              // "word:FILE" any text.
  kDuration,  // Seconds, or a number with the unit ms, s, m or h; in [low, high] seconds.
  kInterval,  // A:B, whole numbers with 0 <= A <= B.
  kInts       // Whole numbers in [low, high] with commas between.
};

struct OptionRow {
  std::string_view name;      // Unique; the program's own name for it, and its variable: THALWEG_NAME.
  std::string_view key = {};  // In a configuration file and in --set. Empty: on the command line only.
  OptionType type = OptionType::kText;
  bool common = false;       // Every command takes it; other rows are named by their commands, see Command.
  std::string_view group;    // Heading in the help.
  std::string_view help;     // One sentence without a full stop.
  std::string_view example;  // A value that the option takes. Flags have none.
  std::string_view fallback = {};        // Default. Empty: unset, and the command decides.
  std::string_view choices = {};         // kChoice: separated by '|'.
  std::string_view (*list)() = nullptr;  // In place of `choices` where some list has them, see choices.h.
  std::string_view placeholder = {};     // Stands for the value in the help.
  double low = 0;
  double high = 0;
  std::string_view flag = {};   // Spelling after "--" where it differs from `name`.
  std::string_view alias = {};  // Other spellings, separated by '|'.
  char letter = 0;              // Short flag.
  bool may_be_empty = false;    // kText: '' says something.
  bool repeats = false;         // May be given more than once; the values add up, see Options::texts().
  std::string (*explain)() = nullptr;  // What the flag's value "help" shows, in place of running the command.
};

std::span<const OptionRow> option_rows();
const OptionRow* find_option(std::string_view name);
const OptionRow* find_key(std::string_view key);            // By one of its aliases, too.
std::vector<std::string> alias_keys(const OptionRow& row);  // "train.learning_rate"; none without a key
bool is_variable_of(std::string_view variable, const OptionRow& row);  // By one of its aliases, too.

std::string_view choices_of(const OptionRow& row);              // "logistic|squared"
std::string_view spelling(const OptionRow& row);                // "factor-rate"
std::vector<std::string_view> spellings(const OptionRow& row);  // That one first, then its aliases.
std::string variable_name(const OptionRow& row);     // "THALWEG_FACTOR_RATE"; empty when it has no key
std::string placeholder_text(const OptionRow& row);  // "N", "sgd|adagrad", ""
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace thalweg
