// Finds the rank because of which an operation does not end, and has all ranks name the same one. Whoever
// runs out of time asks the rank that it waits for what it is doing, then the one that that one waits for,
// and so on along the waits-for graph (E. Knapp, "Deadlock detection in distributed databases", ACM Computing
// Surveys 1987, section 4) until one does not answer, does not wait, or has been asked before. No I/O, clock
// or thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "thalweg/status.h"

namespace thalweg {

// What a rank is doing, as it tells others.
struct Doing {
  enum class Kind : std::uint8_t {
    kOutside,  // Of any operation.
    kWorking,  // In an operation, but not waiting for anybody.
    kWaiting,
  };
  Kind kind = Kind::kOutside;
  std::uint32_t waits_for = 0;
  std::string text;  // "all-reduce #12 of 1048576 f32 by ring, lane 0 step 5: receive ... from rank 3"
};

// Why the group's operations cannot end.
struct Verdict {
  std::uint32_t guilty = 0;
  Status status;  // Its message names the guilty rank.
};

class Blame {
 public:
  // `patience` is how long a rank may take to say what it is doing.
  Blame(std::uint32_t rank, std::uint32_t ranks, Duration patience);

  // This rank has waited for too long. Precondition: `doing` is kWaiting.
  void accuse(Instant now, Doing doing);
  // This rank ends an operation with an error, of which another rank may be the cause.
  void give_up(Verdict why);
  // This rank will use the group no longer.
  void leave();
  // This rank formed the group anew without `peer`.
  void leave_out(std::uint32_t peer);

  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> message, const Doing& doing);
  // The connection to `peer` broke; it has died unless it had said goodbye.
  void on_lost(std::uint32_t peer, const std::string& why);
  void on_time(Instant now);
  Instant next_deadline() const { return asked_ ? answer_due_ : kNever; }

  // The first one found or heard of; it stays.
  const std::optional<Verdict>& verdict() const { return verdict_; }
  bool has_left(std::uint32_t peer) const { return left_[peer]; }
  bool is_lost(std::uint32_t peer) const { return lost_[peer]; }
  // Others formed the group anew without this rank.
  bool was_left_out() const { return left_out_; }

  struct Outgoing {
    std::uint32_t to = 0;
    Bytes message;
  };
  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

 private:
  void ask(Instant now, std::uint32_t suspect);
  void follow(Instant now, const Doing& doing);
  void conclude(Instant now, Verdict verdict);
  Verdict circle_from(std::uint32_t rank) const;
  void judge(Verdict verdict, std::optional<std::uint32_t> heard_from = std::nullopt);
  void send(std::uint32_t to, Bytes message);

  std::uint32_t rank_;
  std::uint32_t ranks_;
  Duration patience_;
  std::vector<bool> left_;
  std::vector<bool> lost_;
  bool left_out_ = false;
  std::optional<Verdict> verdict_;
  std::vector<Outgoing> outgoing_;

  // The inquiry under way, if any.
  Doing own_;
  std::vector<std::pair<std::uint32_t, std::string>> chain_;  // Ranks asked, and what they said.
  bool asked_ = false;
  std::uint32_t suspect_ = 0;
  std::uint64_t question_ = 0;
  Instant answer_due_{};
  bool again_ = false;   // This is the second round.
  bool pauses_ = false;  // Before it.
};

}  // namespace thalweg
