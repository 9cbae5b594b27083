#include "train/simulated/simulated_cluster.h"

#include <algorithm>
#include <utility>

#include "train/train_report.h"

namespace thalweg {
namespace {

// So that the points of a training grow with the logarithm of its time.
constexpr std::int64_t kLooksPart = 200;
// So long does everybody wait without any progress, or, if that is more, as long as so many gradients take.
constexpr Duration kPatienceLeast = std::chrono::hours(1);
constexpr double kPatienceGradients = 1000;
constexpr Duration kPatienceMost = std::chrono::hours(24 * 365);

Duration patience_with(const TrainSimulation& simulation) {
  const double slowest = std::max(1.0, simulation.stragglers.times);
  const double gradients =
      kPatienceGradients * slowest * static_cast<double>(simulation.compute.mean().count());
  return std::clamp(Duration(static_cast<std::int64_t>(std::min(gradients, 1e18))), kPatienceLeast,
                    kPatienceMost);
}

}  // namespace

sim::TimedJob timed_job(const TrainSimulation& simulation, std::uint64_t seed, const SchedulerOptions& job) {
  sim::TimedJob out;
  out.seed = seed;
  out.servers = job.servers;
  out.workers = job.workers;
  out.shards = job.shards;
  out.consistency = job.consistency;
  out.combine = job.combine;
  out.tables = job.tables;
  out.compute = simulation.compute;
  out.stragglers = simulation.stragglers;
  out.latency = simulation.latency;
  out.bytes_per_second = simulation.bytes_per_second;
  out.room = simulation.room;
  out.stop_after = simulation.stop_after;
  out.patience = patience_with(simulation);
  out.on_report = [report = job.on_report, learnt = simulation.on_learnt](
                      Duration at, ShardId shard, ReportId id, std::string_view text) {
    report(shard, id, text);
    if (!learnt) return;
    for (const LossSum& sum : learnt_losses(id, text)) learnt(at, sum);
  };
  return out;
}

std::unique_ptr<VirtualRanks> virtual_ranks(const TrainSimulation& simulation, const sim::TimedJob& job,
                                            sim::TimedCluster* const& cluster) {
  std::vector<std::uint32_t> endpoints = job.seats.workers;
  std::shared_ptr<const Topology> room = job.room;
  if (room == nullptr) {
    room = star_room(job.shards, simulation.latency, simulation.bytes_per_second);
    for (std::uint32_t rank = 0; rank < job.shards; ++rank) endpoints.push_back(rank);
  }
  VirtualWorld world;
  world.moment = [&cluster] { return cluster->program_now(); };
  world.end = [&cluster](Instant when, ShardId shard, std::shared_ptr<Completion> completion, Status how) {
    cluster->end_request(when, shard, std::move(completion), std::move(how));
  };
  return std::make_unique<VirtualRanks>(std::move(room), std::move(endpoints), std::move(world));
}

SimulatedCluster::SimulatedCluster(sim::TimedJob job)
    : timed_(job), least_between_looks_(std::max(job.compute.mean(), Duration{1})) {}

bool SimulatedCluster::wait(Duration /*wait*/) {
  while (!over_at_) {
    if (timed_.ended() || !step()) {
      end();
      break;
    }
    if (std::exchange(told_, false)) return false;
    if (!timed_.begun() || timed_.now() < look_at_) continue;
    look_at_ = timed_.now() + std::max(least_between_looks_, (timed_.now() - Instant{}) / kLooksPart);
    return false;
  }
  return true;
}

// What happens first, among the nodes or the ranks of their shards.
bool SimulatedCluster::step() {
  if (ranks_ != nullptr) ranks_->go_on(timed_.next_at());
  return timed_.step();
}

// Other nodes have yet to leave.
void SimulatedCluster::end() {
  over_at_ = timed_.now();
  if (ranks_ != nullptr) waits_ = ranks_->waits();
  while (step()) {
  }
}

// Nodes know of each other who waits for whom, and nothing of the ranks.
Status SimulatedCluster::status() {
  const Status status = timed_.status();
  if (status.code() != Code::kTimeout || waits_.empty()) return status;
  return {status.code(), status.message() + "; " + waits_};
}

ClusterView SimulatedCluster::view() { return timed_.view(); }

sim::TimedRun SimulatedCluster::numbers() const {
  sim::TimedRun run = timed_.run();
  if (ranks_ != nullptr) run.bytes_sent += ranks_->bytes_sent();
  return run;
}

}  // namespace thalweg
