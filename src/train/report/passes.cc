#include "train/report/passes.h"

#include <utility>

namespace thalweg {

bool Passes::remember(PassHistory before) {
  if (before.first >= first_ || before.end() < first_) return first_ == 0;
  remembered_ = first_ - before.first;
  before.passes.resize(remembered_);
  all_ = std::move(before.passes);
  return true;
}

void Passes::forget() {
  all_.clear();
  remembered_ = 0;
}

void Passes::add(EpochNumbers numbers) {
  const std::lock_guard lock(mutex_);
  if (!all_.empty()) numbers.steps_before = all_.back().steps_before + all_.back().steps;
  all_.push_back(numbers);
}

std::size_t Passes::size() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

EpochNumbers Passes::at(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  return all_.at(index);
}

std::string Passes::history_before(std::uint32_t pass) const {
  const std::lock_guard lock(mutex_);
  PassHistory history{first(), all_};
  if (pass <= history.first || pass > history.end()) return {};
  history.passes.resize(pass - history.first);
  return to_text(history);
}

void Passes::note_told(std::size_t count) {
  const std::lock_guard lock(mutex_);
  told_ = count;
  told_more_.notify_all();
}

bool Passes::all_told() const {
  const std::lock_guard lock(mutex_);
  return told_ >= all_.size();
}

void Passes::wait_told(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  told_more_.wait_for(lock, patience, [this] { return told_ >= all_.size(); });
}

}  // namespace thalweg
