// A job over TCP: this process runs the scheduler and the observer, other processes the servers and workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/child_processes.h"
#include "client/cluster.h"
#include "net/real_clock.h"
#include "net/tcp.h"
#include "scheduler/scheduler.h"
#include "server/server.h"
#include "worker/worker.h"

namespace thalweg {

struct RemoteClusterOptions {
  SchedulerOptions job;
  ShardProgram observer;
  std::string listen = "127.0.0.1:0";
  bool insecure_no_auth = false;
  // Processes to start here and now, each by its arguments; "{scheduler}" becomes the scheduler's address.
  std::vector<std::vector<std::string>> processes;
  std::function<void(std::string)> log = [](const std::string&) {};
};

class RemoteCluster final : public Cluster {
 public:
  static Result<std::unique_ptr<RemoteCluster>> start(RemoteClusterOptions options);

  bool wait(Duration wait) override;
  Status status() override { return scheduler_.stopped().value_or(Status::ok()); }
  ClusterView view() override { return scheduler_.view(); }
  std::string missing() override { return scheduler_.started() ? std::string() : scheduler_.missing(); }
  void close() override;
  void stop(const Status& status) override;
  const std::string& address() const { return address_; }

 private:
  explicit RemoteCluster(RemoteClusterOptions options);

  RealClock clock_;
  Tcp driver_;
  Scheduler scheduler_;
  Worker observer_;
  ChildProcesses children_;
  std::string address_;
};

struct RemoteNodeOptions {
  std::string join;                    // The scheduler's address.
  std::string listen = "127.0.0.1:0";  // Where the other nodes reach this one.
  std::string name;
  bool insecure_no_auth = false;
  Duration patience = std::chrono::seconds(60);  // For the scheduler to answer at first.
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::string)> log = [](const std::string&) {};
};

// Runs one server or worker in this process until its job is over; returns how it ended.
Status run_remote_server(const RemoteNodeOptions& options);
Status run_remote_worker(const RemoteNodeOptions& options, ShardProgram program);

}  // namespace thalweg
