#include "sim/change/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "base/check.h"
#include "base/mix.h"
#include "base/random.h"
#include "server/cut.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/whole_cuts.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;
using Job = RestartsPlan;

constexpr TableId kSparse = RestartsPlan::kSparse, kDense = RestartsPlan::kDense,
                  kLedger = RestartsPlan::kLedger;
constexpr std::uint64_t kEventsOfLife = 10'000'000;  // Of a life that nothing ends.

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
  const Keys keys = Keys::of(job.keys(shard, step)), block = Keys::block(0, job.rows);
  for (const auto& [table, of] : {std::pair(kSparse, &keys), {kDense, &block}}) {
    if (job.random(shard, step).split(table.value).below(3) == 0) continue;
    if (const Status read = (co_await store.pull(table, *of)).status; !read.ok()) co_return read;
  }
  std::vector<float> sparse, dense;
  for (std::size_t i = 0; i < keys.size(); ++i)
    sparse.insert(sparse.end(), {job.number(shard, step, keys.key(i)), 1.0f});
  for (Key row = 0; row < job.rows; ++row) dense.insert(dense.end(), {job.number(shard, step, row), 1.0f});
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
  for (std::uint32_t pass = between ? first - 1 : first; pass < job.passes; ++pass) {
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

// From one death of everything to the next.
class Life {
 public:
  Life(const Job& job, std::size_t number, Kept& kept, const Trace& trace)
      : job_(job),
        life_(job.lives[number]),
        kept_(kept),
        from_(kept.newest),
        plan_(job.cluster(life_)),
        cluster_(plan_, trace, programs(static_cast<std::uint32_t>(number))) {
    if (life_.loss && plan_.workers > 1) cluster_.at_event(*life_.loss, [this] { lose_worker(); });
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
    out.cut_piece_bytes = life_.cut_piece_bytes;
    out.checkpoint.every_steps = life_.every_steps;
    out.checkpoint.every = life_.every;
    out.checkpoint.whole_every = life_.whole_every;
    out.store_cut = store_whole([this](const Cut& cut) -> Result<std::string> {
      kept_.attempts[cut.order.place].insert_or_assign(cut.server, cut);
      return std::string("stored");
    });
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
    if (life_.loses_server && plan_.replicas > 1)
      lose([](const Process& process) { return process.server != nullptr; });
  }

  const Job& job_;
  const LifePlan& life_;
  Kept& kept_;
  std::shared_ptr<const Kept::Checkpoint> from_;
  Plan plan_;
  Cluster cluster_;
};

// By row: what all steps add up to.
std::map<std::uint64_t, std::pair<float, float>> sums(const Job& job, bool sparse) {
  std::map<std::uint64_t, std::pair<float, float>> out;
  for (std::uint32_t s = 0; s < job.shards; ++s) {
    for (Step step{0, 0}; step.epoch < job.passes; step = step.next_epoch()) {
      for (; step.index < job.steps_of(ShardId{s}, step.epoch); step = step.next()) {
        const auto add = [&](std::uint64_t row) {
          auto& [sum, count] = out[sparse ? place(Key{row}) : row];
          sum += job.number(ShardId{s}, step, row);
          ++count;
        };
        for (Key key = 0; key < job.rows && !sparse; ++key) add(key);
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
    return fmt::format("table {} row {}: {} by {} pushes, expected {} by {}", job.tables()[table.value].name,
                       found.keys[i], found.rows[2 * i], found.rows[2 * i + 1], sum, count);
  }
  return {};
}

std::string compare_ledger(const Job& job, const Cluster& cluster) {
  const Contents found = cluster.contents(kLedger);
  for (std::uint32_t s = 0; s < job.shards; ++s) {
    for (std::uint32_t pass = 0; pass < job.passes; ++pass) {
      for (std::uint32_t index = 0; index <= job.steps; ++index) {
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

Report run_restarts(const RestartsPlan& plan, Trace trace) {
  Kept kept;
  Report report;
  report.seed = plan.seed;
  report.consistency = plan.consistency;
  for (std::size_t number = 0; report.ok() && !report.ended_well; ++number) {
    const bool last = number + 1 == plan.lives.size();
    Life life(plan, number, kept, trace);
    const std::uint64_t dies_at = last ? kEventsOfLife : plan.lives[number].events;
    const bool over = life.run(dies_at);
    report.plan = fmt::format("life {} of {}", number + 1, describe(life.plan()));
    report.events += life.cluster().events();
    report.virtual_time += life.cluster().now() - Instant{};
    report.time_allowed += life.plan().timeout;
    report.trace_hash = splitmix(report.trace_hash ^ life.cluster().trace_hash());
    if (!life.cluster().findings().none()) {
      report.violation = life.cluster().findings().first();
    } else if (over) {
      report.violation = judge(plan, life.cluster());
      report.ended_well = report.ok();
    } else if (life.cluster().events() < dies_at || last) {
      report.violation = violation(Checker::kProgress, "nothing is left to happen, or nothing comes of it");
    }
  }
  return report;
}

}  // namespace thalweg::sim
