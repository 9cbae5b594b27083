// Trainings of several processes: those that this one starts, and those that others start and that join.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/job/job_options.h"
#include "net/etcd/etcd_place.h"
#include "train/trainer/trainer_impl.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kMemoryLeast = 1000 * 1000;

// As an argument of one of `parts` processes that share it.
std::string memory_part(std::uint64_t limit, std::uint32_t parts) {
  return std::to_string(std::max(kMemoryLeast, limit / parts));
}

// What does not know the scheduler is no node: this program would start itself, and that one itself again.
Status refuse_strangers(const TrainProcesses& processes) {
  for (const auto& [role, arguments] :
       {std::pair("server", &processes.server), std::pair("worker", &processes.worker)}) {
    if (std::find(arguments->begin(), arguments->end(), "{scheduler}") != arguments->end()) continue;
    return {
        Code::kUsage,
        fmt::format("TrainProcesses::{0} has no \"{{scheduler}}\" among its {1} arguments; expected those "
                    "by which this program calls run_train_{0}() for the job at that address",
                    role, arguments->size())};
  }
  return ok_status();
}

}  // namespace

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
  const auto waiting = [this, told = !wanted.standby](Duration waited, const std::string& whom) mutable {
    if (!std::exchange(told, true)) job->say(TrainMessage::kNote, "waiting for " + whom);
    TrainProgress shown;
    shown.elapsed = waited;
    shown.missing = whom;
    if (given.on_progress) given.on_progress(shown);
    return !closing;
  };
  return {where, wanted.state_tls, std::move(scheduler), wanted.standby, waiting};
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
  cluster.on_state = [this](bool kept, const std::string& line) {
    job->say(kept ? TrainMessage::kNote : TrainMessage::kWarning, line);
  };
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
  for (const Status& status : {begin(), refuse_sweep(), refuse_stateless(), refuse_far_state(),
                               refuse_unshared(), refuse_strangers(processes)}) {
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
            fmt::format("--state {}: {} is not there, so the job was begun by thalweg node scheduler, which "
                        "takes it up; expected another directory for another job",
                        place, kept.lasting->path())};
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
    StatePlace state = state_place(place, "the scheduler at " + node.scheduler);
    state.fits = [&](std::string_view image) { return job->check_kept(image, servers, workers); };
    auto opened = open_scheduler_state(state);
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

}  // namespace thalweg
