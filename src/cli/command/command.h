// A command as help, completion and the parser see it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

class Options;
class Output;
struct OptionRow;

inline constexpr int kManyArguments = 1 << 30;

// Options that several commands take.
inline constexpr std::string_view kReadOptions =
    "format|on-bad-row|hash-bits|columns|label-column|weight-column";
inline constexpr std::string_view kTrainOptions =
    "raw-values|interactions|valid|valid-part|init|init-weights|model|rank|fields|loss|hidden|layers|width|"
    "heads|"
    "context|inputs|"
    "classes|init-scale|"
    "epochs|keep-what|patience|keep-bad|drop-zeros|shuffle|min-count|expire-after|pos-weight|negative-sample|"
    "batch|optimizer|rate|"
    "bias-rate|l1|l2|"
    "factor-optimizer|factor-rate|factor-l2|layer-rate|seed|algorithm|exchange|sync|combine|servers|replicas|"
    "workers|"
    "data-shards|"
    "timeout|silence|grace|"
    "out|run-dir";
inline constexpr std::string_view kPlanOptions = "topology|op|no-pipeline";

struct Command {
  std::string_view path;     // "model inspect"
  std::string_view summary;  // One sentence without a full stop.
  std::string_view example;  // A whole command line.
  Status (*run)(const Options&, Output&) = nullptr;
  // Which rows of the option table it takes beside those that every command does: names, '|' between.
  std::array<std::string_view, 4> options = {};
  std::span<const OptionRow> own = {};  // Options of its own, which no other command takes; they have no key.
  std::string_view arguments = {};      // "FILE...", "DIR DIR", or words to choose from: "bash|zsh|fish".
  int arguments_min = 0;
  int arguments_max = 0;
  std::string (*more_help)() = nullptr;  // Lines for the help, behind the options.
  bool about_command = false;            // Its argument names another command, whose flags it takes as well.
};

// A command whose words begin `words`, the longest one; null when there is none.
const Command* match_command(std::span<const Command> commands, std::span<const std::string> words);
const Command* find_command(std::span<const Command> commands, std::string_view path);
// Whether some command begins with this word and needs a second one.
bool is_command_group(std::span<const Command> commands, std::string_view word);

// Which options go with which commands, in the order of the help: the table's, those of commands, common
// ones.
bool applies_to(const OptionRow& row, const Command& command);
std::vector<const OptionRow*> options_of(const Command& command);
std::vector<const OptionRow*> options_of(std::span<const Command> commands);
// The paths of those that take the option, with `separator` between them.
std::string takers_of(const OptionRow& row, std::span<const Command> commands, std::string_view separator);
// Of all options that are spelt so, whose rows may be several; `train` first.
std::string takers_of(std::string_view flag, std::span<const Command> commands, std::string_view separator);

}  // namespace thalweg
