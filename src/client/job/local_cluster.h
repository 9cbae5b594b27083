// The embedded cluster: scheduler, servers and workers in this process, frames by reference, no sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "client/job/job_cluster.h"
#include "net/in_process/in_process.h"
#include "net/real_clock.h"
#include "scheduler/scheduler.h"
#include "server/server.h"
#include "worker/worker.h"

namespace thalweg {

struct LocalClusterOptions {
  SchedulerOptions job;  // Numbers of servers, workers and data shards among the rest.
  std::size_t threads = 2;
  ShardProgram program;   // Of every data shard. Empty: shards are used through turn().
  ShardProgram observer;  // Runs once beside the shards; may be empty.
  std::function<std::shared_ptr<const CustomRule>(const std::string&)> custom_rule;
  std::uint64_t table_bytes_max = 0;  // Of all servers together; 0: no limit.
  StoreCut store_cut;                 // Of every server; may be empty.
};

class LocalCluster final : public JobCluster {
 public:
  explicit LocalCluster(LocalClusterOptions options);
  ~LocalCluster() override;
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  bool wait(Duration wait) override;
  Status status() override;
  ClusterView view() override;
  std::string missing() override { return {}; }
  void close() override;
  void stop(const Status& status) override;
  void ask_checkpoint() override;
  void complete_checkpoint(std::uint64_t number, const Status& status, bool whole_next) override;
  // Ends wait(), or the next one, ahead of its time; from any thread, and from turns of workers.
  void tell();

  Status wait_started() override;
  bool has_shards() const override { return true; }
  bool in_program() const override { return driver_.computes_here(); }
  void turn(ShardId shard, const std::function<void(Worker&, ShardStore&)>& act) override;
  bool wait_until(ShardId shard, const std::function<bool(const Worker&)>& done, Instant deadline) override;
  bool wait_until(const std::function<bool()>& done) override;
  void wait_programs_gone() override;
  Instant now() const override { return driver_.now(); }

 private:
  RealClock clock_;
  InProcess driver_;
  Scheduler scheduler_;
  std::uint32_t shards_;
  std::atomic<bool> told_{false};
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Worker> observer_;
  std::vector<std::uint32_t> owners_;  // By data shard: position in workers_.
};

}  // namespace thalweg
