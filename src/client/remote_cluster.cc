#include "client/remote_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

namespace thalweg {
namespace {

constexpr Duration kFlushPatience = std::chrono::seconds(2);
constexpr Duration kChildPatience = std::chrono::seconds(5);

// Ids that joiners use until the scheduler has named them; told apart by chance.
std::uint32_t temporary_index() {
  std::random_device device;
  return (1u << 31) | (device() >> 1);
}

std::uint64_t new_cluster_id() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

// Spinning pays only where every process can have a core.
Duration spin() { return std::chrono::microseconds(std::thread::hardware_concurrency() >= 4 ? 50 : 0); }

TcpOptions tcp_options(bool insecure, const std::atomic<bool>* stop, std::function<void(std::string)> log) {
  TcpOptions tcp;
  tcp.spin = spin();
  tcp.insecure_no_auth = insecure;
  tcp.stop = stop;
  tcp.log = std::move(log);
  return tcp;
}

std::string with_port(const std::string& address, std::uint16_t port) {
  return fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
}

std::string process_name() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return fmt::format("{}, process {}", host, getpid());
}

// The same for all processes of a machine that is not started anew, and no other's.
std::string machine_name() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return (boot + " " + host).substr(0, limits::kNameBytesMax);
}

}  // namespace

RemoteCluster::RemoteCluster(RemoteClusterOptions options)
    : driver_(clock_, tcp_options(options.insecure_no_auth, nullptr, options.log)),
      scheduler_([&] {
        options.job.cluster = new_cluster_id();
        return options.job;
      }()),
      observer_(WorkerOptions{process_name(), {}, {}, true, options.observer}) {
  driver_.add(kScheduler, scheduler_, options.job.cluster);
  driver_.add(worker_node(temporary_index()), observer_, options.job.cluster);
}

Result<std::unique_ptr<RemoteCluster>> RemoteCluster::start(RemoteClusterOptions options) {
  std::unique_ptr<RemoteCluster> cluster(new RemoteCluster(options));
  const auto port = cluster->driver_.listen(options.listen);
  if (!port) return port.status();
  cluster->address_ = with_port(options.listen, *port);
  for (std::vector<std::string> arguments : options.processes) {
    std::replace(arguments.begin(), arguments.end(), std::string("{scheduler}"), cluster->address_);
    if (Status status = cluster->children_.start(own_program(), arguments); !status) return status;
  }
  return cluster;
}

bool RemoteCluster::wait(Duration wait) {
  const auto over = [this] { return scheduler_.finished(); };
  if (!scheduler_.started() && !scheduler_.stopped()) {
    const std::string ended = children_.first_ended();
    if (!ended.empty()) stop({Code::kPeerLost, ended + " before the job began"});
  }
  if (!driver_.run_until(over, driver_.now() + wait)) return false;
  driver_.flush(driver_.now() + kFlushPatience);
  children_.finish(kChildPatience);
  return true;
}

void RemoteCluster::close() {
  driver_.turn(kScheduler, [this](Instant, Transport& out) { scheduler_.close(out); });
}

void RemoteCluster::stop(const Status& status) {
  driver_.turn(kScheduler, [&](Instant now, Transport& out) { scheduler_.stop(now, status, out); });
}

namespace {

// Pumps the driver until the node's job is over.
template <class NodeType>
Status run_node(Tcp& driver, NodeType& node, NodeId id, const RemoteNodeOptions& options) {
  if (Status status = driver.introduce(kScheduler, options.join); !status) return status;
  driver.add(id, node);
  const auto joined = [&] { return node.map_epoch() != 0 || node.finished() || node.welcomed(); };
  if (!driver.run_until(joined, driver.now() + options.patience)) {
    if (options.stop != nullptr && *options.stop) return {Code::kAborted, "stopped"};
    return {Code::kTimeout, fmt::format("no answer from the scheduler at {} in {:.0f} s", options.join,
                                        std::chrono::duration<double>(options.patience).count())};
  }
  driver.run_until([&] { return node.finished(); });
  driver.flush(driver.now() + kFlushPatience);
  if (!node.finished()) return {Code::kAborted, "stopped"};
  return *node.stopped();
}

}  // namespace

Status run_remote_server(const RemoteNodeOptions& options) {
  const RealClock clock;
  Tcp driver(clock, tcp_options(options.insecure_no_auth, options.stop, options.log));
  const auto port = driver.listen(options.listen);
  if (!port) return port.status();
  Server server(ServerOptions{
      with_port(options.listen, *port), options.name.empty() ? process_name() : options.name, {}});
  options.log(fmt::format("server listens on {}", with_port(options.listen, *port)));
  return run_node(driver, server, server_node(temporary_index()), options);
}

Status run_remote_worker(const RemoteNodeOptions& options, ShardProgram program) {
  const RealClock clock;
  Tcp driver(clock, tcp_options(options.insecure_no_auth, options.stop, options.log));
  const auto port = driver.listen(options.listen);
  if (!port) return port.status();
  Worker worker(WorkerOptions{options.name.empty() ? process_name() : options.name, machine_name(),
                              with_port(options.listen, *port), false, std::move(program)});
  return run_node(driver, worker, worker_node(temporary_index()), options);
}

}  // namespace thalweg
