// By which of several schedulers leads a job whose state they share: whoever has the key `lead`, which is
// bound to a lease. That a lease has ended is no proof that its holder has, nor that another one leads: the
// term fences a former one, see kept_state.h. Calls block; they are for code outside of nodes.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "node/state_store.h"

namespace thalweg {

inline constexpr char kLeadKey[] = "lead";

class LeadLease {
 public:
  // kRetry: another one leads, in its words.
  static Result<LeadLease> take(StateStore& store, std::string words, Duration length);

  // To be called thrice within a lease, so that one answer may be lost. `term`: by which changes are made,
  // once there is one. Takes an ended lease anew while nobody else has led.
  void keep(StateStore& store, const std::optional<StateGuard>& term);
  // So that another one need not wait for that.
  void end(StateStore& store);
  // Another one has taken the job up: for good.
  bool lost() const { return lost_; }
  // Nobody has said of late that the lease is still there, and another one may lead by now.
  bool in_doubt() const { return in_doubt_; }

 private:
  LeadLease(StateLease lease, std::string words, Duration length)
      : lease_(lease), words_(std::move(words)), length_(length) {}
  void regain(StateStore& store, const std::optional<StateGuard>& term);

  StateLease lease_ = 0;
  std::string words_;
  Duration length_;
  bool lost_ = false;
  bool in_doubt_ = false;
};

}  // namespace thalweg
