// A training's nodes in the simulator, as their starter sees them: the third driver beside those in process
// and over TCP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/job/cluster.h"
#include "client/virtual/virtual_ranks.h"
#include "sim/cluster/timed_job.h"
#include "train/simulated/simulation.h"

namespace thalweg {

// The job without its programs. Its reports go where those of `job` go.
sim::TimedJob timed_job(const TrainSimulation& simulation, std::uint64_t seed, const SchedulerOptions& job);

// The group of its shards, each of which is a worker; `cluster` is where they are, and set before the job
// begins.
std::unique_ptr<VirtualRanks> virtual_ranks(const TrainSimulation& simulation, const sim::TimedJob& job,
                                            sim::TimedCluster* const& cluster);

class SimulatedCluster final : public Cluster {
 public:
  explicit SimulatedCluster(sim::TimedJob job);
  // The shards form that group, whose time goes on with that of the nodes from now on.
  void join(VirtualRanks& ranks) { ranks_ = &ranks; }

  // The simulation goes on until there is something to look at, whatever the duration: tell() was called, or
  // about half a percent of its time has gone by.
  bool wait(Duration wait) override;
  Status status() override;
  ClusterView view() override;
  std::string missing() override { return timed_.missing(); }
  void close() override { timed_.close(); }
  void stop(const Status& status) override { timed_.stop(status); }
  // Since the nodes were started; stands still once the job is over.
  Instant now() const { return over_at_.value_or(timed_.now()); }

  // In a turn: wait() returns after it.
  void tell() { told_ = true; }
  sim::TimedRun numbers() const;
  sim::TimedCluster& timed() { return timed_; }

 private:
  bool step();
  void end();

  sim::TimedCluster timed_;
  const Duration least_between_looks_;
  Instant look_at_{};
  bool told_ = false;
  VirtualRanks* ranks_ = nullptr;
  std::optional<Instant> over_at_;
  std::string waits_;  // Of ranks, when the job was over.
};

}  // namespace thalweg
