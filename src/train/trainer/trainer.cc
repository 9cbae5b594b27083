#include "thalweg/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "checkpoint/part_file.h"
#include "client/job/local_cluster.h"
#include "net/system_disk.h"
#include "train/advice/train_advice.h"
#include "train/plan/algorithm_plan.h"
#include "train/replica_trainer.h"
#include "train/simulated/simulated_cluster.h"
#include "train/simulated/simulation.h"
#include "train/trainer/trainer_impl.h"

namespace thalweg {

Status Trainer::Impl::begin() {
  if (std::exchange(has_run, true)) return {Code::kUsage, "a Trainer runs once"};
  return ok_status();
}

Status Trainer::Impl::refuse_sweep() const {
  if (points.empty()) return ok_status();
  return {Code::kUsage, "--sweep is for one process, whose trainings share what was read"};
}

// Of jobs whose scheduler is of one process with the others.
Status Trainer::Impl::refuse_state() const {
  if (given.state.empty()) return ok_status();
  return {Code::kUsage,
          "--state is for a scheduler whose nodes are processes of their own, with --processes or thalweg "
          "node scheduler; in one process --checkpoint DIR --resume auto goes on after its end"};
}

TrainResult Trainer::Impl::run_here() {
  for (const Status& status : {begin(), refuse_state()}) {
    if (!status.ok()) return failed(status);
  }
  if (job->options().files.empty()) return failed({Code::kUsage, "no training files: name at least one"});
  if (!points.empty()) return run_sweep();
  return run_from_whole([this] { return run_job(); });
}

void Trainer::Impl::close() {
  const std::lock_guard lock(mutex);
  closing = true;
  if (job != nullptr) job->close();
}

TrainResult Trainer::Impl::run_from_whole(const std::function<TrainResult()>& run) {
  TrainResult result = run();
  if (!job->found_damage() || given.checkpoint.resume != "auto") return result;
  if (Status status = begin_again(); !status.ok()) return failed(status);
  return run();
}

Status Trainer::Impl::find_whole() {
  Status whole = job->look_at_resume();
  return whole.ok() || given.checkpoint.resume != "auto" ? whole : begin_again();
}

Status Trainer::Impl::begin_again() {
  std::unique_ptr<TrainJob> before;  // Leaves what both claim.
  {
    const std::lock_guard lock(mutex);
    before = std::move(job);
  }
  before.reset();
  auto next = TrainJob::create(given, LooksAt::kFirst);
  if (!next) return next.status();
  go_on_with(std::move(next).value());
  return ok_status();
}

void Trainer::Impl::go_on_with(std::unique_ptr<TrainJob> next) {
  const std::lock_guard lock(mutex);
  job = std::move(next);
  if (closing) job->close();
}

Status Trainer::Impl::begin_trial(std::size_t index, const std::shared_ptr<KeptPasses>& passes,
                                  const std::shared_ptr<KeyCounting>& counting) {
  if (index > 0) {
    TrainerOptions options = at_point(given, points[index]);
    options.on_message = nullptr;  // It has said all that once.
    options.fields = chosen_options.fields;
    options.inputs = chosen_options.inputs;
    options.classes = chosen_options.classes;
    auto next = TrainJob::create(options);
    if (!next) return next.status();
    go_on_with(std::move(next).value());
  }
  job->share_rows(passes, counting);
  return ok_status();
}

TrainResult Trainer::Impl::run_sweep() {
  const auto passes = std::make_shared<KeptPasses>(job->inputs()->kept);
  const std::shared_ptr<KeyCounting> counting = job->inputs()->counting;
  std::vector<SweepTrial> trials;
  TrainResult best = failed({Code::kNonFinite, "none of the trainings has a finite loss on held-out rows"});
  double least = std::numeric_limits<double>::infinity();
  std::size_t kept = points.size();
  for (std::size_t i = 0; i < points.size() && !closing && !job->was_told_to_end(); ++i) {
    if (given.on_message) {
      given.on_message(TrainMessage::kNote,
                       fmt::format("training {} of {}: {}", i + 1, points.size(), point_text(points[i])));
    }
    TrainResult result;
    result.status = begin_trial(i, passes, counting);
    if (result.status.ok()) {
      job->save_below(least);
      result = run_job();
    }
    SweepTrial& trial = trials.emplace_back();
    trial = {points[i],           result.status,  result.valid_loss.value_or(std::nan("")),
             result.model_digest, result.seconds, false};
    if (result.complete && trial.valid_loss < least) {
      least = trial.valid_loss;
      kept = i;
      best = std::move(result);
    } else if (kept == points.size() && !result.status.ok()) {
      best.status = result.status;
    }
  }
  if (kept < trials.size()) {
    trials[kept].kept = true;
    if (closing) best.status = interrupted("the best model so far", best.not_kept, given.out);
  } else if (closing) {
    best.status = {Code::kAborted, "interrupted before the first training was over; nothing is saved"};
  }
  best.sweep = std::move(trials);
  return best;
}

TrainResult Trainer::Impl::run_job() {
  const TrainerOptions& options = job->options();
  const std::uint32_t threads = options.threads != 0 ? options.threads : cores();
  const std::uint32_t servers = servers_of(options, std::min(threads, 8u));
  const TrainSpec& spec = job->spec();
  const bool group = !spec.exchange.empty();
  const std::uint32_t alone = group ? spec.shards : std::min(threads, spec.shards);
  const std::uint32_t workers = options.workers != 0 ? options.workers : alone;
  LocalClusterOptions cluster;
  cluster.job = job->scheduler_options(servers, workers);
  // This thread helps while it waits; shards of a group block theirs, and the rest of the job needs one.
  cluster.threads = group ? spec.shards + 1 : threads - 1;
  cluster.table_bytes_max = options.memory;
  SystemDisk disk;
  cluster.store_cut = checkpoint::store_cut(disk);
  const auto inputs = job->inputs();
  inputs->set_memory(options.memory);
  if (Status status = job->count_keys(); !status.ok()) return failed(status);
  std::vector<std::shared_ptr<ShardGroup>> ranks(spec.shards);
  if (group) {
    const auto route = exchange_route(spec.exchange);
    if (!route) return failed(route.status());
    ranks = shard_groups(spec.shards, *route, options.timeout);
  }
  cluster.program = [inputs, ranks](ShardStore& store, const wire::Map&) {
    const auto& mine = ranks[store.shard().value];
    return mine ? train_in_group({store, store}, inputs, mine) : train_by_algorithm({store, store}, inputs);
  };
  cluster.observer = job->observer();
  // Its threads are at work before it is made; what is not told then is seen when run() looks the next time.
  std::atomic<LocalCluster*> made{nullptr};
  const auto tell = [&made] {
    if (LocalCluster* const known = made.load()) known->tell();
  };
  if (options.after_epoch) job->live_by({}, tell);
  LocalCluster local(std::move(cluster));
  made = &local;
  return job->run(local, servers, workers);
}

TrainResult Trainer::Impl::run_simulated(const TrainSimulation& simulation) {
  for (const Status& status : {begin(), refuse_sweep(), refuse_state(), check_simulated(job->options())}) {
    if (!status.ok()) return failed(status);
  }
  if (Status status = find_whole(); !status.ok()) return failed(status);
  const TrainerOptions& options = job->options();
  const std::uint32_t servers = servers_of(options, 1);
  const std::uint32_t workers = options.workers != 0 ? options.workers : job->spec().shards;
  const auto inputs = job->inputs();
  inputs->set_memory(options.memory);
  if (Status status = job->count_keys(); !status.ok()) return failed(status);
  sim::TimedJob timed = timed_job(simulation, options.seed, job->scheduler_options(servers, workers));
  if (simulation.room != nullptr) {
    auto seats = sim::take_seats(*simulation.room, servers, workers);
    if (!seats) return failed(seats.status());
    timed.seats = *std::move(seats);
  }
  sim::TimedCluster* at = nullptr;  // Once there is one.
  std::unique_ptr<VirtualRanks> ranks;
  std::vector<std::shared_ptr<ShardGroup>> groups(job->spec().shards);
  if (!job->spec().exchange.empty()) {
    const auto route = exchange_route(job->spec().exchange);
    if (!route) return failed(route.status());
    ranks = virtual_ranks(simulation, timed, at);
    groups = ranks->groups(*route);
  }
  timed.program_on = [inputs, groups = std::move(groups)](Store& store, ShardStore& own) {
    const auto& mine = groups[store.shard().value];
    return mine ? train_in_group({store, own}, inputs, mine) : train_by_algorithm({store, own}, inputs);
  };
  timed.observer = [observe = job->observer()](ShardStore& store) { return observe(store, wire::Map()); };
  SimulatedCluster cluster(std::move(timed));
  at = &cluster.timed();
  if (ranks) cluster.join(*ranks);
  job->live_by([&cluster] { return cluster.now(); }, [&cluster] { cluster.tell(); });
  TrainResult result = job->run(cluster, servers, workers);
  if (simulation.on_end) simulation.on_end(cluster.numbers());
  return result;
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::open(TrainerOptions options) {
  std::vector<SweepPoint> points;
  if (!options.sweep.empty()) {
    if (Status status = check_sweep(options); !status.ok()) return status;
    points = sweep_points(options.sweep).value();
  }
  auto job = TrainJob::create(points.empty() ? options : at_point(options, points.front()));
  if (!job) return points.empty() ? job.status() : as_swept(points.front(), job.status());
  if (Status status = check_swept(points, (*job)->spec().model); !status.ok()) return status;
  if (!points.empty() && !(*job)->spec().has_valid()) {
    return Status(Code::kUsage,
                  "--sweep judges models on held-out rows; expected --valid or --valid-part too");
  }
  return Trainer(std::make_unique<Impl>(std::move(options), std::move(points), std::move(job).value()));
}

const TrainerOptions& Trainer::options() const { return impl_->chosen_options; }
TrainResult Trainer::run() { return impl_->run_here(); }
TrainResult Trainer::run(const TrainProcesses& processes) { return impl_->run_processes(processes); }
TrainResult Trainer::run(const NodeOptions& node) { return impl_->run_listening(node); }
TrainResult Trainer::run(const TrainSimulation& simulation) { return impl_->run_simulated(simulation); }
void Trainer::close() { impl_->close(); }

}  // namespace thalweg
