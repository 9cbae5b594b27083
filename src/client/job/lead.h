// Which of several schedulers leads a job whose state they share: whoever has the key `lead`, which is bound
// to a lease that a thread of its own renews. That a lease has ended is no proof that its holder has: the
// term fences that one, see kept_state.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "node/state_store.h"

namespace thalweg {

inline constexpr char kLeadKey[] = "lead";

class Lead {
 public:
  // kRetry: another one leads, in its words; `store` is still the caller's then.
  static Result<std::unique_ptr<Lead>> take(std::unique_ptr<StateStore>& store, const std::string& words,
                                            Duration length);
  ~Lead();  // Ends the lease, so that another one need not wait for that.

  // By which changes are made from now on.
  void set_term(StateGuard term);
  // Another one has taken the job up: for good.
  bool lost() const { return lost_; }

 private:
  Lead(std::unique_ptr<StateStore> store, std::string words, Duration length)
      : store_(std::move(store)), words_(std::move(words)), length_(length) {}
  void keep();
  void regain(const std::optional<StateGuard>& term);

  const std::unique_ptr<StateStore> store_;  // Its thread's, once that runs.
  const std::string words_;
  const Duration length_;
  StateLease lease_ = 0;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;  // Of these two:
  std::optional<StateGuard> term_;
  bool over_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace thalweg
