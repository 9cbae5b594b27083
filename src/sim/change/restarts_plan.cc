#include "sim/change/restarts_plan.h"

#include <algorithm>

#include "staleness/step_policy.h"
#include "thalweg/wait_limit.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

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

Plan draw_life_cluster(const RestartsPlan& job, Random random) {
  const auto some = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random.below(below)); };
  Plan plan;
  plan.seed = random.next();
  plan.servers = 1 + some(4);
  if (plan.servers > 1 && keeps_copies(job.consistency)) plan.replicas = 1 + some(std::min(plan.servers, 3u));
  plan.workers = 1 + some(3);
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

LifePlan draw_life(const RestartsPlan& job, std::uint32_t number) {
  const Random seed(job.seed);
  const Random cluster = seed.split(31).split(number);
  LifePlan life;
  life.cluster = draw_life_cluster(job, cluster);
  life.events = 50 + seed.split(32).split(number).below(4000);
  life.cut_piece_bytes = 1 + seed.split(33).split(number).below(200);
  Random random = cluster.split(1);
  if (random.chance(0.5)) {
    life.every_steps = 1 + static_cast<std::uint32_t>(random.below(7));
  } else {
    life.every = Duration(1ms) * static_cast<std::int64_t>(1 + random.below(40));
  }
  if (random.chance(0.4) && life.cluster.workers > 1) {
    life.loss = random.below(3000);
    life.loses_server = life.cluster.replicas > 1 && random.chance(0.5);
  }
  Random kinds = seed.split(34).split(number);
  if (kinds.chance(0.6)) life.whole_every = 2 + static_cast<std::uint32_t>(kinds.below(5));
  return life;
}

}  // namespace

std::vector<TableSpec> RestartsPlan::tables() const {
  std::vector<TableSpec> all;
  for (const char* const name : {"sparse", "dense", "ledger"}) {
    TableSpec table;
    table.name = name;
    table.dim = all.size() == kLedger.value ? 1 : 2;
    table.ranges = ranges[all.size()];
    if (!all.empty()) {
      table.kind = TableSpec::Kind::kDense;
      table.rows = table.dim == 2 ? rows : std::uint64_t{shards} * passes * (steps + 1);
    }
    all.push_back(table);
  }
  return all;
}

Plan RestartsPlan::cluster(const LifePlan& life) const {
  Plan plan = life.cluster;
  plan.consistency = consistency;
  plan.shards = shards;
  plan.tables = tables();
  plan.steps.assign(shards, {1});
  return plan;
}

std::uint32_t RestartsPlan::steps_of(ShardId shard, std::uint32_t pass) const {
  const std::uint64_t drawn = Random(seed).split(shard.value).split(pass).below(kStepsMax + 1);
  return std::min(static_cast<std::uint32_t>(drawn), steps);
}

Random RestartsPlan::random(ShardId shard, Step step) const {
  return Random(seed).split(step.epoch).split(step.index).split(shard.value);
}

std::vector<Key> RestartsPlan::keys(ShardId shard, Step step) const {
  std::vector<Key> out;
  for (Key key = 0; key < rows; ++key) {
    if (random(shard, step).split(key).below(3) != 0) out.push_back(100 * key);
  }
  return out;
}

float RestartsPlan::number(ShardId shard, Step step, std::uint64_t key) const {
  return static_cast<float>(random(shard, step).split(1000 + key).below(100));
}

bool RestartsPlan::drops() const { return step_policy(consistency)->drops_late(); }

RestartsPlan draw_restarts_plan(std::uint64_t seed) {
  Random random = Random(seed).split(30);
  RestartsPlan plan;
  plan.seed = seed;
  plan.shards = 1 + static_cast<std::uint32_t>(random.below(5));
  plan.consistency = draw_consistency(random, plan.shards);
  for (std::uint16_t& ranges : plan.ranges) ranges = static_cast<std::uint16_t>(1 + random.below(6));
  for (std::uint32_t number = 0; number < RestartsPlan::kLivesMax; ++number)
    plan.lives.push_back(draw_life(plan, number));
  return plan;
}

}  // namespace thalweg::sim
