// A job that dies as a whole, again and again, and goes on from its newest checkpoint each time, on other
// numbers of servers, copies and workers.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>

#include "sim/cluster/cluster.h"
#include "sim/cluster/whole_cuts.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kCheckpointShards = 4, kPasses = 3, kRowsUsed = 12;

// Shards' passes have different lengths, so that boundaries lie beyond the end of some.
std::uint32_t steps_of(ShardId shard, std::uint32_t epoch) { return 9 + (shard.value * 3 + epoch) % 5; }

float random_gradient(ShardId shard, Step step, std::size_t i) {
  return static_cast<float>(Random(step.epoch).split(step.index).split(shard.value).split(i).normal());
}

Task<Status> one_checkpointed_step(Store& store) {
  std::vector<Key> numbers;
  for (Key key = 0; key < kRowsUsed; ++key) {
    if (Random(store.step().index).split(store.shard().value).split(key).below(3) != 0)
      numbers.push_back(100 * key);
  }
  const Keys sparse = Keys::of(numbers), dense = Keys::block(0, kRowsUsed);
  const Keys* const keys[] = {&sparse, &dense};
  std::vector<std::vector<float>> grads;
  for (std::uint16_t t = 0; t < 2; ++t) {
    const Answer read = co_await store.pull(TableId{t}, *keys[t]);
    if (!read.status.ok()) co_return read.status;
    grads.emplace_back(read.rows.size());
    for (std::size_t i = 0; i < grads[t].size(); ++i)
      grads[t][i] = random_gradient(store.shard(), store.step(), i) + 0.25f * read.rows[i];
  }
  for (std::uint16_t t = 0; t < 2; ++t) store.push(TableId{t}, *keys[t], Rows(std::move(grads[t]))).forget();
  co_return (co_await store.advance()).status;
}

Task<Status> train_checkpointed(ShardStore& store, bool loads) {
  if (loads) {
    if (const Status loaded = (co_await store.barrier(kLoadedBarrier)).status; !loaded.ok()) co_return loaded;
  }
  for (std::uint32_t epoch = store.step().epoch; epoch < kPasses; ++epoch) {
    while (store.step().index < steps_of(store.shard(), epoch)) {
      if (const Status status = co_await one_checkpointed_step(store); !status.ok()) co_return status;
    }
    if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
    if (const Status met = (co_await store.barrier({epoch, 0})).status; !met.ok()) co_return met;
  }
  if (const Status ended = (co_await store.end_work()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

// What outlives the job.
struct CheckpointStorage {
  std::map<std::string, Cuts> attempts;  // By place.
  std::optional<std::pair<Step, Cuts>> newest;
  std::uint64_t completed = 0, of_changes = 0;
};

Task<Status> load_cuts(ShardStore& store, const Cuts& cuts) {
  for (const auto& [server, cut] : cuts) {
    for (std::uint16_t t = 0; t < cut.tables.size(); ++t) {
      for (const LoadEntry& entry : cut.tables[t].entries) {
        const auto keys = entry.rows.keys.as<std::uint64_t>();
        const auto rows = entry.rows.values.as<float>();
        const Answer loaded = co_await store.load(TableId{t}, entry.range, {keys.begin(), keys.end()},
                                                  Rows(std::vector<float>(rows.begin(), rows.end())));
        if (!loaded.status.ok()) co_return loaded.status;
      }
    }
  }
  co_return (co_await store.barrier(kLoadedBarrier)).status;
}

Task<Status> observe_checkpointed(ShardStore& store, const Cuts* cuts) {
  if (cuts != nullptr) {
    if (Status loaded = co_await load_cuts(store, *cuts); !loaded.ok()) co_return loaded;
  }
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Plan checkpointed_plan(std::uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.servers = 1 + static_cast<std::uint32_t>(random.below(3));
  plan.replicas = plan.servers > 1 ? 1 + static_cast<std::uint32_t>(random.below(2)) : 1;
  plan.workers = 1 + static_cast<std::uint32_t>(random.below(3));
  plan.shards = kCheckpointShards;
  TableSpec sparse;
  sparse.name = "sparse";
  sparse.dim = 2;
  sparse.ranges = 5;
  sparse.rule.kind = RuleKind::kAdagrad;
  TableSpec dense = sparse;
  dense.name = "dense";
  dense.kind = TableSpec::Kind::kDense;
  dense.rows = kRowsUsed;
  dense.ranges = 3;
  dense.rule.kind = RuleKind::kAdam;
  plan.tables = {sparse, dense};
  plan.steps.assign(kCheckpointShards, {1});
  plan.latency = 100us;
  plan.jitter = 2ms;
  plan.worker_turn.assign(plan.workers, Duration{});
  plan.timeout = 600s;
  plan.compute_max = seed % 3 == 0 ? Duration{} : Duration(1us) * static_cast<std::int64_t>(seed % 2000);
  plan.suspect_after = 5s;
  plan.judged = false;
  if (seed % 4 != 0) {
    plan.frame_faults.drop = 0.01;
    plan.frame_faults.repeat = 0.02;
    plan.frame_faults.delay = 0.05;
    plan.frame_faults.delay_max = 20ms;
    plan.node_faults.until = 3600s;
  }
  return plan;
}

// A life of the job, until an event of this number or its end.
struct Life {
  Life(const Plan& wanted, CheckpointStorage& kept, const CheckpointPolicy& policy)
      : plan(wanted), storage(kept), begun_with(kept.newest), cluster(plan, nullptr, programs(policy)) {}

  Programs programs(const CheckpointPolicy& policy) {
    Programs out;
    const Cuts* const cuts = begun_with ? &begun_with->second : nullptr;
    out.shard = [loads = cuts != nullptr](ShardStore& store, const wire::Map&) {
      return train_checkpointed(store, loads);
    };
    out.observer = [cuts](ShardStore& store, const wire::Map&) { return observe_checkpointed(store, cuts); };
    out.checkpoint = policy;
    out.cut_piece_bytes = 1 + plan.seed % 150;
    out.store_cut = store_whole([this](const Cut& cut) -> Result<std::string> {
      storage.attempts[cut.order.place].insert_or_assign(cut.server, cut);
      return std::string("stored");
    });
    out.complete_checkpoint = [this](const TakenCheckpoint& taken) {
      Cuts whole;
      for (const auto& [server, text] : taken.parts)
        whole.emplace(server, storage.attempts[taken.place].at(server));
      if (taken.since > 0) {
        ++storage.of_changes;
        whole = whole_cuts(std::move(whole), storage.newest->second);
      }
      storage.newest = std::pair(taken.step, std::move(whole));
      ++storage.completed;
      return ok_status();
    };
    if (begun_with) out.first = begun_with->first;
    return out;
  }

  // Whether it came to its end.
  bool run(std::uint64_t events) {
    while (!cluster.over() && cluster.events() < events && cluster.step()) {
    }
    return cluster.over();
  }

  Plan plan;
  CheckpointStorage& storage;
  std::optional<std::pair<Step, Cuts>> begun_with;
  Cluster cluster;
};

std::vector<Contents> all_rows(const Cluster& cluster) {
  return {cluster.contents(TableId{0}), cluster.contents(TableId{1})};
}

void expect_same_bits(const std::vector<Contents>& found, const std::vector<Contents>& wanted,
                      std::uint64_t seed) {
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    ASSERT_EQ(found[t].keys, wanted[t].keys) << "seed " << seed << " table " << t;
    ASSERT_EQ(found[t].rows, wanted[t].rows) << "seed " << seed << " table " << t;
  }
}

std::vector<Contents> undisturbed() {
  CheckpointStorage none;
  Plan plan = checkpointed_plan(4);
  plan.servers = plan.workers = plan.replicas = 1;
  plan.worker_turn.assign(1, Duration{});
  Life life(plan, none, {});
  EXPECT_TRUE(life.run(10'000'000));
  return all_rows(life.cluster);
}

TEST(CheckpointedJob, GoesOnWithTheSameBitsAfterEverythingDied) {
  const std::vector<Contents> wanted = undisturbed();
  ASSERT_GE(wanted[0].keys.size(), kRowsUsed - 1);
  std::uint64_t resumed = 0, begun_anew = 0, completed = 0, of_changes = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CheckpointStorage storage;
    Random random = Random(seed).split(1);
    bool over = false;
    for (std::uint64_t life = 0; !over; ++life) {
      const Plan plan = checkpointed_plan(1000 * seed + life);
      CheckpointPolicy policy{.place = fmt::format("life-{}-", life)};
      policy.whole_every = static_cast<std::uint32_t>(1 + (seed + life) % 4);
      if (random.below(2) == 0) {
        policy.every_steps = 1 + static_cast<std::uint32_t>(random.below(7));
      } else {
        policy.every = Duration(1ms) * static_cast<std::int64_t>(5 + random.below(40));
      }
      Life one(plan, storage, policy);
      (one.begun_with ? resumed : begun_anew) += life > 0;
      const std::uint64_t dies_at = life < 4 ? 50 + random.below(3000) : 10'000'000;
      over = one.run(dies_at);
      ASSERT_TRUE(over || one.cluster.events() >= dies_at)
          << "seed " << seed << ": nothing is left to happen";
      if (!over) continue;
      ASSERT_TRUE(one.cluster.scheduler().stopped() && one.cluster.scheduler().stopped()->ok())
          << "seed " << seed << ": " << one.cluster.scheduler().stopped()->message();
      expect_same_bits(all_rows(one.cluster), wanted, seed);
      if (HasFatalFailure()) return;
    }
    completed += storage.completed;
    of_changes += storage.of_changes;
  }
  EXPECT_GT(resumed, 60u);
  EXPECT_GT(begun_anew, 10u);
  EXPECT_GT(of_changes, 100u);
  std::cout << completed << " checkpoints, " << of_changes << " of changes, " << resumed
            << " lives went on from one, " << begun_anew << " began anew\n";
}

// A server of a chain dies while checkpoints are taken: what its heirs store goes on to the same bits.
TEST(CheckpointedJob, CheckpointsGoOnWhereAServerOfAChainDied) {
  const std::vector<Contents> wanted = undisturbed();
  std::uint64_t after_death = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CheckpointStorage storage;
    Plan plan = checkpointed_plan(seed);
    plan.servers = 3;
    plan.replicas = 2;
    Life first(plan, storage, {.place = "a-", .every_steps = 2, .whole_every = 4});
    Random random = Random(seed).split(2);
    if (first.run(300 + random.below(2000))) continue;
    const std::uint64_t before = storage.completed;
    const NodeId victim = first.cluster.processes()[1]->id;
    first.cluster.kill(1);
    first.cluster.at(first.cluster.now() + 10ms, [&] { first.cluster.tell_lost(0, victim); });
    if (first.run(first.cluster.events() + 2500)) continue;
    after_death += storage.completed - before;
    Life second(checkpointed_plan(seed + 7), storage, {.place = "b-", .every_steps = 3});
    ASSERT_TRUE(second.run(10'000'000));
    expect_same_bits(all_rows(second.cluster), wanted, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(after_death, 40u);
}

}  // namespace
}  // namespace thalweg::sim
