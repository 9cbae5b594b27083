#include "client/local_cluster.h"

#include "placement/placement.h"

namespace thalweg {
namespace {

// Joiners use ids of their own until the scheduler has named them.
constexpr std::uint32_t kTemporary = 1u << 31;

}  // namespace

LocalCluster::LocalCluster(LocalClusterOptions options) : driver_(clock_), scheduler_(options.job) {
  driver_.add(kScheduler, scheduler_);
  for (std::uint32_t s = 0; s < options.job.servers; ++s) {
    servers_.push_back(std::make_unique<Server>(ServerOptions{{}, "embedded", options.custom_rule}));
    driver_.add(server_node(kTemporary + s), *servers_.back());
  }
  for (std::uint32_t w = 0; w < options.job.workers; ++w) {
    workers_.push_back(std::make_unique<Worker>(WorkerOptions{"embedded", false, options.program}));
    driver_.add(worker_node(kTemporary + w), *workers_.back());
  }
  if (options.observer) {
    observer_ = std::make_unique<Worker>(WorkerOptions{"embedded", true, options.observer});
    driver_.add(worker_node(kTemporary + options.job.workers), *observer_);
  }
  driver_.start(options.threads);
}

LocalCluster::~LocalCluster() {
  stop({Code::kAborted, "the job was dropped"});
  wait(std::chrono::seconds(5));
  driver_.stop();
}

bool LocalCluster::wait(Duration wait) {
  return driver_.wait_until(
      kScheduler, [this] { return scheduler_.finished(); }, driver_.now() + wait);
}

Status LocalCluster::status() {
  Status status;
  driver_.turn(kScheduler,
               [&](Instant, Transport&) { status = scheduler_.stopped().value_or(Status::ok()); });
  return status;
}

ClusterView LocalCluster::view() {
  ClusterView view;
  driver_.turn(kScheduler, [&](Instant, Transport&) { view = scheduler_.view(); });
  return view;
}

void LocalCluster::close() {
  driver_.turn(kScheduler, [&](Instant, Transport& out) { scheduler_.close(out); });
}

void LocalCluster::stop(const Status& status) {
  driver_.turn(kScheduler, [&](Instant now, Transport& out) { scheduler_.stop(now, status, out); });
}

}  // namespace thalweg
