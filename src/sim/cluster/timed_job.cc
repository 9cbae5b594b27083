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
  plan.tables = job.tables;
  plan.steps.assign(job.shards, {0});
  plan.latency = job.latency;
  plan.bytes_per_second = job.bytes_per_second;
  plan.worker_turn.assign(job.workers, Duration{});
  plan.timeout = plan.suspect_after = kForever;
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

Status ended_with(const Cluster& cluster) {
  if (!cluster.over())
    return {Code::kTimeout, "nothing is left to happen, but the simulated job is not over"};
  return cluster.scheduler().stopped().value_or(ok_status());
}

}  // namespace

TimedRun run_timed(const TimedJob& job) {
  const Plan plan = plan_of(job);
  Stopwatch stopwatch(job);
  StalenessMeter staleness;
  Cluster* running = nullptr;
  Programs programs;
  programs.shard = [&](ShardStore& store, const wire::Map&) { return run_program(store, job, stopwatch); };
  programs.observer = [](ShardStore& store, const wire::Map&) { return wait_for_all(store); };
  programs.computed_for = [&](Instant now) {
    const bool begun = stopwatch.begin().has_value();
    const Duration takes = stopwatch.take(now);
    if (!begun && stopwatch.begin() && job.stop_after > Duration{})
      running->at(now + job.stop_after, [running] { running->ask_to_stop(); });
    return takes;
  };
  programs.on_report = [&](Instant now, ShardId shard, ReportId id, std::string_view text) {
    if (job.on_report) job.on_report(now - stopwatch.begin().value_or(now), shard, id, text);
  };
  // In sync mode a step is applied as a whole, with nothing of others between.
  const bool sync = job.consistency.kind == Consistency::Kind::kSync;
  programs.on_answer = [&](NodeId server, const Frame* asked, const Frame& sent) {
    if (!sync) staleness.on_answer(server, asked, sent);
  };
  Cluster cluster(plan, nullptr, std::move(programs));
  running = &cluster;
  while (!cluster.over() && cluster.step()) {
  }
  TimedRun run;
  run.status = ended_with(cluster);
  run.time = stopwatch.time();
  run.gradients = stopwatch.gradients();
  run.staleness = sync ? std::vector{run.gradients} : staleness.histogram();
  run.lead_max = lead_max(cluster);
  run.idle_share = stopwatch.idle_share();
  run.bytes_sent = cluster.network().counts().bytes;
  run.events = cluster.events();
  run.trace_hash = cluster.trace_hash();
  return run;
}

double TimedRun::gradients_per_second() const {
  return time > Duration{} ? static_cast<double>(gradients) * 1e9 / static_cast<double>(time.count()) : 0;
}

double TimedRun::staleness_mean() const {
  double pushes = 0, sum = 0;
  for (std::size_t s = 0; s < staleness.size(); ++s) {
    pushes += static_cast<double>(staleness[s]);
    sum += static_cast<double>(s) * static_cast<double>(staleness[s]);
  }
  return pushes > 0 ? sum / pushes : 0;
}

std::uint64_t TimedRun::staleness_at(double part) const {
  std::uint64_t pushes = 0, seen = 0;
  for (const std::uint64_t count : staleness) pushes += count;
  for (std::size_t s = 0; s < staleness.size(); ++s) {
    seen += staleness[s];
    if (static_cast<double>(seen) >= part * static_cast<double>(pushes)) return s;
  }
  return 0;
}

}  // namespace thalweg::sim
