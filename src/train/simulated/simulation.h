// The cluster that a training is simulated on: real gradients by production code, and made up times of
// computing and sending. See docs/simulated-training.md.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/instant.h"
#include "model/loss.h"
#include "sim/cluster/timed_job.h"
#include "sim/compute_time.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"

namespace thalweg {

struct TrainSimulation {
  sim::ComputeTime compute;  // Of a gradient.
  sim::Stragglers stragglers;
  Duration latency = std::chrono::microseconds(50);
  double bytes_per_second = 0;  // Of each node, each way; 0: no limit.
  // In whose place: the room whose links messages between servers and workers take. Null: none.
  std::shared_ptr<const Topology> room;
  Duration stop_after{};  // The job is asked to end early so long after its first gradient began; 0: never.
  // Rows that a shard has learnt: their loss before that. `at`: since the first gradient began.
  std::function<void(Duration at, const LossSum&)> on_learnt;
  // What only a simulation knows, once it is over, however it ended.
  std::function<void(const sim::TimedRun&)> on_end;
};

// kUsage: what of a trainer's options is not simulated. Trainer::run() asks as well.
Status check_simulated(const TrainerOptions& chosen);

}  // namespace thalweg
