// Everything that one seed decides before a run: the cluster, its work and its faults (swarm testing: Groce
// et al., "Swarm Testing", ISSTA 2012: each kind of fault is off in many of the runs).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"

namespace thalweg {
class Topology;
}

namespace thalweg::sim {

// What may happen to one frame, each with its probability.
struct FrameFaults {
  double drop = 0;
  double repeat = 0;
  double delay = 0;  // By up to `delay_max`, so that later frames overtake it.
  double flip = 0;   // Bits, so that it is refused where it arrives.
  double split = 0;  // A push: a part of its ranges arrives in a frame of its own as well.
  Duration delay_max{};
  bool flip_closes = false;  // What is refused costs the connection, and all that is under way on it.
};

// What may happen to a node or a link, each at random moments, `every` apart on average, until `until`.
struct NodeFaults {
  bool partition = false;
  bool clog = false;  // A directed link holds everything back for a while.
  bool pause = false;
  bool crash = false;       // A worker is killed; another process takes its place.
  bool disconnect = false;  // The scheduler's driver gives up on a worker that lives.
  double told = 0;          // How likely whoever started a killed node tells the scheduler how it ended.
  Duration every{};
  Duration until{};  // All faults, those of frames too.
  bool any() const { return partition || clog || pause || crash || disconnect; }
};

// What happens to a node that the job cannot go on without, when the run has come to its `event`.
struct CoreFault {
  Role role{};              // The scheduler with its observer, a server, or the first worker.
  std::uint32_t index = 0;  // Of a server.
  std::uint64_t event = 0;
  Duration pause{};      // 0: it is killed.
  bool noticed = false;  // Killed: its connections close, else only its silence tells.
};

// What may happen to a call of a scheduler's to the etcd that has its state, each with its probability, until
// `until`.
struct StateFaults {
  double unheard = 0;
  double unanswered = 0;  // It is heard, and its answer is lost.
  double late = 0;        // A change that its caller has given up is heard up to `late_max` later.
  Duration late_max{};
  Duration slow{};        // Answers take up to so long.
  Duration away_every{};  // On average, it hears nobody for up to `away_max`; 0: never.
  Duration away_max{};
  Duration forget_every{};  // On average, it forgets what has been; 0: never.
  double lease_early = 0;   // A lease ends after a part of its time, as by a clock that runs fast.
  double lease_late = 0;    // One that has ended gets its whole time anew, as by a leader that has just come.
  Duration cut_every{};     // On average, each scheduler alone is cut off for up to `cut_max`; 0: never.
  Duration cut_max{};
  Duration until{};
  std::uint32_t back_after = 0;  // Of a job's changes: then it becomes what it was back_by before; 0: never.
  std::uint32_t back_by = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t servers = 1;
  std::uint32_t replicas = 1;  // Servers that have each key range.
  std::uint32_t workers = 1;
  std::uint32_t shards = 1;
  Consistency consistency;
  Combining combine;
  std::uint32_t machines = 1;     // Workers are dealt to them by order of birth.
  std::vector<TableSpec> tables;  // Rule kAdd: whole numbers, checked by sums. Others: checked by bits.
  std::vector<std::vector<std::uint32_t>> steps;  // By shard and epoch.
  std::uint32_t keys = 16;                        // Distinct sparse keys, counters not included.
  double skew = 0;                                // 0: keys equally likely; 3: mostly the first few.
  double pull_chance = 1;
  double push_chance = 1;
  std::uint32_t unanswered_max = 0;  // Pushes that a task leaves unawaited.
  bool end_work = false;             // Shards end their work for good, which lets go of all the others.
  bool barriers = true;              // Meet and read back after each epoch.
  Duration latency{};
  Duration jitter{};
  double bytes_per_second = 0;           // Of a process, each way; 0: no limit.
  std::shared_ptr<const Topology> room;  // Where processes sit. Null: nowhere.
  std::vector<std::uint32_t> seats;      // Endpoints, kNowhere of those who sit outside.
  std::vector<Duration> worker_turn;     // How long one turn takes, by order of birth.
  Duration server_turn{};
  Duration compute_min{};  // A program computes for so long, or up to compute_max, before it waits again.
  Duration compute_max{};
  Duration timeout{};
  Duration stop_at{};  // When the job is asked to end early; 0: never.
  Duration suspect_after{};
  FrameFaults frame_faults;
  NodeFaults node_faults;
  // Whether the nodes that the job cannot go on without are heard of in time, whatever else is lost, so that
  // the job ends well. Else it may end with an error, for a cause.
  bool spares_core = true;
  std::vector<CoreFault> core_faults;
  bool loads = false;  // The observer loads rows before shards begin.
  bool looks = false;  // It reads all rows behind each pass, while shards wait for it. With barriers.
  // Key ranges that are given to other servers, `move_every` apart on average; each is on its way for some
  // times `move_takes`.
  std::uint32_t moves = 0;
  Duration move_every{};
  Duration move_takes{};
  std::uint32_t drains = 0;  // Times that a server is asked to leave, drain_every apart on average.
  Duration drain_every{};
  std::uint32_t joins = 0;  // Servers that come while the job runs, join_every apart on average,
  Duration join_every{};
  double late_deaths = 0;  // and how likely each of them dies.
  // Times that the scheduler and its observer are killed, restart_every apart on average, and come again
  // after up to restart_takes with what a disk has of their state.
  std::uint32_t restarts = 0;
  Duration restart_every{};
  Duration restart_takes{};
  bool etcd = false;  // Their state is in one, not on a disk.
  StateFaults state_faults;
  bool standby = false;  // Another scheduler waits there for the lead to be nobody's.
  Duration lease{};      // Of who leads then, and by which it has to be renewed.
  // Clocks of nodes begin up to so much after the world's, and run up to so much faster or slower.
  Duration clock_begin_max{};
  double clock_rate_off = 0;

  // Whether checkers see to it that servers do what the workload calls for; programs of one's own do
  // something else.
  bool judged = true;

  // Whether servers have ranges of each other at any time.
  bool copies() const { return replicas > 1 || drains > 0 || joins > 0; }
  bool stops() const { return stop_at > Duration{}; }
  std::uint32_t epochs() const { return static_cast<std::uint32_t>(steps.front().size()); }
};

Plan draw_plan(std::uint64_t seed);
// The same, spared core faults, clocks of their own, closed connections and reports of deaths: what seeds
// meant before these were drawn.
Plan draw_mild_plan(std::uint64_t seed);
// The same on two servers at least, and key ranges move between them.
Plan draw_moving_plan(std::uint64_t seed);
// The same on two servers at least, of which several have each key range. All but one may be killed, or stop
// for longer than the scheduler's patience: at any moment fewer than have a range, and others once that is in
// sync on one that is left.
Plan draw_copied_plan(std::uint64_t seed);
// The same, and the observer looks at what each pass has left.
Plan draw_looking_plan(std::uint64_t seed);
// The same, of one server or several that have each key range, and servers are asked to leave.
Plan draw_drained_plan(std::uint64_t seed);
// The same, of any number of servers, and more of them join.
Plan draw_joined_plan(std::uint64_t seed);
// Any of these but moving and looking ones, in which the scheduler is killed and comes again.
Plan draw_restarted_plan(std::uint64_t seed);
// The same with its state in an etcd, which has faults of its own.
Plan draw_etcd_plan(std::uint64_t seed);
// One of these two.
Plan draw_taken_up_plan(std::uint64_t seed);
// The same work by one worker and one server, where nothing ever goes wrong.
Plan fault_free(const Plan& plan);
// After the last fault: until who is gone is missed, what was lost is sent again and all work is done.
Duration recovery_time(const Plan& plan);
// Of virtual time, until every node has ended.
Duration time_allowed(const Plan& plan);
// Softsync: of any shards to a range; else 0.
std::uint32_t pushes_an_update(const Plan& plan);
Duration scaled(Duration duration, double factor);
// One line for people.
std::string describe(const Plan& plan);

}  // namespace thalweg::sim
