// A thread that takes a driver's place while the driver's own thread computes, where that takes longer than a
// moment. A short computation costs two atomic writes, and no switch of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "node/node.h"

namespace thalweg {

class StandIn {
 public:
  using GoOn = std::function<bool()>;
  // `drive` does on the stand-in's thread what the driver does on its own, for as long as it may go on;
  // `nudge`, from any thread, has it ask that again.
  StandIn(std::function<void(const GoOn&)> drive, std::function<void()> nudge)
      : drive_(std::move(drive)), nudge_(std::move(nudge)) {}
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  // On the driver's thread, which is the driver's again when it returns.
  void compute(Computation& work);

 private:
  void run();
  void take_over(std::uint64_t count);

  const std::function<void(const GoOn&)> drive_;
  const std::function<void()> nudge_;
  std::atomic<std::uint64_t> count_{0};  // Of computations begun and ended: odd while one is under way.
  std::atomic<bool> driving_{false};
  std::atomic<bool> dormant_{true};  // Nothing has been computed for a moment.
  std::mutex place_;                 // The driver's: held by the stand-in in drive_.
  std::mutex mutex_;                 // Guards what follows.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  // Begins with the first computation; of the driver's thread.
};

}  // namespace thalweg
