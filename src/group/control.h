// What one rank of a group tells the others besides its streams, and what it makes of what they tell: that
// one ends well, what each is doing, because of whom operations cannot end. No I/O, clock or thread of its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "group/blame.h"
#include "thalweg/status.h"

namespace thalweg {

// A rank's operations so far.
struct Activity {
  std::uint64_t entered = 0;
  std::uint64_t left = 0;
  std::uint64_t passed = 0;  // That never waited, and were not entered.
  bool told = false;         // The one that tell() spoke of lasts.
};

class Control {
 public:
  Control(std::uint32_t rank, std::uint32_t ranks, Duration patience);

  // Says whom this rank waits for in the longest of its operations; again at least every kTellEvery while it
  // does.
  void tell(Instant now, std::uint32_t waits_for, std::string doing);
  static constexpr Duration kTellEvery{100'000'000};
  // The time of an operation is up: finds the rank because of which. There is a verdict a few times the
  // patience later.
  void accuse(Instant now, std::uint32_t waits_for, std::string doing);
  // The streams from `peer` ended, as `why` says: because of whom? There is a verdict once what the peer had
  // to say has come, or after the patience.
  void explain_loss(Instant now, std::uint32_t peer, Status why);
  // This rank ends an operation with an error; `guilty` may be itself.
  void give_up(std::uint32_t guilty, Status why) { blame_.give_up({guilty, std::move(why)}); }
  // This rank will use the group no longer.
  void leave() { blame_.leave(); }
  // This rank formed the group anew without `peer`, which may not know of it.
  void leave_out(std::uint32_t peer) { blame_.leave_out(peer); }

  // on_time() is due once all that has come was told here: an answer that is there is not late.
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> message,
                  const Activity& activity);
  void on_lost(std::uint32_t peer, const std::string& why) { blame_.on_lost(peer, why); }
  void on_time(Instant now);
  Instant next_deadline() const;

  const std::optional<Verdict>& verdict() const { return blame_.verdict(); }
  bool is_gone(std::uint32_t peer) const;  // It left, or is lost.
  // Is not to be in the group when it forms anew.
  bool is_out(std::uint32_t peer) const { return is_gone(peer) || (verdict() && verdict()->guilty == peer); }
  bool was_left_out() const { return blame_.was_left_out(); }
  std::vector<Blame::Outgoing> take_outgoing() { return blame_.take_outgoing(); }

 private:
  struct Loss {
    std::uint32_t peer = 0;
    Status why;
    Instant due{};
  };
  Doing doing(Instant now, const Activity& activity) const;

  const std::uint32_t rank_;
  const Duration patience_;
  Blame blame_;
  Doing told_;
  Instant told_at_{};
  bool accusing_ = false;
  std::vector<Loss> losses_;  // To be explained.
};

}  // namespace thalweg
