#include "sim/change/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "base/check.h"
#include "base/mix.h"
#include "base/random.h"
#include "server/cut.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/whole_cuts.h"
#include "staleness/step_policy.h"
#include "thalweg/wait_limit.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kPasses = 3, kStepsMax = 16, kRows = 12, kLivesMax = 5;
constexpr TableId kSparse{0}, kDense{1}, kLedger{2};
constexpr std::uint64_t kEventsOfLife = 3'000'000;  // Of a life that nothing ends.

// What all lives of a job have in common.
struct Job {
  std::uint64_t seed = 0;
  std::uint32_t shards = 1;
  Consistency consistency;
  std::vector<TableSpec> tables;

  // Shards' passes have different lengths, so that steps come that lie beyond the end of some.
  std::uint32_t steps_of(ShardId shard, std::uint32_t pass) const {
    return static_cast<std::uint32_t>(Random(seed).split(shard.value).split(pass).below(kStepsMax));
  }
  Random random(ShardId shard, Step step) const {
    return Random(seed).split(step.epoch).split(step.index).split(shard.value);
  }
  std::vector<Key> keys(ShardId shard, Step step) const {
    std::vector<Key> out;
    for (Key key = 0; key < kRows; ++key) {
      if (random(shard, step).split(key).below(3) != 0) out.push_back(100 * key);
    }
    return out;
  }
  float number(ShardId shard, Step step, std::uint64_t key) const {
    return static_cast<float>(random(shard, step).split(1000 + key).below(100));
  }
  std::uint64_t entry(ShardId shard, Step step) const {
    return (std::uint64_t{shard.value} * kPasses + step.epoch) * kStepsMax + step.index;
  }
  // Whether a push may come too late to count.
  bool drops() const { return step_policy(consistency)->drops_late(); }
};

Consistency draw_consistency(Random& random, std::uint32_t shards) {
  const auto some = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random.below(below)); };
  switch (some(8)) {
    case 0:
      return Consistency::sync();
    case 1:
    case 2:
      return Consistency::bounded(some(4));
    case 3:
      return Consistency::softsync(1 + some(shards));
    case 4:
      return Consistency::free_softsync(1 + some(shards));
    case 5:
      return Consistency::backup(some(shards));
    case 6:
      return max_wait(Duration(1ms) * static_cast<std::int64_t>(1 + some(40)));
    default:
      return Consistency::async();
  }
}

Job draw_job(std::uint64_t seed) {
  Random random = Random(seed).split(30);
  Job job;
  job.seed = seed;
  job.shards = 1 + static_cast<std::uint32_t>(random.below(5));
  job.consistency = draw_consistency(random, job.shards);
  for (const char* const name : {"sparse", "dense", "ledger"}) {
    TableSpec table;
    table.name = name;
    table.dim = job.tables.size() == kLedger.value ? 1 : 2;
    table.ranges = static_cast<std::uint16_t>(1 + random.below(6));
    if (!job.tables.empty()) {
      table.kind = TableSpec::Kind::kDense;
      table.rows = table.dim == 2 ? kRows : std::uint64_t{job.shards} * kPasses * kStepsMax;
    }
    job.tables.push_back(table);
  }
  return job;
}

std::vector<Reached> reached_in(const Cuts& cuts) {
  std::vector<Reached> all;
  for (const auto& [server, cut] : cuts) {
    const std::vector<Reached> some = thalweg::reached_in(cut.tables);
    all.resize(std::max(all.size(), some.size()));
    for (std::size_t shard = 0; shard < some.size(); ++shard) all[shard].add(some[shard]);
  }
  return all;
}

// What outlives the processes.
struct Kept {
  std::map<std::string, Cuts> attempts;  // By place.
  struct Checkpoint {
    Step step;
    Cuts cuts;
    std::vector<Reached> reached;
    std::pair<std::uint32_t, std::uint64_t> attempt;  // Of which life.
  };
  std::shared_ptr<const Checkpoint> newest;
};

Task<Status> one_step(const Job& job, Store& store) {
  const ShardId shard = store.shard();
  const Step step = store.step();
  const Keys keys = Keys::of(job.keys(shard, step)), block = Keys::block(0, kRows);
  for (const auto& [table, of] : {std::pair(kSparse, &keys), {kDense, &block}}) {
    if (job.random(shard, step).split(table.value).below(3) == 0) continue;
    if (const Status read = (co_await store.pull(table, *of)).status; !read.ok()) co_return read;
  }
  std::vector<float> sparse, dense;
  for (std::size_t i = 0; i < keys.size(); ++i)
    sparse.insert(sparse.end(), {job.number(shard, step, keys.key(i)), 1.0f});
  for (Key row = 0; row < kRows; ++row) dense.insert(dense.end(), {job.number(shard, step, row), 1.0f});
  store.push(kSparse, keys, Rows(std::move(sparse))).forget();
  store.push(kDense, block, Rows(std::move(dense))).forget();
  store.push(kLedger, Keys::block(job.entry(shard, step), 1), Rows(std::vector<float>{1.0f})).forget();
  co_return (co_await store.advance()).status;
}

// As ShardTrainer goes through passes.
Task<Status> shard_life(const Job& job, ShardStore& store, std::shared_ptr<const Kept::Checkpoint> from) {
  std::uint32_t open_pass = 0;
  if (from != nullptr) {
    if (!from->reached.empty()) store.begin_with(from->reached[store.shard().value]);
    open_pass = first_open_pass(from->reached);
    if (const Status loaded = (co_await store.barrier(kLoadedBarrier)).status; !loaded.ok()) co_return loaded;
  }
  const std::uint32_t first = store.step().epoch;
  const bool between = first > open_pass && store.step().index == 0;
  for (std::uint32_t pass = between ? first - 1 : first; pass < kPasses; ++pass) {
    if (pass >= first) {
      while (store.step().index < job.steps_of(store.shard(), pass)) {
        if (const Status status = co_await one_step(job, store); !status.ok()) co_return status;
      }
      if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
    }
    if (const Status met = (co_await store.barrier({pass, 0})).status; !met.ok()) co_return met;
  }
  if (const Status ended = (co_await store.end_work()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Task<Status> load_rows(ShardStore& store, TableId table, const LoadEntry& entry) {
  const auto keys = entry.rows.keys.as<std::uint64_t>();
  const auto rows = entry.rows.values.as<float>();
  co_return (co_await store.load(table, entry.range, {keys.begin(), keys.end()},
                                 Rows(std::vector<float>(rows.begin(), rows.end()))))
      .status;
}

Task<Status> observer_life(ShardStore& store, std::shared_ptr<const Kept::Checkpoint> from) {
  if (from != nullptr) {
    for (const auto& [server, cut] : from->cuts) {
      for (std::uint16_t t = 0; t < cut.tables.size(); ++t) {
        for (const LoadEntry& entry : cut.tables[t].entries) {
          if (Status status = co_await load_rows(store, TableId{t}, entry); !status.ok()) co_return status;
        }
        for (const RangeState& state : cut.tables[t].states) {
          const std::string bytes(encode(state).text());
          const Answer begun = co_await store.begin(TableId{t}, state.range, bytes);
          if (!begun.status.ok()) co_return begun.status;
        }
      }
    }
    if (const Status met = (co_await store.barrier(kLoadedBarrier)).status; !met.ok()) co_return met;
  }
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Plan plan_of(const Job& job, Random random) {
  const auto some = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random.below(below)); };
  Plan plan;
  plan.seed = random.next();
  plan.consistency = job.consistency;
  plan.servers = 1 + some(4);
  if (plan.servers > 1 && keeps_copies(job.consistency)) plan.replicas = 1 + some(std::min(plan.servers, 3u));
  plan.workers = 1 + some(3);
  plan.shards = job.shards;
  plan.tables = job.tables;
  plan.steps.assign(job.shards, {1});
  plan.latency = 100us;
  plan.jitter = 2ms;
  for (std::uint32_t w = 0; w < plan.workers; ++w)
    plan.worker_turn.push_back(random.chance(0.5) ? Duration{} : Duration(1us) * some(2000));
  plan.timeout = 600s;
  plan.suspect_after = 5s;
  plan.judged = false;
  // Pushes come while rows are stored.
  Random storing = random.split(1);
  if (storing.chance(0.8)) plan.compute_max = Duration(1us) * static_cast<std::int64_t>(storing.below(3000));
  if (random.chance(0.7)) {
    plan.frame_faults.drop = 0.05 * random.unit();
    plan.frame_faults.repeat = 0.1 * random.unit();
    plan.frame_faults.delay = 0.2 * random.unit();
    plan.frame_faults.split = 0.2 * random.unit();
    plan.frame_faults.delay_max = 40ms;
    plan.node_faults.until = 3600s;
  }
  return plan;
}

// From one death of everything to the next.
class Life {
 public:
  Life(const Job& job, Kept& kept, Random random, std::uint32_t number, const Trace& trace)
      : job_(job),
        kept_(kept),
        random_(random.split(1)),
        from_(kept.newest),
        plan_(plan_of(job, random)),
        cluster_(plan_, trace, programs(number)) {
    if (random_.chance(0.4) && plan_.workers > 1)
      cluster_.at_event(random_.below(3000), [this] { lose_worker(); });
  }

  // Until an event of this number, or its end; whether it came to that.
  bool run(std::uint64_t events) {
    while (!cluster_.over() && cluster_.events() < events && cluster_.step()) {
    }
    return cluster_.over();
  }
  const Cluster& cluster() const { return cluster_; }
  Cluster& cluster() { return cluster_; }
  const Plan& plan() const { return plan_; }

 private:
  Programs programs(std::uint32_t number) {
    Programs out;
    out.shard = [this](ShardStore& store, const wire::Map&) { return shard_life(job_, store, from_); };
    out.observer = [this](ShardStore& store, const wire::Map&) { return observer_life(store, from_); };
    out.checkpoint.place = fmt::format("life-{}-", number);
    out.cut_piece_bytes = 1 + Random(job_.seed).split(33).split(number).below(200);
    if (random_.chance(0.5)) {
      out.checkpoint.every_steps = 1 + static_cast<std::uint32_t>(random_.below(7));
    } else {
      out.checkpoint.every = Duration(1ms) * static_cast<std::int64_t>(1 + random_.below(40));
    }
    out.store_cut = store_whole([this](const Cut& cut) -> Result<std::string> {
      kept_.attempts[cut.order.place].insert_or_assign(cut.server, cut);
      return std::string("stored");
    });
    Random kinds = Random(job_.seed).split(34).split(number);
    if (kinds.chance(0.6)) out.checkpoint.whole_every = 2 + static_cast<std::uint32_t>(kinds.below(5));
    out.complete_checkpoint = [this, number](const TakenCheckpoint& taken) {
      Kept::Checkpoint made{taken.step, {}, {}, {number, taken.number}};
      for (const auto& [server, text] : taken.parts)
        made.cuts.emplace(server, kept_.attempts[taken.place].at(server));
      made.reached = reached_in(made.cuts);
      if (taken.since > 0) {
        THALWEG_CHECK(kept_.newest->attempt == std::pair(number, taken.since),
                      "changes are since the newest one");
        made.cuts = whole_cuts(std::move(made.cuts), kept_.newest->cuts);
      }
      kept_.newest = std::make_shared<const Kept::Checkpoint>(std::move(made));
      return ok_status();
    };
    if (from_ == nullptr) return out;
    out.checkpoint.newest = from_->step;
    if (from_->reached.empty()) out.first = from_->step;
    return out;
  }

  // Another takes its place. A server of a chain may go with it.
  void lose_worker() {
    for (const auto& process : cluster_.processes()) {
      const bool joins = process->server != nullptr && process->server->map().epoch == 0;
      if (joins || (process->worker != nullptr && process->worker->map().epoch == 0)) return;
    }
    const auto lose = [&](auto is_one) {
      for (const auto& process : cluster_.processes()) {
        if (!process->runs() || process->observer || !is_one(*process)) continue;
        const NodeId id = process->id;
        cluster_.kill(process->place);
        cluster_.at(cluster_.now() + 10ms, [this, id] { cluster_.tell_lost(0, id); });
        return;
      }
    };
    lose([](const Process& process) { return process.worker != nullptr; });
    cluster_.start_worker(Duration{});
    if (plan_.replicas > 1 && random_.chance(0.5))
      lose([](const Process& process) { return process.server != nullptr; });
  }

  const Job& job_;
  Kept& kept_;
  Random random_;
  std::shared_ptr<const Kept::Checkpoint> from_;
  Plan plan_;
  Cluster cluster_;
};

// By row: what all steps add up to.
std::map<std::uint64_t, std::pair<float, float>> sums(const Job& job, bool sparse) {
  std::map<std::uint64_t, std::pair<float, float>> out;
  for (std::uint32_t s = 0; s < job.shards; ++s) {
    for (Step step{0, 0}; step.epoch < kPasses; step = step.next_epoch()) {
      for (; step.index < job.steps_of(ShardId{s}, step.epoch); step = step.next()) {
        const auto add = [&](std::uint64_t row) {
          auto& [sum, count] = out[sparse ? place(Key{row}) : row];
          sum += job.number(ShardId{s}, step, row);
          ++count;
        };
        for (Key key = 0; key < kRows && !sparse; ++key) add(key);
        for (const Key key : sparse ? job.keys(ShardId{s}, step) : std::vector<Key>()) add(key);
      }
    }
  }
  return out;
}

std::string compare_sums(const Job& job, const Cluster& cluster, TableId table) {
  const Contents found = cluster.contents(table);
  const auto wanted = sums(job, table == kSparse);
  if (table == kSparse && found.keys.size() != wanted.size())
    return fmt::format("table sparse has {} rows, expected {}", found.keys.size(), wanted.size());
  for (std::size_t i = 0; i < found.keys.size(); ++i) {
    const auto row = wanted.find(found.keys[i]);
    const auto [sum, count] = row == wanted.end() ? std::pair(0.0f, 0.0f) : row->second;
    if (found.rows[2 * i] == sum && found.rows[2 * i + 1] == count) continue;
    return fmt::format("table {} row {}: {} by {} pushes, expected {} by {}", job.tables[table.value].name,
                       found.keys[i], found.rows[2 * i], found.rows[2 * i + 1], sum, count);
  }
  return {};
}

std::string compare_ledger(const Job& job, const Cluster& cluster) {
  const Contents found = cluster.contents(kLedger);
  for (std::uint32_t s = 0; s < job.shards; ++s) {
    for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
      for (std::uint32_t index = 0; index < kStepsMax; ++index) {
        const float wanted = index < job.steps_of(ShardId{s}, pass) ? 1.0f : 0.0f;
        const float count = found.rows.at(job.entry(ShardId{s}, {pass, index}));
        if (count == wanted || (job.drops() && count == 0.0f)) continue;
        return fmt::format("step {}.{} of shard {} counts {} times, expected {}", pass, index, s, count,
                           wanted);
      }
    }
  }
  return {};
}

std::string compare(const Job& job, const Cluster& cluster) {
  std::string wrong = compare_ledger(job, cluster);
  for (const TableId table : {kSparse, kDense}) {
    if (wrong.empty() && !job.drops()) wrong = compare_sums(job, cluster, table);
  }
  return wrong;
}

// Empty, or what is wrong with a life that has come to its end.
std::string judge(const Job& job, const Cluster& cluster) {
  const auto& stopped = cluster.scheduler().stopped();
  if (!stopped || !stopped->ok())
    return violation(Checker::kEnds, stopped ? stopped->message() : "the job never ended");
  const std::string wrong = compare(job, cluster);
  return wrong.empty() ? wrong : violation(Checker::kSums, wrong);
}

}  // namespace

Report run_restarts(std::uint64_t seed, Trace trace) {
  const Job job = draw_job(seed);
  Kept kept;
  Report report;
  report.seed = seed;
  report.consistency = job.consistency;
  for (std::uint32_t number = 0; report.ok() && !report.ended_well; ++number) {
    const Random random = Random(seed).split(31).split(number);
    Life life(job, kept, random, number, trace);
    const std::uint64_t dies_at =
        number + 1 < kLivesMax ? 50 + Random(seed).split(32).split(number).below(4000) : kEventsOfLife;
    const bool over = life.run(dies_at);
    report.plan = fmt::format("life {} of {}", number + 1, describe(life.plan()));
    report.events += life.cluster().events();
    report.virtual_time += life.cluster().now() - Instant{};
    report.time_allowed += life.plan().timeout;
    report.trace_hash = splitmix(report.trace_hash ^ life.cluster().trace_hash());
    if (!life.cluster().findings().none()) {
      report.violation = life.cluster().findings().first();
    } else if (over) {
      report.violation = judge(job, life.cluster());
      report.ended_well = report.ok();
    } else if (life.cluster().events() < dies_at || number + 1 == kLivesMax) {
      report.violation = violation(Checker::kProgress, "nothing is left to happen, or nothing comes of it");
    }
  }
  return report;
}

}  // namespace thalweg::sim
