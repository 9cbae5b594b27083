// A job over TCP: this process runs the scheduler and the observer, other processes the servers and workers.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/job/child_processes.h"
#include "client/job/job_cluster.h"
#include "client/job/lasting_processes.h"
#include "client/job/lead.h"
#include "net/real_clock.h"
#include "net/socket/file_descriptor.h"
#include "net/socket/reserved_port.h"
#include "net/tcp/tcp_thread.h"
#include "node/state_store.h"
#include "scheduler/kept_scheduler.h"
#include "scheduler/scheduler.h"
#include "server/cut.h"
#include "thalweg/node.h"
#include "worker/worker.h"

namespace thalweg {

struct NodeProcess {
  Role role{};
  // "{scheduler}" becomes the scheduler's address, "{secret}" the file that holds the secret for the process.
  std::vector<std::string> arguments;
};

struct RemoteClusterOptions {
  SchedulerOptions job;
  ShardProgram observer;  // Empty: the observer's store is used through turn().
  std::string listen = "127.0.0.1:0";
  Secret secret;
  bool insecure_no_auth = false;
  Duration grace = limits::kPeerGrace;           // See NodeOptions.
  Duration patience = std::chrono::seconds(60);  // In wait_started(), for the next node to join.
  // Where the scheduler keeps its state, which outlives the cluster, and what there was. Null: nowhere.
  StateStore* state = nullptr;
  KeptState kept;
  const Lead* lead = nullptr;  // Of this process. Null: nobody can take the job up from it.
  // Processes to start here and now. One thread starts the cluster and waits for it: they end with that.
  std::vector<NodeProcess> processes;
  // Where it is told of processes that outlive this one; it outlives the cluster. Null: they end with it.
  LastingProcesses* lasting = nullptr;
  std::function<void(const std::string&)> log;  // On any thread.
  // That the state cannot be kept, once for each kind of reason, and that it is again. On wait()'s thread;
  // empty: the log is told.
  std::function<void(bool kept, const std::string&)> on_state;
};

// A thread of its own drives both nodes; all functions may be called from any other.
class RemoteCluster final : public JobCluster {
 public:
  static Result<std::unique_ptr<RemoteCluster>> start(RemoteClusterOptions options);
  ~RemoteCluster() override;

  bool wait(Duration wait) override;
  Status status() override;
  ClusterView view() override;
  std::string missing() override;
  void close() override;
  void stop(const Status& status) override;
  std::string trouble() override;
  void end_soon() override;
  void ask_checkpoint() override;
  void complete_checkpoint(std::uint64_t number, const Status& status, bool whole_next) override;
  const std::string& address() const { return address_; }

  // Says in the log who is missing, and ends the job when nobody has joined for as long as patience lasts.
  Status wait_started() override;
  bool has_shards() const override { return false; }
  bool in_program() const override { return false; }  // Programs are other processes'.
  void turn(ShardId shard, const std::function<void(Worker&, ShardStore&)>& act) override;
  bool wait_until(ShardId shard, const std::function<bool(const Worker&)>& done, Instant deadline) override;
  bool wait_until(const std::function<bool()>& done) override;
  void wait_programs_gone() override {}
  Instant now() const override { return driver_.now(); }

 private:
  explicit RemoteCluster(RemoteClusterOptions options);
  template <class Ask>
  auto look(const Ask& ask);  // What it returns between two turns.
  Status restore();
  // A turn of the scheduler.
  void act(const std::function<void(Instant, Transport&)>& turn);
  void tell_trouble();
  void look_at_lead();
  void look_for_ended();
  void look_for_unheard();
  Status start_process(const NodeProcess& process);
  void watch_processes();
  void on_process_ended(const ChildProcesses::Ended& ended);
  void end_processes();

  const RemoteClusterOptions options_;
  RealClock clock_;
  Scheduler scheduler_;
  const Status restored_;
  KeptScheduler kept_;  // It drives the scheduler.
  Worker observer_;
  NodeId observer_id_;
  TcpThread driver_;
  FileDescriptor secret_;             // The secret, for processes that are started,
  FileDescriptor lasting_;            // and by what they are known to live, where they outlive this one:
  std::optional<ReservedPort> port_;  // they keep the port meanwhile at which another one is to listen.
  ChildProcesses children_;
  std::vector<NodeProcess> started_processes_;     // By number of the child.
  std::vector<ChildProcesses::Ended> had_a_word_;  // Their last words may not have been heard yet.
  std::string killed_;  // The first one that a signal had ended, as was learnt after the end of the job.
  std::uint32_t replaced_ = 0;
  const Instant came_at_ = clock_.now();
  Instant look_again_at_{0};        // For members that are not heard.
  bool was_over_ = false;           // The job that was taken up.
  bool in_doubt_ = false;           // Whether another one leads, as last told to the scheduler.
  std::set<std::string> troubles_;  // Of keeping the state, that were said since it was kept: their kinds.
  std::string address_;
  std::atomic<bool> started_{false};
};

struct NodeEnd {
  Status status;
  bool told = false;  // The scheduler has said so, and shows it to its own user.
};

// Runs one server or worker in this process until its job is over, or `stop` is true; returns how it ended.
// A server's tables take at most `table_bytes_max`, unless that is 0. `store_cut` may be empty.
NodeEnd run_remote_server(const NodeOptions& options, const CustomRules& rules,
                          const std::atomic<bool>* stop = nullptr, std::uint64_t table_bytes_max = 0,
                          StoreCut store_cut = {});
NodeEnd run_remote_worker(const NodeOptions& options, ShardProgram program,
                          const std::atomic<bool>* stop = nullptr);

}  // namespace thalweg
