#include "sim/cluster/timed_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cluster/cluster.h"
#include "sim/cluster/staleness_meter.h"

namespace thalweg::sim {
namespace {

// No node of the job is ever lost, however long computing takes.
constexpr Duration kForever = std::chrono::hours(24 * 365);

// When gradients were computed.
class Stopwatch {
 public:
  explicit Stopwatch(const TimedJob& job) : job_(job) {
    for (std::uint32_t s = 0; s < job.shards; ++s) random_.push_back(Random(job.seed).split(s));
  }

  void on_gradient(ShardId shard) {
    const double times = job_.stragglers.times_of(shard.value % job_.workers);
    under_way_ += scaled(job_.compute.draw(random_[shard.value]), times);
    ++fresh_;
  }
  // How long what has been computed since the last call takes from `now` on.
  Duration take(Instant now) {
    const Duration takes = std::exchange(under_way_, {});
    const std::uint64_t fresh = std::exchange(fresh_, 0);
    if (fresh == 0) return takes;
    if (!begin_) begin_ = now;
    // What ends later than the job was to end is left out.
    const Instant limit = job_.stop_after > Duration{} ? *begin_ + job_.stop_after : kNever;
    if (now + takes <= limit) gradients_ += fresh;
    computing_ += std::max(Duration{}, std::min(now + takes, limit) - now);
    end_ = std::max(end_, std::min(now + takes, limit));
    return takes;
  }
  std::optional<Instant> begin() const { return begin_; }
  // Of what has been computed since take().
  Duration under_way() const { return under_way_; }
  std::uint64_t gradients() const { return gradients_; }
  Duration time() const { return begin_ ? end_ - *begin_ : Duration{}; }
  double idle_share() const {
    const double all = static_cast<double>(time().count()) * std::min(job_.workers, job_.shards);
    return all > 0 ? 1 - static_cast<double>(computing_.count()) / all : 0;
  }

 private:
  const TimedJob& job_;
  std::vector<Random> random_;  // By shard.
  Duration under_way_{};
  Duration computing_{};
  std::optional<Instant> begin_;
  Instant end_{0};
  std::uint64_t fresh_ = 0;  // Gradients since take().
  std::uint64_t gradients_ = 0;
};

// A shard's store that sees when gradients are done.
class TimedStore final : public Store {
 public:
  TimedStore(Store& store, Stopwatch& watch) : store_(store), watch_(watch) {}
  ShardId shard() const override { return store_.shard(); }
  bool closing() const override { return store_.closing(); }
  Step step() const override { return store_.step(); }
  Pending push(TableId table, Keys keys, Rows grads) override {
    return store_.push(table, std::move(keys), std::move(grads));
  }
  Pending pull(TableId table, Keys keys) override { return store_.pull(table, std::move(keys)); }
  Pending read(TableId table, Keys keys) override { return store_.read(table, std::move(keys)); }
  void learnt(std::uint64_t rows) override {
    watch_.on_gradient(shard());
    store_.learnt(rows);
  }
  void exchanged(const Exchanged& more) override { store_.exchanged(more); }
  Pending advance() override { return store_.advance(); }
  Pending end_epoch() override { return store_.end_epoch(); }
  Pending end_work() override { return store_.end_work(); }
  Pending barrier(BarrierId id) override { return store_.barrier(id); }
  Pending report(ReportId id, std::string text) override { return store_.report(id, std::move(text)); }
  Pending yield() override { return store_.yield(); }

 private:
  Store& store_;
  Stopwatch& watch_;
};

Task<Status> run_program(ShardStore& store, const TimedJob& job, Stopwatch& watch) {
  TimedStore timed(store, watch);
  if (job.program_on) co_return co_await job.program_on(timed, store);
  co_return co_await job.program(timed);
}

Task<Status> wait_for_all(ShardStore& store) { co_return (co_await store.barrier(kLastBarrier)).status; }

Plan plan_of(const TimedJob& job) {
  Plan plan;
  plan.seed = job.seed;
  plan.servers = job.servers;
  plan.workers = job.workers;
  plan.shards = job.shards;
  plan.consistency = job.consistency;
  plan.combine = job.combine;
  plan.tables = job.tables;
  plan.steps.assign(job.shards, {0});
  plan.latency = job.latency;
  plan.bytes_per_second = job.bytes_per_second;
  if (job.room != nullptr) {
    plan.room = job.room;
    plan.seats = {
        kNowhere};  // The scheduler, then servers and workers in the order in which they are started.
    for (const auto* nodes : {&job.seats.servers, &job.seats.workers})
      plan.seats.insert(plan.seats.end(), nodes->begin(), nodes->end());
  }
  plan.worker_turn.assign(job.workers, Duration{});
  plan.timeout = job.patience > Duration{} ? job.patience : kForever;
  plan.suspect_after = kForever;
  plan.judged = false;
  return plan;
}

std::uint32_t lead_max(const Cluster& cluster) {
  std::uint32_t lead = 0;
  for (const auto& process : cluster.processes()) {
    if (process->server == nullptr) continue;
    for (const auto& host : process->server->tables()) lead = std::max(lead, host->leads().most());
  }
  return lead;
}

TimedRun::Histogram staleness_counted(const Cluster& cluster) {
  TimedRun::Histogram histogram;
  for (const auto& process : cluster.processes()) {
    if (process->server == nullptr) continue;
    for (const auto& host : process->server->tables()) {
      for (const auto& [updates, pushes] : host->pushes_behind()) {
        if (histogram.size() <= updates) histogram.resize(updates + 1);
        histogram[updates] += pushes;
      }
    }
  }
  return histogram;
}

}  // namespace

class TimedCluster::Impl {
 public:
  explicit Impl(TimedJob wanted)
      : job_(std::move(wanted)),
        plan_(plan_of(job_)),
        stopwatch_(job_),
        in_steps_(job_.consistency.kind == Consistency::Kind::kSync || job_.consistency.drops_late()),
        cluster_(plan_, nullptr, programs()) {}

  bool step() { return !cluster_.over() && cluster_.step(); }
  Cluster& cluster() { return cluster_; }
  bool begun() const { return stopwatch_.begin().has_value(); }
  bool stopping() const { return stopping_; }
  Instant program_now() const { return cluster_.now() + stopwatch_.under_way(); }
  ClusterView view() const;
  TimedRun run() const;
  Status status() const;

 private:
  Programs programs();
  Duration takes(Instant now);

  const TimedJob job_;
  const Plan plan_;
  Stopwatch stopwatch_;
  StalenessMeter staleness_;
  const bool in_steps_;  // A step is applied as a whole, with nothing of others between.
  bool stopping_ = false;
  Cluster cluster_;
};

Duration TimedCluster::Impl::takes(Instant now) {
  const bool begun_before = begun();
  const Duration takes = stopwatch_.take(now);
  if (begun_before || !begun() || job_.stop_after <= Duration{}) return takes;
  cluster_.at(now + job_.stop_after, [this] {
    stopping_ = true;
    cluster_.ask_to_stop();
  });
  return takes;
}

Programs TimedCluster::Impl::programs() {
  Programs out;
  out.shard = [this](ShardStore& store, const wire::Map&) { return run_program(store, job_, stopwatch_); };
  out.observer = [this](ShardStore& store, const wire::Map&) {
    return job_.observer ? job_.observer(store) : wait_for_all(store);
  };
  out.computed_for = [this](Instant now) { return takes(now); };
  out.on_report = [this](Instant now, ShardId shard, ReportId id, std::string_view text) {
    if (job_.on_report) job_.on_report(now - stopwatch_.begin().value_or(now), shard, id, text);
  };
  out.on_answer = [this](NodeId server, const Frame* asked, const Frame& sent) {
    if (!in_steps_) staleness_.on_answer(server, asked, sent);
  };
  return out;
}

ClusterView TimedCluster::Impl::view() const {
  ClusterView view = cluster_.scheduler().view();
  view.counters = {};  // The nodes themselves know better than their last heartbeats.
  for (const auto& process : cluster_.processes()) {
    if (process->observer || process->node == nullptr) continue;
    if (process->server != nullptr) view.counters.count(process->server->counters());
    if (process->worker != nullptr) view.counters.count(process->worker->counters());
  }
  return view;
}

Status TimedCluster::Impl::status() const {
  const auto& stopped = cluster_.scheduler().stopped();
  return stopped ? *stopped
                 : Status(Code::kTimeout, "nothing is left to happen, but the simulated job is not over");
}

TimedRun TimedCluster::Impl::run() const {
  TimedRun run;
  run.status = status();
  run.time = stopwatch_.time();
  run.gradients = stopwatch_.gradients();
  run.staleness = in_steps_ ? std::vector{run.gradients} : staleness_.histogram();
  run.staleness_counted = staleness_counted(cluster_);
  run.lead_max = lead_max(cluster_);
  run.idle_share = stopwatch_.idle_share();
  run.bytes_sent = cluster_.network_counts().bytes;
  run.events = cluster_.events();
  run.trace_hash = cluster_.trace_hash();
  return run;
}

TimedCluster::TimedCluster(TimedJob job) : impl_(std::make_unique<Impl>(std::move(job))) {}
TimedCluster::~TimedCluster() = default;

bool TimedCluster::step() { return impl_->step(); }
Instant TimedCluster::now() const { return impl_->cluster().now(); }
bool TimedCluster::begun() const { return impl_->begun(); }
bool TimedCluster::ended() const { return impl_->cluster().gone(); }
Status TimedCluster::status() const { return impl_->status(); }
ClusterView TimedCluster::view() const { return impl_->view(); }
std::string TimedCluster::missing() const { return impl_->cluster().scheduler().missing(); }
bool TimedCluster::stopping() const { return impl_->stopping(); }
void TimedCluster::close() { impl_->cluster().ask_to_stop(); }
void TimedCluster::stop(const Status& status) { impl_->cluster().end(status); }
void TimedCluster::at(Instant when, std::function<void()> action) {
  impl_->cluster().at(when, std::move(action));
}
void TimedCluster::pause_scheduler(Instant until) { impl_->cluster().pause(0, until); }
Instant TimedCluster::next_at() const { return impl_->cluster().next_at(); }
Instant TimedCluster::program_now() const { return impl_->program_now(); }
void TimedCluster::end_request(Instant when, ShardId shard, std::shared_ptr<Completion> completion,
                               Status how) {
  impl_->cluster().end_request(when, shard, std::move(completion), std::move(how));
}
TimedRun TimedCluster::run() const { return impl_->run(); }

TimedRun run_timed(const TimedJob& job) {
  TimedCluster cluster(job);
  while (cluster.step()) {
  }
  return cluster.run();
}

double TimedRun::gradients_per_second() const {
  return time > Duration{} ? static_cast<double>(gradients) * 1e9 / static_cast<double>(time.count()) : 0;
}

double mean_of(const TimedRun::Histogram& histogram) {
  double all = 0, sum = 0;
  for (std::size_t value = 0; value < histogram.size(); ++value) {
    all += static_cast<double>(histogram[value]);
    sum += static_cast<double>(value) * static_cast<double>(histogram[value]);
  }
  return all > 0 ? sum / all : 0;
}

std::uint64_t quantile_of(const TimedRun::Histogram& histogram, double part) {
  std::uint64_t all = 0, seen = 0;
  for (const std::uint64_t count : histogram) all += count;
  for (std::size_t value = 0; value < histogram.size(); ++value) {
    seen += histogram[value];
    if (static_cast<double>(seen) >= part * static_cast<double>(all)) return value;
  }
  return 0;
}

std::uint64_t most_of(const TimedRun::Histogram& histogram) {
  return histogram.empty() ? 0 : histogram.size() - 1;
}

}  // namespace thalweg::sim
