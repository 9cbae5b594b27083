#include "client/job/remote_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <thread>

#include "base/limits.h"
#include "client/job/custom_rules.h"
#include "client/job/node_options.h"
#include "client/job/question.h"
#include "client/job/work_threads.h"
#include "net/socket/address.h"
#include "net/socket/dialler.h"
#include "net/socket/local_way.h"
#include "net/socket/open_files.h"
#include "net/socket/secret_file.h"
#include "net/tcp/tcp_spin.h"
#include "server/server.h"

namespace thalweg {
namespace {

constexpr Duration kFlushPatience = std::chrono::seconds(2);
constexpr Duration kChildPatience = std::chrono::seconds(5);
constexpr Duration kGoneEvery = std::chrono::milliseconds(5);
constexpr Duration kNagEvery = std::chrono::seconds(5);
constexpr Duration kUnheardEvery = std::chrono::milliseconds(100);
// Workers that wait for a scheduler have found it by then: the last of those before is not lost sooner.
constexpr Duration kJoinsWithin = std::chrono::seconds(1);
// Of processes that end before the job begins; more than that do so for a reason that stays.
constexpr std::uint32_t kReplacedMax = 3;

// Of one node, before it knows the others, and for each of these. Some are left for data and models.
constexpr std::size_t kFilesOfNode = 32, kFilesOfPeer = 3;

std::uint64_t new_cluster_id() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

using Log = std::function<void(const std::string&)>;
using Tell = std::function<void(const TcpEvent&)>;

Tell told_to(const Log& log) {
  return [log](const TcpEvent& event) {
    if (log) log(log_line(event));
  };
}

TcpOptions tcp_options(const Secret& secret, bool insecure, Duration grace, Tell tell) {
  TcpOptions tcp;
  tcp.peer_grace = grace;
  tcp.spin = tcp_spin();
  tcp.secret = secret;
  tcp.insecure_no_auth = insecure;
  tcp.tell = std::move(tell);
  return tcp;
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::string with_port(const std::string& address, std::uint16_t port) {
  return fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
}

// What a process of this machine is called where nothing else was asked for.
std::string process_name(pid_t process = getpid()) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return fmt::format("{}, process {}", host, process);
}

// The same for all processes of a machine that is not started anew, and no other's.
std::string machine_name() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return (boot + " " + host).substr(0, limits::kNameBytesMax);
}

// Of the same two tries differ in names that were drawn and in counts, which come before the reason.
std::string kind_of(const std::string& trouble) {
  std::string kind = trouble.substr(trouble.rfind(": ") + 1);
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return kind;
}

cluster::MemberOptions observer_here() {
  cluster::MemberOptions member;
  member.name = process_name();
  member.pid = static_cast<std::uint32_t>(getpid());
  member.observer = true;
  return member;
}

}  // namespace

RemoteCluster::RemoteCluster(RemoteClusterOptions options)
    : options_([&] {
        options.job.cluster = Scheduler::cluster_of(options.kept.image).value_or(new_cluster_id());
        options.job.kept = options.state != nullptr;
        options.job.before = options.kept.before;
        options.job.observer = worker_node(temporary_index());
        return std::move(options);
      }()),
      scheduler_(options_.job),
      restored_(restore()),
      kept_(scheduler_, options_.state, options_.kept),
      observer_(WorkerOptions{observer_here(), options_.observer}),
      observer_id_(*options_.job.observer),
      driver_(clock_, tcp_options(options_.secret, options_.insecure_no_auth, options_.grace,
                                  told_to(options_.log))) {
  was_over_ = restored_.ok() && scheduler_.stopped();
  driver_.driver().add(kScheduler, kept_, options_.job.cluster);
  driver_.driver().add(observer_id_, observer_, options_.job.cluster);
}

template <class Ask>
auto RemoteCluster::look(const Ask& ask) {
  decltype(ask()) seen{};
  driver_.wait_until([&] {
    seen = ask();
    return true;
  });
  return seen;
}

Status RemoteCluster::restore() {
  if (options_.kept.image.empty()) return ok_status();
  return scheduler_.restore(clock_.now(), options_.kept.image, options_.kept.reports);
}

void RemoteCluster::act(const std::function<void(Instant, Transport&)>& turn) {
  driver_.turn(kScheduler, [&](Instant at, Transport& out) {
    kept_.turn(out, [&](Transport& gate) { turn(at, gate); });
  });
}

std::string RemoteCluster::trouble() {
  return look([this] { return kept_.trouble().message(); });
}

void RemoteCluster::tell_trouble() {
  const std::string why = trouble();
  const bool kept = why.empty();
  if (kept ? troubles_.empty() : !troubles_.insert(kind_of(why)).second) return;
  if (kept) troubles_.clear();
  const std::string line = kept ? "the scheduler's state is kept again"
                                : "the scheduler's state cannot be kept, so that what changes waits: " + why;
  if (options_.on_state) {
    options_.on_state(kept, line);
  } else if (options_.log) {
    options_.log(line);
  }
}

void RemoteCluster::look_at_lead() {
  if (options_.lead == nullptr) return;
  const bool lost = options_.lead->lost(), in_doubt = options_.lead->in_doubt();
  if (!lost && in_doubt == in_doubt_) return;
  in_doubt_ = in_doubt;
  driver_.turn(kScheduler, [&](Instant, Transport&) {
    kept_.doubt_lead(in_doubt);
    if (lost) kept_.lose_lead();
  });
}

RemoteCluster::~RemoteCluster() { driver_.stop(driver_.now() + kFlushPatience); }

Result<std::unique_ptr<RemoteCluster>> RemoteCluster::start(RemoteClusterOptions options) {
  const std::size_t peers = std::size_t{options.job.servers} + options.job.workers;
  if (Status status = allow_open_files(kFilesOfNode + kFilesOfPeer * peers); !status.ok()) return status;
  std::unique_ptr<RemoteCluster> cluster(new RemoteCluster(std::move(options)));
  const RemoteClusterOptions& with = cluster->options_;
  if (const Status& restored = cluster->restored_; !restored.ok())
    return Status(restored.code(), "--state: " + restored.message());
  std::string listen = with.listen;
  if (with.lasting != nullptr && !with.processes.empty()) {
    auto reserved = ReservedPort::reserve();
    if (!reserved) return reserved.status();
    cluster->port_ = *std::move(reserved);
    listen = with_port(listen, cluster->port_->number());
  }
  const auto port = cluster->driver_.driver().listen(listen);
  if (!port) return port.status();
  cluster->address_ = with_port(with.listen, *port);
  if (!with.processes.empty()) {
    auto secret = secret_descriptor(with.secret);
    if (!secret) return secret.status();
    cluster->secret_ = std::move(secret).value();
    if (with.lasting != nullptr) {
      auto lasting = with.lasting->begin(cluster->address_);
      if (!lasting) return lasting.status();
      cluster->lasting_ = std::move(lasting).value();
    }
  }
  for (const NodeProcess& process : with.processes) {
    if (Status status = cluster->start_process(process); !status.ok()) return status;
  }
  cluster->driver_.start();
  cluster->look_for_ended();
  return cluster;
}

// Of the processes that a command like this one has started before: nobody was there to be told.
void RemoteCluster::look_for_ended() {
  if (options_.lasting == nullptr || options_.kept.image.empty()) return;
  const JobStatus known = look([this] { return scheduler_.status(clock_.now()); });
  for (const JobNode& node : known.nodes) {
    const bool gone = node.state == NodeState::kLost || node.state == NodeState::kLeft;
    if (gone || node.observer || node.pid == 0) continue;
    const auto process = static_cast<pid_t>(node.pid);
    if (!has_ended(process)) continue;
    act([&](Instant at, Transport& out) {
      scheduler_.on_node_dead(at, process_name(process), "ended while no scheduler was there", out);
    });
  }
}

// Nobody tells of the end of a member that has never called this scheduler, only the one before. An address
// of another machine may be closed to this one alone.
void RemoteCluster::look_for_unheard() {
  if (options_.kept.image.empty() || driver_.now() < look_again_at_) return;
  look_again_at_ = driver_.now() + kUnheardEvery;
  const auto unheard = look([this] {
    std::map<NodeId, std::string> out;
    for (const NodeId node : kept_.awaited()) out[node] = scheduler_.address_on(machine_name(), node);
    return out;
  });
  for (const auto& [node, address] : unheard) {
    if (address.empty() || !is_closed(address)) continue;
    driver_.turn(kScheduler, [&, its = node](Instant at, Transport& out) {
      const bool is_last = its.role == Role::kWorker && scheduler_.view().workers <= 1;
      if (!is_last || at - came_at_ >= kJoinsWithin) kept_.on_peer_lost(at, its, out);
    });
  }
}

Status RemoteCluster::start_process(const NodeProcess& process) {
  std::vector<std::string> arguments = process.arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("{scheduler}"), address_);
  std::replace(arguments.begin(), arguments.end(), std::string("{secret}"), descriptor_path(secret_.get()));
  started_processes_.push_back(process);
  if (!lasting_) return children_.start(own_program(), arguments, std::array{secret_.get()});
  return children_.start(own_program(), arguments,
                         std::array{secret_.get(), lasting_.get(), port_->descriptor()},
                         ChildProcesses::End::kByItself);
}

bool RemoteCluster::wait(Duration wait) {
  watch_processes();
  tell_trouble();
  look_at_lead();
  look_for_unheard();
  if (!driver_.wait_until([this] { return kept_.finished(); }, now() + wait)) return false;
  watch_processes();
  end_processes();
  return true;
}

// Those of a scheduler that has said nothing wait for another one.
void RemoteCluster::end_processes() {
  if (look([this] { return kept_.fenced(); })) return children_.leave();
  children_.finish(kChildPatience);
  if (options_.lasting == nullptr) return;
  lasting_.reset();
  for (const Instant until = now() + kChildPatience; !options_.lasting->gone() && now() < until;)
    std::this_thread::sleep_for(kGoneEvery);
}

void RemoteCluster::watch_processes() {
  for (const ChildProcesses::Ended& ended : std::exchange(had_a_word_, {})) on_process_ended(ended);
  for (ChildProcesses::Ended& ended : children_.take_ended()) {
    if (ended.killed) {
      on_process_ended(ended);
    } else {
      had_a_word_.push_back(std::move(ended));
    }
  }
}

void RemoteCluster::on_process_ended(const ChildProcesses::Ended& ended) {
  const NodeProcess process = started_processes_[ended.number];
  const std::string what = ended.what + " " + ended.how;
  bool replace = false, over = false, left = false;
  act([&](Instant at, Transport& out) {
    over = scheduler_.stopped().has_value();
    const bool begun = scheduler_.started();
    replace = !over && !begun && ended.killed && replaced_ < kReplacedMax;
    if (!begun && !replace) scheduler_.stop(at, {Code::kPeerLost, what + " before the job began"}, out);
    left = scheduler_.on_node_dead(at, process_name(ended.pid), ended.how, out);
  });
  if (ended.killed && over && killed_.empty()) killed_ = what;
  if (over || left) return;
  if (options_.log) options_.log(what + (replace ? " before the job began; another takes its place" : ""));
  if (!replace) return;
  ++replaced_;
  if (Status status = start_process(process); !status.ok()) stop(status);
}

Status RemoteCluster::status() {
  if (was_over_) {  // Who has yet to hear of that has heard by now.
    return {Code::kRefused,
            "--state: the job that is kept there is over, expected another directory for another job"};
  }
  if (const auto fenced = look([this] { return kept_.fenced(); })) return *fenced;
  const Status status = look([this] { return scheduler_.stopped().value_or(ok_status()); });
  if (status.code() != Code::kPeerLost || killed_.empty()) return status;
  return {status.code(), status.message() + "; " + killed_};
}

ClusterView RemoteCluster::view() {
  return look([this] { return scheduler_.view(); });
}

std::string RemoteCluster::missing() {
  return look(
      [this] { return scheduler_.started() || scheduler_.stopped() ? std::string() : scheduler_.missing(); });
}

void RemoteCluster::close() {
  act([this](Instant, Transport& out) { scheduler_.close(out); });
}

void RemoteCluster::stop(const Status& status) {
  act([&](Instant now, Transport& out) { scheduler_.stop(now, status, out); });
}

void RemoteCluster::end_soon() {
  act([this](Instant, Transport& out) { scheduler_.end_soon(out); });
}

void RemoteCluster::ask_checkpoint() {
  act([this](Instant now, Transport&) { scheduler_.ask_checkpoint(now); });
}

void RemoteCluster::complete_checkpoint(std::uint64_t number, const Status& status, bool whole_next) {
  act([&](Instant now, Transport&) { scheduler_.complete_checkpoint(now, number, status, whole_next); });
}

Status RemoteCluster::wait_started() {
  if (started_) return ok_status();
  std::string missed = missing();
  Instant changed_at = now(), nag_at = now() + kNagEvery;
  for (;;) {
    const auto news = [&] {
      return scheduler_.stopped() || kept_.fenced() || observer_.started(kNoShard) ||
             scheduler_.missing() != missed;
    };
    const Instant deadline = changed_at + options_.patience;
    const bool any_news = driver_.wait_until(news, std::min(nag_at, deadline));
    if (const auto fenced = look([this] { return kept_.fenced(); })) return *fenced;
    if (const auto over = look([this] { return scheduler_.stopped(); })) {
      return over->ok() ? Status(Code::kAborted, "the job is over") : *over;
    }
    started_ = look([this] { return observer_.started(kNoShard); });
    if (started_) return ok_status();
    if (any_news) {
      missed = missing();
      changed_at = now();
    } else if (now() >= deadline) {
      stop({Code::kTimeout, fmt::format("{} did not join in {:.1f} s", missed, seconds(options_.patience))});
    } else {
      if (options_.log)
        options_.log("waiting for " + (missed.empty() ? "members to say what they were told" : missed));
      nag_at = now() + kNagEvery;
    }
  }
}

void RemoteCluster::turn(ShardId, const std::function<void(Worker&, ShardStore&)>& act) {
  driver_.turn(observer_id_, [&](Instant now, Transport& out) {
    observer_.turn(now, out, [&] { act(observer_, *observer_.store(kNoShard)); });
  });
}

bool RemoteCluster::wait_until(ShardId, const std::function<bool(const Worker&)>& done, Instant deadline) {
  return driver_.wait_until([&] { return done(observer_); }, deadline);
}

bool RemoteCluster::wait_until(const std::function<bool()>& done) {
  bool over = false;
  driver_.wait_until([&] {
    over = kept_.finished();
    return over || done();
  });
  return !over;
}

namespace {

cluster::MemberOptions member_of(const NodeOptions& options, std::uint16_t port) {
  return {.address = with_port(options.listen, port),
          .name = options.name.empty() ? process_name() : options.name,
          .machine = machine_name(),
          .pid = static_cast<std::uint32_t>(getpid()),
          .schedulers = addresses_in(options.scheduler),
          .patience = options.patience};
}

std::size_t threads_of(const NodeOptions& options) {
  constexpr std::uint32_t kMost = 8;
  return options.threads != 0 ? options.threads : std::min(kMost, std::thread::hardware_concurrency());
}

// Logs what is said, and keeps the last of it.
Tell noting(TcpEvent& last, const Log& log) {
  return [&last, log](const TcpEvent& event) {
    last = event;
    if (log) log(log_line(event));
  };
}

// False: it was told to stop, or `deadline` has come.
bool run_unless_told(Tcp& driver, const std::function<bool()>& done,
                     const std::function<bool()>& told_to_stop, Instant deadline) {
  constexpr Duration kLookEvery = std::chrono::milliseconds(20);
  while (!told_to_stop() && driver.now() < deadline) {
    if (driver.run_until(done, std::min(deadline, driver.now() + kLookEvery))) return true;
  }
  return false;
}

// Until the job is over, or this process has been told to stop. All processes of the job may have been told
// so at once: where the job is about to end, it needs its nodes for that.
template <class NodeType>
void run_to_end(Tcp& driver, NodeType& node, const std::function<bool()>& told_to_stop, const Log& log) {
  constexpr Duration kNewsOfEnd = std::chrono::seconds(5), kEndsWithin = std::chrono::seconds(20);
  const auto finished = [&] { return node.finished(); };
  const auto ends = [&] { return node.finished() || node.map().ending || node.map().closing; };
  run_unless_told(driver, finished, told_to_stop, kNever);
  if (!node.finished() && log)
    log("leaves within 5 s, or with the job if that ends now; a second signal stops this node at once");
  if (!node.finished() && driver.run_until(ends, driver.now() + kNewsOfEnd))
    driver.run_until(finished, driver.now() + kEndsWithin);
}

// Pumps the driver until the node's job is over.
template <class NodeType>
NodeEnd run_node(Tcp& driver, NodeType& node, NodeId id, const NodeOptions& options,
                 const std::atomic<bool>* stop, const TcpEvent& last) {
  const auto told_to_stop = [stop] { return stop != nullptr && *stop; };
  const std::vector<std::string> schedulers = addresses_in(options.scheduler);
  // All are looked at; the first one is asked first.
  for (auto at = schedulers.rbegin(); at != schedulers.rend(); ++at) {
    if (Status status = driver.introduce(kScheduler, *at); !status.ok()) return {status};
  }
  driver.add(id, node);
  const auto joined = [&] { return node.finished() || node.membership().id(); };
  if (!run_unless_told(driver, joined, told_to_stop, driver.now() + options.patience)) {
    if (told_to_stop()) return {Status(Code::kAborted, "stopped")};
    return {no_answer("the scheduler", options, to_text(last))};
  }
  run_to_end(driver, node, told_to_stop, options.log);
  driver.flush(driver.now() + kFlushPatience);
  if (!node.finished()) return {Status(Code::kAborted, "stopped")};
  return {*node.membership().stopped(), node.membership().told_to_stop()};
}

}  // namespace

NodeEnd run_remote_server(const NodeOptions& options, const CustomRules& rules, const std::atomic<bool>* stop,
                          std::uint64_t table_bytes_max, StoreCut store_cut) {
  if (Status status = allow_open_files(kFilesOfNode); !status.ok()) return {status};
  const auto secret = job_secret(options, false);
  if (!secret) return {secret.status()};
  const RealClock clock;
  TcpEvent last;
  Tcp driver(clock, tcp_options(*secret, options.insecure_no_auth, options.grace, noting(last, options.log)));
  const auto port = driver.listen(options.listen);
  if (!port) return {port.status()};
  Server server(ServerOptions{member_of(options, *port),
                              [&rules](const std::string& name) { return find_rule(rules, name); },
                              table_bytes_max, std::move(store_cut), kCutPieceBytes, true,
                              std::make_shared<WorkThreads>(threads_of(options))});
  if (options.log) options.log("server listens on " + with_port(options.listen, *port));
  return run_node(driver, server, server_node(temporary_index()), options, stop, last);
}

NodeEnd run_remote_worker(const NodeOptions& options, ShardProgram program, const std::atomic<bool>* stop) {
  if (Status status = allow_open_files(kFilesOfNode); !status.ok()) return {status};
  const auto secret = job_secret(options, false);
  if (!secret) return {secret.status()};
  const RealClock clock;
  TcpEvent last;
  Tcp driver(clock, tcp_options(*secret, options.insecure_no_auth, options.grace, noting(last, options.log)));
  const auto port = driver.listen(options.listen);
  if (!port) return {port.status()};
  Worker worker(WorkerOptions{member_of(options, *port), std::move(program)});
  return run_node(driver, worker, worker_node(temporary_index()), options, stop, last);
}

}  // namespace thalweg
