#include "client/job/local_cluster.h"

#include <algorithm>

#include "placement/placement.h"

namespace thalweg {
namespace {

NodeId observer_id(const SchedulerOptions& job) { return worker_node(wire::kFirstTemporary + job.workers); }

// Nobody dies alone inside one process, and a turn may take long.
SchedulerOptions without_suspicion(SchedulerOptions job) {
  job.suspect_after = Duration::max();
  job.observer = observer_id(job);
  return job;
}

}  // namespace

LocalCluster::LocalCluster(LocalClusterOptions options)
    : driver_(clock_), scheduler_(without_suspicion(options.job)), shards_(options.job.shards) {
  driver_.add(kScheduler, scheduler_);
  for (std::uint32_t s = 0; s < options.job.servers; ++s) {
    ServerOptions server{{.name = "embedded"},
                         options.custom_rule,
                         options.table_bytes_max / options.job.servers,
                         options.store_cut};
    server.heirs_come = false;
    servers_.push_back(std::make_unique<Server>(std::move(server)));
    driver_.add(server_node(wire::kFirstTemporary + s), *servers_.back());
  }
  for (std::uint32_t w = 0; w < options.job.workers; ++w) {
    workers_.push_back(std::make_unique<Worker>(
        WorkerOptions{{.name = "embedded", .machine = "embedded"}, options.program}));
    driver_.add(worker_node(wire::kFirstTemporary + w), *workers_.back());
  }
  if (options.observer) {
    observer_ = std::make_unique<Worker>(
        WorkerOptions{{.name = "embedded", .machine = "embedded", .observer = true}, options.observer});
    driver_.add(observer_id(options.job), *observer_);
  }
  driver_.start(options.threads);
}

LocalCluster::~LocalCluster() {
  stop({Code::kAborted, "the job was dropped"});
  wait(std::chrono::seconds(5));
  driver_.stop();
}

bool LocalCluster::wait(Duration wait) {
  bool over = false;
  const auto done = [&] {
    over = scheduler_.finished();
    return over || told_.load();
  };
  driver_.wait_until(kScheduler, done, driver_.now() + wait);
  told_ = false;
  return over;
}

void LocalCluster::tell() {
  told_ = true;
  driver_.look_again(kScheduler);
}

Status LocalCluster::status() {
  Status status;
  driver_.turn(kScheduler, [&](Instant, Transport&) { status = scheduler_.stopped().value_or(ok_status()); });
  return status;
}

ClusterView LocalCluster::view() {
  ClusterView view;
  driver_.turn(kScheduler, [&](Instant, Transport&) { view = scheduler_.view(); });
  // The nodes themselves know better than their last heartbeats.
  view.counters = {};
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    driver_.turn(server_node(wire::kFirstTemporary + s),
                 [&](Instant, Transport&) { view.counters.count(servers_[s]->counters()); });
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    driver_.turn(worker_node(wire::kFirstTemporary + w),
                 [&](Instant, Transport&) { view.counters.count(workers_[w]->counters()); });
  }
  return view;
}

void LocalCluster::close() {
  driver_.turn(kScheduler, [&](Instant, Transport& out) { scheduler_.close(out); });
}

void LocalCluster::stop(const Status& status) {
  driver_.turn(kScheduler, [&](Instant now, Transport& out) { scheduler_.stop(now, status, out); });
}

void LocalCluster::ask_checkpoint() {
  driver_.turn(kScheduler, [this](Instant now, Transport&) { scheduler_.ask_checkpoint(now); });
}

void LocalCluster::complete_checkpoint(std::uint64_t number, const Status& status, bool whole_next) {
  driver_.turn(kScheduler, [&](Instant now, Transport&) {
    scheduler_.complete_checkpoint(now, number, status, whole_next);
  });
}

Status LocalCluster::wait_started() {
  if (!owners_.empty()) return ok_status();
  std::vector<std::uint32_t> owners(shards_);
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = *workers_[w];
    std::optional<Status> over;
    driver_.wait_until(worker_node(wire::kFirstTemporary + w), [&] {
      over = worker.membership().stopped();
      for (std::uint32_t s = 0; s < shards_; ++s) {
        if (worker.started(ShardId{s})) owners[s] = w;
      }
      return over || worker.map().epoch != 0;
    });
    if (over) return *over;
  }
  owners_ = std::move(owners);
  return ok_status();
}

void LocalCluster::turn(ShardId shard, const std::function<void(Worker&, ShardStore&)>& act) {
  const std::uint32_t owner = owners_.at(shard.value);
  const NodeId id = worker_node(wire::kFirstTemporary + owner);
  Worker& worker = *workers_[owner];
  for (bool acted = false; !acted;) {
    driver_.turn(id, [&](Instant now, Transport& out) {
      ShardStore* store = worker.store(shard);
      if (store == nullptr) return;
      worker.turn(now, out, [&] { act(worker, *store); });
      acted = true;
    });
    if (!acted) driver_.wait_until(id, [&] { return worker.store(shard) != nullptr; });
  }
}

bool LocalCluster::wait_until(ShardId shard, const std::function<bool(const Worker&)>& done,
                              Instant deadline) {
  const std::uint32_t owner = owners_.at(shard.value);
  return driver_.wait_until(
      worker_node(wire::kFirstTemporary + owner), [&] { return done(*workers_[owner]); }, deadline);
}

bool LocalCluster::wait_until(const std::function<bool()>& done) {
  bool over = false;
  driver_.wait_until(kScheduler, [&] {
    over = scheduler_.finished();
    return over || done();
  });
  return !over;
}

void LocalCluster::wait_programs_gone() {
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    driver_.wait_until(worker_node(wire::kFirstTemporary + w),
                       [&] { return workers_[w]->finished() && !workers_[w]->computing(); });
  }
}

}  // namespace thalweg
