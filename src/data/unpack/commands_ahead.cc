#include "data/unpack/commands_ahead.h"

#include "base/check.h"

namespace thalweg {

Result<std::unique_ptr<CommandOutput>> CommandsAhead::next() {
  THALWEG_CHECK(at_ < names_.size(), "each name is asked for once");
  const std::string& name = names_[at_++];
  std::unique_ptr<CommandOutput> current;
  if (!ahead_.empty()) {
    current = std::move(ahead_.front());
    ahead_.pop_front();
  }
  if (current && current->held_up_for(command_.longest_hold)) {
    current.reset();
    ahead_.clear();
    most_ahead_ = 0;
  }
  if (!current) {
    auto started = CommandOutput::start(command_, name);
    if (!started) return started.status();
    current = *std::move(started);
  }
  while (ahead_.size() < most_ahead_ && at_ + ahead_.size() < names_.size()) {
    auto started = CommandOutput::start(command_, names_[at_ + ahead_.size()]);
    if (!started) break;
    ahead_.push_back(*std::move(started));
  }
  return current;
}

}  // namespace thalweg
