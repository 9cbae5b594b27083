// What a Trainer is made of: one training at a time, in this process, in simulation or over several.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/job/lasting_processes.h"
#include "client/job/node_options.h"
#include "client/job/remote_cluster.h"
#include "client/job/scheduler_state.h"
#include "thalweg/trainer.h"
#include "train/sweep/sweep.h"
#include "train/train_job.h"

namespace thalweg {

inline std::uint32_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

inline TrainResult failed(Status status) {
  TrainResult result;
  result.status = std::move(status);
  return result;
}

// As many as there are to be copies, at least.
inline std::uint32_t servers_of(const TrainerOptions& options, std::uint32_t wanted) {
  return options.servers != 0 ? options.servers : std::max(wanted, options.replicas);
}

class Trainer::Impl {
 public:
  Impl(TrainerOptions its_given, std::vector<SweepPoint> its_points, std::unique_ptr<TrainJob> its_job)
      : given(std::move(its_given)),
        points(std::move(its_points)),
        job(std::move(its_job)),
        chosen_options(job->options()) {}

  TrainResult run_here();
  TrainResult run_job();
  TrainResult run_sweep();
  // The job of the points' number `index`, which is the next to run.
  Status begin_trial(std::size_t index, const std::shared_ptr<KeptPasses>& passes,
                     const std::shared_ptr<KeyCounting>& counting);
  void close();
  // Where the newest checkpoint is damaged, which is seen while it is loaded, again from an older one.
  TrainResult run_from_whole(const std::function<TrainResult()>& run);
  // Of a job that cannot run twice.
  Status find_whole();
  Status begin_again();
  void go_on_with(std::unique_ptr<TrainJob> next);
  TrainResult start_processes(const TrainProcesses& processes);
  TrainResult run_processes(const TrainProcesses& processes);
  TrainResult run_listening(const NodeOptions& node);
  TrainResult run_simulated(const TrainSimulation& simulation);
  Status begin();
  Status refuse_sweep() const;
  Status refuse_state() const;
  Status refuse_stateless() const;
  Status refuse_far_state() const;
  Status refuse_unshared() const;
  StatePlace state_place(const std::string& where, std::string scheduler);
  RemoteClusterOptions remote(std::uint32_t servers, std::uint32_t workers);
  // What a scheduler's process has besides, where its job outlives it.
  struct Kept {
    std::unique_ptr<SchedulerState> state;  // Null: it does not.
    std::optional<LastingProcesses> lasting;
  };
  Status open_lasting(Kept& kept);
  void hand_over(Kept& kept, RemoteClusterOptions& cluster) const;
  void add_processes(const TrainProcesses& processes, std::uint32_t servers, std::uint32_t workers,
                     RemoteClusterOptions& cluster) const;
  void tell_address(const RemoteCluster& cluster, const std::string& more) const;

  const TrainerOptions given;
  const std::vector<SweepPoint> points;  // Empty: there is one training.
  std::mutex mutex;                      // Guards `job`, and that a job that begins hears of `closing`.
  std::atomic<bool> closing{false};
  std::unique_ptr<TrainJob> job;
  const TrainerOptions chosen_options;  // Of the first job.
  bool has_run = false;
};

}  // namespace thalweg
