// Keeps the lease of a scheduler that leads, by a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "net/real_clock.h"
#include "node/state_store.h"
#include "scheduler/lead_lease.h"

namespace thalweg {

class Lead {
 public:
  // As LeadLease::take(); on an error `store` is still the caller's.
  static Result<std::unique_ptr<Lead>> take(std::unique_ptr<StateStore>& store, const std::string& words,
                                            Duration length);
  ~Lead();  // Ends the lease.

  // By which changes are made from now on.
  void set_term(StateGuard term);
  // See LeadLease.
  bool lost() const { return lost_; }
  bool in_doubt() const;  // Also where an answer takes too long.

 private:
  Lead(std::unique_ptr<StateStore> store, LeadLease lease, Duration length)
      : store_(std::move(store)), lease_(std::move(lease)), length_(length), told_ns_(clock_.now().ns) {}
  void keep();

  const std::unique_ptr<StateStore> store_;  // Its thread's, once that runs,
  LeadLease lease_;                          // and so is this.
  const Duration length_;
  const RealClock clock_;
  std::atomic<bool> lost_{false}, in_doubt_{false};
  std::atomic<std::int64_t> told_ns_;  // When it was told last that the lease is there.
  std::mutex mutex_;                   // Of these two:
  std::optional<StateGuard> term_;
  bool over_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace thalweg
