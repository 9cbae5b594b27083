#include "thalweg/trainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "checkpoint/part_file.h"
#include "client/job/job_options.h"
#include "client/job/lasting_processes.h"
#include "client/job/local_cluster.h"
#include "client/job/node_options.h"
#include "client/job/remote_cluster.h"
#include "client/job/scheduler_state.h"
#include "net/etcd/etcd_place.h"
#include "net/system_disk.h"
#include "train/algorithm_plan.h"
#include "train/replica_trainer.h"
#include "train/simulated/simulated_cluster.h"
#include "train/simulated/simulation.h"
#include "train/sweep/sweep.h"
#include "train/train_job.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kMemoryLeast = 1000 * 1000;

std::uint32_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

TrainResult failed(Status status) {
  TrainResult result;
  result.status = std::move(status);
  return result;
}

// As an argument of one of `parts` processes that share it.
std::string memory_part(std::uint64_t limit, std::uint32_t parts) {
  return std::to_string(std::max(kMemoryLeast, limit / parts));
}

// As many as there are to be copies, at least.
std::uint32_t servers_of(const TrainerOptions& options, std::uint32_t wanted) {
  return options.servers != 0 ? options.servers : std::max(wanted, options.replicas);
}

}  // namespace

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

// Processes of one machine, which others do not reach.
Status Trainer::Impl::refuse_far_state() const {
  if (!is_etcd_place(given.state)) return ok_status();
  return {Code::kUsage,
          "--processes are of this machine, and so is their scheduler's state; expected --state DIR, or "
          "thalweg node scheduler and nodes of any machine"};
}

// What has no meaning without a state.
Status Trainer::Impl::refuse_stateless() const {
  if (!given.state.empty() || (!given.standby && given.state_tls == StateTls())) return ok_status();
  return {Code::kUsage,
          "--standby, --state-ca, --state-cert and --state-key go with --state etcd://HOST:PORT/PREFIX"};
}

StatePlace Trainer::Impl::state_place(const std::string& where, std::string scheduler) {
  const TrainerOptions& wanted = job->options();
  const auto waiting = [this](Duration waited, const std::string& whom) {
    TrainProgress shown;
    shown.elapsed = waited;
    shown.missing = whom;
    if (given.on_progress) given.on_progress(shown);
    return !closing;
  };
  return {where, wanted.state_tls, std::move(scheduler), wanted.standby, waiting};
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
  for (std::size_t i = 0; i < points.size() && !closing; ++i) {
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
    if (closing) best.status = {Code::kAborted, "interrupted; the best model so far is kept"};
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
  LocalCluster local(std::move(cluster));
  return job->run(local, servers, workers);
}

RemoteClusterOptions Trainer::Impl::remote(std::uint32_t servers, std::uint32_t workers) {
  RemoteClusterOptions cluster;
  cluster.job = job->scheduler_options(servers, workers);
  const std::uint32_t wanted = job->options().replicas;
  cluster.job.replicas = replicas_of_processes(wanted, servers, cluster.job.consistency);
  if (wanted == 0 && servers > 1 && cluster.job.replicas == 1) {
    job->say(TrainMessage::kNote,
             "each key range has one server, since this algorithm's updates depend on which "
             "push comes first: a lost server ends the job");
  }
  cluster.observer = job->observer();
  cluster.grace = job->options().grace;
  return cluster;
}

void Trainer::Impl::tell_address(const RemoteCluster& cluster, const std::string& more) const {
  job->say(TrainMessage::kNote, fmt::format("scheduler listens on {}; {}", cluster.address(), more));
  if (job->options().on_listening) job->options().on_listening(cluster.address());
}

// Why not every process of a job over several could have what this one has.
Status Trainer::Impl::refuse_unshared() const {
  const TrainerOptions& options = job->options();
  if (std::find(options.files.begin(), options.files.end(), "-") != options.files.end()) {
    return {Code::kUsage, "--processes cannot share standard input; give a file, or leave --processes out"};
  }
  if (!options.more.rows.empty()) {
    return {Code::kUsage, options.more.rows.begin()->first +
                              ": rows in memory are for one process; give files, or leave --processes out"};
  }
  if (options.threads != 0) {
    return {Code::kUsage,
            "--threads is for one process; with --processes each worker has one, so say --workers"};
  }
  return ok_status();
}

void Trainer::Impl::add_processes(const TrainProcesses& processes, std::uint32_t servers,
                                  std::uint32_t workers, RemoteClusterOptions& cluster) const {
  const auto add = [&](Role role, std::vector<std::string> arguments, std::uint32_t count) {
    std::replace(arguments.begin(), arguments.end(), std::string("{memory}"),
                 memory_part(job->options().memory, count));
    std::replace(arguments.begin(), arguments.end(), std::string("{threads}"),
                 std::to_string(std::max(1u, cores() / count)));
    cluster.processes.insert(cluster.processes.end(), count, {role, arguments});
  };
  add(Role::kServer, processes.server, servers);
  add(Role::kWorker, processes.worker, workers);
}

TrainResult Trainer::Impl::run_processes(const TrainProcesses& processes) {
  for (const Status& status :
       {begin(), refuse_sweep(), refuse_stateless(), refuse_far_state(), refuse_unshared()}) {
    if (!status.ok()) return failed(status);
  }
  return run_from_whole([&] { return start_processes(processes); });
}

TrainResult Trainer::Impl::start_processes(const TrainProcesses& processes) {
  const TrainerOptions& options = job->options();
  const std::uint32_t servers = servers_of(options, 1);
  const TrainSpec& spec = job->spec();
  const std::uint32_t alone = spec.exchange.empty() ? std::min(cores(), spec.shards) : spec.shards;
  const std::uint32_t workers = options.workers != 0 ? options.workers : alone;
  const auto of_user = job_secret({}, true);
  Kept kept;  // Outlives the cluster.
  if (!options.state.empty()) {
    if (!of_user) return failed(of_user.status());
    if (Status status = open_lasting(kept); !status.ok()) return failed(status);
  }
  RemoteClusterOptions cluster = remote(servers, workers);
  cluster.secret = of_user ? *of_user : draw_secret();
  cluster.log = [this](const std::string& line) { job->say(TrainMessage::kDetail, line); };
  hand_over(kept, cluster);
  if (cluster.kept.image.empty()) add_processes(processes, servers, workers, cluster);
  auto started = RemoteCluster::start(std::move(cluster));
  if (!started) return failed(started.status());
  tell_address(**started, of_user
                              ? fmt::format("thalweg status --join {} shows the job", (*started)->address())
                              : "nobody can ask it: " + of_user.status().message());
  return job->run(**started, servers, workers);
}

// Processes of a job that is kept look for its scheduler where it was.
Status Trainer::Impl::open_lasting(Kept& kept) {
  const std::string& place = job->options().state;
  auto opened = open_scheduler_state(state_place(place, fmt::format("process {}", getpid())));
  if (!opened) return opened.status();
  kept.state = *std::move(opened);
  auto lasting = LastingProcesses::of(place);
  if (!lasting) return lasting.status();
  kept.lasting = *std::move(lasting);
  if (!kept.state->kept.image.empty() && !kept.lasting->known()) {
    return {Code::kUsage,
            fmt::format("--state {}: the job that is kept there was begun by thalweg node scheduler, which "
                        "takes it up; expected another directory for another job",
                        place)};
  }
  return job->begin_kept(*kept.state->store, kept.state->kept, kept.lasting->address().empty());
}

void Trainer::Impl::hand_over(Kept& kept, RemoteClusterOptions& cluster) const {
  if (!kept.state) return;
  cluster.state = kept.state->store.get();
  cluster.kept = std::move(kept.state->kept);
  cluster.lead = kept.state->lead.get();
  if (!kept.lasting) return;
  cluster.lasting = &*kept.lasting;
  if (!cluster.kept.image.empty() && !kept.lasting->address().empty())
    cluster.listen = kept.lasting->address();
}

TrainResult Trainer::Impl::run_listening(const NodeOptions& node) {
  for (const Status& status : {begin(), refuse_sweep(), refuse_stateless()}) {
    if (!status.ok()) return failed(status);
  }
  if (Status status = find_whole(); !status.ok()) return failed(status);
  const std::uint32_t servers = servers_of(job->options(), 1);
  const TrainSpec& spec = job->spec();
  const std::uint32_t workers = spec.exchange.empty() ? std::max(job->options().workers, 1u) : spec.shards;
  Kept kept;  // Outlives the cluster.
  if (const std::string& place = job->options().state; !place.empty()) {
    auto opened = open_scheduler_state(state_place(place, "the scheduler at " + node.scheduler));
    if (!opened) return failed(opened.status());
    kept.state = *std::move(opened);
    if (Status status = job->begin_kept(*kept.state->store, kept.state->kept, false); !status.ok())
      return failed(status);
  }
  RemoteClusterOptions cluster = remote(servers, workers);
  cluster.listen = node.scheduler;
  const auto secret = job_secret(node, true);
  if (!secret) return failed(secret.status());
  cluster.secret = *secret;
  cluster.insecure_no_auth = node.insecure_no_auth;
  cluster.grace = node.grace;
  cluster.log = node.log;
  hand_over(kept, cluster);
  auto started = RemoteCluster::start(std::move(cluster));
  if (!started) return failed(started.status());
  const std::string missing = (*started)->missing();
  tell_address(**started, missing.empty() ? "all are there" : "waiting for " + missing);
  return job->run(**started, servers, workers);
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
  if (!job) return job.status();
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
