// When a job's servers are to store their rows, and at which step: one that none of them has closed, so that
// what they store is one state. Whoever was too late for it says how far it is, and all are asked again for a
// later step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/instant.h"
#include "thalweg/status.h"
#include "wire/messages.h"

namespace thalweg {

struct CheckpointPolicy {
  std::string place;  // Attempts are stored at this and their numbers; the driver's words. Empty: none.
  std::uint32_t every_steps = 0;  // At multiples of so many steps of a pass, and at its end; 0: by time.
  Duration every{};
  Step newest{};  // That the job goes on from: later ones are at later steps.
  // Of so many one has all rows, the others those that have changed since the one before each. 1: all have.
  std::uint32_t whole_every = 1;
};

// That all servers have stored, and that is yet to be completed by the driver.
struct TakenCheckpoint {
  std::uint64_t number = 0;
  Step step;
  std::string place;
  std::map<std::uint32_t, std::string> parts;  // By server: what it has stored, its driver's words.
  std::uint64_t since = 0;  // The one whose rows need not have been stored again, by number; 0: none's.
};

// That came to nothing. kRetry: the job's nodes have changed meanwhile.
struct FailedCheckpoint {
  std::string place;
  Status why;
};

class Checkpoints {
 public:
  // `first`: the step that the job's work begins with.
  Checkpoints(CheckpointPolicy policy, Step first) : policy_(std::move(policy)), first_(first), aim_(first) {}

  void begin(Instant now);
  // The same of a job that another scheduler began: attempts are numbered on from `number`.
  void resume(Instant now, std::uint64_t number, std::optional<Step> newest);
  std::uint64_t number() const { return number_; }  // Of the newest attempt.
  // One is wanted as soon as may be.
  void ask(Instant now);
  Instant next_deadline() const;
  // What servers are to be told now, which are these: all that own ranges. Precondition: next_deadline() has
  // come.
  struct Order {
    wire::CheckpointOrder order;
    std::set<std::uint32_t> to;
  };
  std::optional<Order> next_order(Instant now, const std::set<std::uint32_t>& servers);

  // What comes of it, when it is known.
  using Outcome = std::optional<std::variant<TakenCheckpoint, FailedCheckpoint>>;
  Outcome on_report(Instant now, std::uint32_t server, const wire::CheckpointReport& report);
  // Key ranges have other owners now.
  Outcome on_moved();
  // The driver has completed one that was taken, or could not. `whole_next`: the next one is to have all
  // rows.
  void on_completed(Instant now, std::uint64_t number, const Status& status, bool whole_next);

  // The newest that is complete.
  const std::optional<Step>& newest() const { return newest_; }

 private:
  enum class Phase : std::uint8_t { kIdle, kTaking, kCompleting };
  std::string place() const;
  std::uint64_t since_of_next() const;
  Outcome fail(Instant now, Status why);
  void rest(Instant now);

  CheckpointPolicy policy_;
  Step first_;
  Phase phase_ = Phase::kIdle;
  std::uint64_t number_ = 0;      // Of the newest attempt.
  Step aim_;                      // Its step, or that of the next one.
  std::uint32_t margin_ = 4;      // From where a server was to the step that is tried next.
  std::set<std::uint32_t> open_;  // Servers that have yet to store it.
  Step clock_;                    // How far any server has said to be.
  std::map<std::uint32_t, std::string> parts_;
  Instant due_ = kNever;  // Idle: the next attempt. Taking: the order is sent again.
  bool asked_ = false;    // For one besides those that are due.
  bool over_ = false;     // There are no steps to come.
  std::optional<Step> newest_;
  std::uint64_t since_ = 0;       // Of the newest attempt.
  std::uint64_t base_ = 0;        // The number of `newest_`, where the next one may have the changes since;
  std::uint32_t increments_ = 0;  // how many have, since the last that has all.
};

}  // namespace thalweg
