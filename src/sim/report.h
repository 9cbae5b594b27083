// One seed: a random cluster does random work while random things go wrong; then everything is checked. What
// came out is told here in plain values, for those who do not look at the nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "thalweg/options.h"

namespace thalweg::sim {

using Trace = std::function<void(std::string_view line)>;

// Of frames, unless said otherwise.
struct NetworkCounts {
  std::uint64_t sent = 0, dropped = 0, repeated = 0, delayed = 0, flipped = 0, split = 0, cut_off = 0;
  std::uint64_t refused = 0;   // Damaged ones that came to their receiver.
  std::uint64_t closed = 0;    // Connections, because of that.
  std::uint64_t combined = 0;  // Pushes for more than one data shard.
  std::uint64_t bytes = 0;     // Of frames that were not lost.
};

// What was handed over, and what came with it.
struct MoveCounts {
  std::uint64_t ranges = 0;
  std::uint64_t with_rows = 0;
  std::uint64_t with_open_steps = 0;
  std::uint64_t with_replies = 0;
};

// Of servers that were asked to leave.
struct DrainCounts {
  std::uint64_t refused = 0;  // At once.
  std::uint64_t begun = 0;
  std::uint64_t left = 0;    // Of those that were begun; or
  std::uint64_t lost = 0;    // the server was lost before, or
  std::uint64_t stayed = 0;  // others were, or the job ended.
  std::uint64_t copied = 0;  // Key ranges of those that left.
};

// Of servers that came while a job ran.
struct JoinCounts {
  std::uint64_t started = 0;
  std::uint64_t listed = 0;  // The scheduler has named them.
  std::uint64_t owners = 0;  // At the end: of those the ones that own something,
  std::uint64_t ranges = 0;  // so many key ranges.
  std::uint64_t deaths = 0;
};

// Of schedulers that were killed.
struct RestartCounts {
  std::uint64_t killed = 0;
  std::uint64_t unsettled = 0;  // Of those: with something to say that was not kept yet.
  std::uint64_t dark = 0;       // Of those: their machine lost its power.
};

// Of a scheduler's calls to an etcd.
struct StateCounts {
  std::uint64_t unheard = 0;        // Changes that it never heard of;
  std::uint64_t late = 0;           // that it heard of when their caller had given up, of which
  std::uint64_t late_refused = 0;   // so many were of no effect.
  std::uint64_t unanswered = 0;     // Calls whose answers were lost.
  std::uint64_t away = 0;           // Times that it was away,
  std::uint64_t went_back = 0;      // that it became what it was before,
  std::uint64_t refused = 0;        // that a scheduler ended because of that;
  std::uint64_t compacted = 0;      // that it forgot what had been, by which
  std::uint64_t stale_watches = 0;  // so many watches were to be begun anew.
  std::uint64_t leases_early = 0;  // Renewals of leases that ended before their time was over unless renewed;
  std::uint64_t leases_late = 0;   // times that one lasted longer instead.
  std::uint64_t cut = 0;           // Calls of a scheduler that alone was cut off.
  std::uint64_t replaced = 0;      // Schedulers that lived when another one took their job up.
  std::uint64_t moved = 0;         // Nodes that left one of those for who leads.
};

// What else happens to servers beside what happens in any job.
enum class Servers : unsigned char { kAny, kCopied, kDrained, kJoined, kRestarted, kTakenUp };

// Of any one run, of a cluster or of a group.
struct RunReport {
  std::uint64_t seed = 0;
  std::string violation;  // Empty: none.
  std::string plan;       // For people.
  std::uint64_t trace_hash = 0;
  std::uint64_t outcome_hash = 0;  // Of what all that is compared at the end follows from; 0: nothing is.
  std::uint64_t events = 0;
  Duration virtual_time{};
  bool ok() const { return violation.empty(); }
};

// Why `second`, of the same seed as `first`, did not take its course; empty: it did. One more promise.
std::string other_course(const RunReport& first, const RunReport& second);

struct Report : RunReport {
  Duration time_allowed{};       // Of virtual time.
  bool ended_well = false;       // Else the job ended as its faults call for, unless there is a violation,
  std::string error;             // with this.
  std::uint32_t lead_max = 0;    // Of answered pulls over the slowest shard.
  std::uint64_t behind_max = 0;  // Steps of a shard past one that was unanswered.
  std::uint32_t servers_lost = 0;
  Consistency consistency;
  NetworkCounts network;
  MoveCounts moves;
  DrainCounts drains;
  JoinCounts joins;
  RestartCounts restarts;
  StateCounts state;
};

// `run(of, trace)` twice, untraced the second time; that both take the same course is one more promise. The
// second time is `run.again(of, first)` where there is such a thing.
template <class Run, class Of>
auto run_twice(const Run& run, const Of& of, const Trace& trace) {
  auto first = run(of, trace);
  if (!first.ok()) return first;
  if constexpr (requires { run.again(of, first); }) {
    first.violation = other_course(first, run.again(of, first));
  } else {
    first.violation = other_course(first, run(of, nullptr));
  }
  return first;
}

// Same seed, same report.
Report run_seed(std::uint64_t seed, Trace trace = nullptr, Servers servers = Servers::kAny);
// Twice.
Report run_seed_twice(std::uint64_t seed, const Trace& trace = nullptr, Servers servers = Servers::kAny);

}  // namespace thalweg::sim
