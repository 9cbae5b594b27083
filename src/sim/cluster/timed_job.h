// A job on a simulated cluster where nothing fails: production scheduler, servers and workers, and programs
// that compute for real. How long computing and the network take is made up, and measured from that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "sim/compute_time.h"
#include "sim/room_links.h"
#include "thalweg/options.h"
#include "thalweg/status.h"
#include "thalweg/store.h"
#include "thalweg/task.h"

namespace thalweg {
struct Completion;
class ShardStore;
struct ClusterView;
}  // namespace thalweg

namespace thalweg::sim {

struct TimedJob {
  std::uint64_t seed = 1;
  std::uint32_t servers = 1;
  std::uint32_t workers = 1;
  std::uint32_t shards = 1;
  Consistency consistency;
  Combining combine;
  std::vector<TableSpec> tables;
  // Of a data shard, up to its kLastBarrier. Each of its calls of Store::learnt() ends one gradient, and what
  // it asks for after that leaves once the gradient's time has passed.
  std::function<Task<Status>(Store&)> program;
  // In its place, of one that needs what only the shard's own store can do.
  std::function<Task<Status>(Store& store, ShardStore& own)> program_on{};
  ComputeTime compute;
  Stragglers stragglers;
  Duration latency = std::chrono::microseconds(50);
  double bytes_per_second = 0;  // Of each node, each way; 0: no limit.
  // Where servers and workers sit, whose frames to each other then take its links and not `latency`. Null:
  // none.
  std::shared_ptr<const Topology> room;
  Seats seats;
  Duration stop_after{};  // The job is asked to end early so long after its first gradient began; 0: never.
  // The job fails when somebody has waited for so long and nobody has got on: kTimeout, which names them. 0:
  // never.
  Duration patience{};
  // `at`: since the first gradient began.
  std::function<void(Duration at, ShardId, ReportId, std::string_view text)> on_report;
  // Of the node that looks on; the job is over when it ends. What it reads takes the latency alone, and is
  // not counted. Unset: waits for all shards' kLastBarrier.
  std::function<Task<Status>(ShardStore&)> observer;
};

struct TimedRun {
  Status status;
  // From the begin of the first gradient to the end of the last one, or to stop_after; gradients and
  // idle_share are of that time.
  Duration time{};
  std::uint64_t gradients = 0;
  using Histogram = std::vector<std::uint64_t>;
  Histogram staleness;          // Pushes, by how many of others came between their read and them.
  Histogram staleness_counted;  // By how many updates, where an update is made of several pushes; else none.
  std::uint32_t lead_max = 0;   // Steps by which a shard that read led the slowest one.
  double idle_share = 0;        // Of the workers' time, in which they did not compute.
  std::uint64_t bytes_sent = 0;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;  // Equal for equal courses.

  double gradients_per_second() const;
  // Pushes, by how many updates came between their read and them.
  const Histogram& staleness_in_updates() const {
    return staleness_counted.empty() ? staleness : staleness_counted;
  }
};

double mean_of(const TimedRun::Histogram& histogram);
// The least value that `part` of them do not exceed.
std::uint64_t quantile_of(const TimedRun::Histogram& histogram, double part);
std::uint64_t most_of(const TimedRun::Histogram& histogram);

// The same job, the same run.
TimedRun run_timed(const TimedJob& job);

// The same, event by event.
class TimedCluster {
 public:
  explicit TimedCluster(TimedJob job);
  ~TimedCluster();

  // One event; false when nothing is left to happen.
  bool step();
  Instant now() const;  // Since the nodes were started.
  bool begun() const;   // Its first gradient.
  bool ended() const;   // The scheduler has nothing more to do; status() says how.
  Status status() const;
  // As the nodes themselves know it.
  ClusterView view() const;
  // Nodes that have not joined yet, in words.
  std::string missing() const;
  // When step() is next; kNever when nothing is left to happen.
  Instant next_at() const;
  // Where the program that computes is in virtual time: that of its turn and of the gradients since.
  Instant program_now() const;
  // A request of that data shard's program, which no node sees to, ends at that moment.
  void end_request(Instant when, ShardId shard, std::shared_ptr<Completion> completion, Status how);
  bool stopping() const;            // stop_after has passed.
  void close();                     // Asks the shards to end early.
  void stop(const Status& status);  // Ends the job at once.
  void at(Instant when, std::function<void()> action);
  void pause_scheduler(Instant until);
  // Of what has happened so far.
  TimedRun run() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::sim
