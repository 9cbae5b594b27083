#include "net/tcp/stand_in.h"

namespace thalweg {
namespace {

// A node is deaf for twice as long at most.
constexpr Duration kMoment = std::chrono::milliseconds(10);

}  // namespace

StandIn::~StandIn() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void StandIn::compute(Computation& work) {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  ++count_;
  if (dormant_) {
    const std::lock_guard lock(mutex_);
    dormant_ = false;
    changed_.notify_one();
  }
  work.compute();
  ++count_;
  if (driving_) nudge_();
  const std::lock_guard until_it_has_left(place_);
}

void StandIn::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (dormant_) {
      changed_.wait(lock, [this] { return stopping_ || !dormant_; });
      continue;
    }
    const std::uint64_t seen = count_;
    if (changed_.wait_for(lock, kMoment, [this] { return stopping_; })) return;
    if (count_ != seen) continue;
    if (seen % 2 == 1) {
      lock.unlock();
      take_over(seen);
      lock.lock();
    } else {
      dormant_ = true;
      if (count_ != seen) dormant_ = false;  // It began while this was not to be seen yet.
    }
  }
}

// Either this sees that the computation has ended, or its end sees that this drives.
void StandIn::take_over(std::uint64_t count) {
  const std::lock_guard lock(place_);
  driving_ = true;
  const GoOn go_on = [&] { return count_ == count; };
  if (go_on()) drive_(go_on);
  driving_ = false;
}

}  // namespace thalweg
