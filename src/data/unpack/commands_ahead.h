// A command for names that are read one after the other: while one is read, those of the next ones run.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/unpack/command_output.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kCommandsAtOnce = 4;

// One thread at a time. What nobody has taken is killed at its end.
class CommandsAhead {
 public:
  CommandsAhead(SourceCommand command, std::vector<std::string> names,
                std::size_t most_at_once = kCommandsAtOnce)
      : command_(std::move(command)), names_(std::move(names)), most_ahead_(most_at_once - 1) {}

  // The output of the next name's. One that cannot be started ahead is tried again in its turn. Once one has
  // been held up for SourceCommand::longest_hold, as the names before it took so long, it is run anew and
  // none ahead any more.
  Result<std::unique_ptr<CommandOutput>> next();

 private:
  const SourceCommand command_;
  const std::vector<std::string> names_;
  std::size_t at_ = 0;  // Of the next name.
  std::size_t most_ahead_;
  std::deque<std::unique_ptr<CommandOutput>> ahead_;  // From that name on.
};

}  // namespace thalweg
