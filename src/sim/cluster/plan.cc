#include "sim/cluster/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/limits.h"
#include "base/random.h"
#include "staleness/step_policy.h"
#include "thalweg/wait_limit.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

// Far more than any real clock is off; nodes speak often enough for it.
constexpr double kClockRateOffMax = 0.2;

Duration between(Random& random, Duration low, Duration high) {
  return low + Duration{static_cast<std::int64_t>(random.unit() * static_cast<double>((high - low).count()))};
}

std::uint32_t count(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random.below(high - low + 1));
}

TableSpec draw_table(Random& random, std::uint32_t shards, std::uint32_t keys, std::size_t number) {
  TableSpec table;
  table.name = fmt::format("t{}", number);
  table.dim = count(random, 1, 4);
  table.ranges = static_cast<std::uint16_t>(count(random, 1, random.chance(0.5) ? 4 : 16));
  if (random.chance(0.35)) {
    table.kind = TableSpec::Kind::kDense;
    table.rows = shards + count(random, 1, keys);
  }
  return table;
}

RuleSpec draw_rule(Random& random) {
  static constexpr RuleKind kRules[] = {RuleKind::kSgd, RuleKind::kMomentum, RuleKind::kAdagrad,
                                        RuleKind::kAdam, RuleKind::kFtrl};
  RuleSpec rule;
  rule.kind = kRules[random.below(std::size(kRules))];
  rule.initial_accumulator = 0.1f;
  if (rule.kind == RuleKind::kFtrl) rule.epsilon = 1.0f;
  return rule;
}

void draw_tables(Plan& plan, Random& random) {
  const std::uint32_t tables = count(random, 1, 3);
  for (std::uint32_t t = 0; t < tables; ++t)
    plan.tables.push_back(draw_table(random, plan.shards, plan.keys, t));
  if (plan.consistency.kind != Consistency::Kind::kSync) return;
  TableSpec& model = plan.tables[random.below(tables)];
  model.rule = draw_rule(random);
  model.init = {InitSpec::Kind::kNormal, 0.5f, plan.seed};
}

void draw_steps(Plan& plan, Random& random) {
  const std::uint32_t epochs = count(random, 1, 2), most = count(random, 1, 12);
  plan.steps.resize(plan.shards);
  for (auto& shard : plan.steps) {
    for (std::uint32_t e = 0; e < epochs; ++e) {
      shard.push_back(random.chance(0.1) ? 0 : random.chance(0.5) ? most : count(random, 0, most));
    }
  }
}

// Many steps that hardly read, so that all windows fill.
void draw_long_pass(Plan& plan, Random& random) {
  for (auto& shard : plan.steps) shard.front() = count(random, 30, 90);
  plan.pull_chance = 0.1;
  plan.unanswered_max = 1000;
  for (Duration& turn : plan.worker_turn) turn = std::min<Duration>(turn, 200us);
}

void draw_faults(Plan& plan, Random& random) {
  const auto rate = [&](double most) { return random.chance(0.5) ? most * random.unit() : 0.0; };
  FrameFaults& frame = plan.frame_faults;
  frame.drop = rate(0.3);
  frame.repeat = rate(0.3);
  frame.delay = rate(0.3);
  frame.flip = rate(0.05);
  frame.split = rate(0.2);
  frame.delay_max = random.chance(0.5) ? between(random, 1ms, 20ms) : between(random, 20ms, 5s);
  NodeFaults& node = plan.node_faults;
  for (bool* kind : {&node.partition, &node.clog, &node.pause, &node.crash, &node.disconnect})
    *kind = random.chance(0.5);
  // Pushes that one server never hears of, while their worker goes on with the others, and dies.
  if (random.chance(0.2)) node.partition = node.crash = true;
  node.every = random.chance(0.5) ? between(random, 5ms, 100ms) : between(random, 100ms, 3s);
  node.until = between(random, 100ms, 20s);
}

std::uint64_t steps_of(const Plan& plan) {
  std::uint64_t sum = 0;
  for (const auto& shard : plan.steps) sum = std::accumulate(shard.begin(), shard.end(), sum);
  return sum;
}

// Of one step: pulls, pushes and their answers.
std::uint64_t frames_of_step(const Plan& plan) { return 4 * plan.tables.size() * plan.servers; }

CoreFault draw_core_fault(const Plan& plan, Random& random) {
  CoreFault fault;
  const std::uint64_t which = random.below(4);
  fault.role = which == 0 ? Role::kScheduler : which == 3 ? Role::kWorker : Role::kServer;
  fault.index = static_cast<std::uint32_t>(random.below(plan.servers));
  const std::uint64_t nodes = plan.servers + plan.workers + 2;
  fault.event = random.below(nodes * 4 + steps_of(plan) * (frames_of_step(plan) + 4));
  fault.noticed = random.chance(0.6);
  if (random.chance(0.5)) return fault;
  const Duration longest = plan.spares_core ? 150ms : 3 * plan.suspect_after;
  fault.pause = 1ms + Duration{static_cast<std::int64_t>(std::pow(random.unit(), 2) *
                                                         static_cast<double>((longest - 1ms).count()))};
  return fault;
}

// It dies, or stops for longer than the scheduler's patience.
CoreFault draw_server_fault(const Plan& plan, Random& random, std::uint32_t server) {
  CoreFault fault = draw_core_fault(plan, random);
  fault.role = Role::kServer;
  fault.index = server;
  fault.pause = random.chance(0.7) ? 0ns : plan.suspect_after + between(random, 0ns, 2 * plan.suspect_after);
  return fault;
}

void draw_harshness(Plan& plan, Random& random) {
  plan.frame_faults.flip_closes = random.chance(0.7);
  plan.spares_core = random.chance(0.6);
  if (random.chance(0.5)) {
    plan.clock_begin_max = random.chance(0.5) ? Duration(10h) : Duration(24h * 3650);
    plan.clock_rate_off = kClockRateOffMax * random.unit();
    // Patience is one clock's, and the words that it waits for come by another's.
    plan.suspect_after += plan.suspect_after / 3;
  }
  if (!plan.spares_core) plan.timeout = between(random, 2 * plan.suspect_after, 30s);
  const std::uint64_t faults = random.below(3);
  for (std::uint64_t i = 0; i < faults; ++i) {
    const CoreFault fault = draw_core_fault(plan, random);
    if (fault.pause > Duration{} || !plan.spares_core) plan.core_faults.push_back(fault);
  }
}

// Of a worker's shards one computes at a time, and others wait for the last of them.
void draw_computing(Plan& plan, Random random) {
  if (!random.chance(0.3)) return;
  const auto turns = static_cast<std::int64_t>(plan.shards * (2 * plan.tables.size() + 3));
  const Duration longest = plan.timeout / (2 * turns);
  plan.compute_max = random.chance(0.5) ? between(random, 10us, std::min<Duration>(5ms, longest)) : longest;
}

// What a node with the slowest clock takes for `duration`.
Duration by_slow_clock(const Plan& plan, Duration duration) {
  return scaled(duration, 1 / (1 - plan.clock_rate_off));
}

// All steps one after the other, by the slowest worker, without any fault.
Duration time_of_work(const Plan& plan) {
  Duration turn = 1ms;  // Of replacements, at most.
  for (const Duration of_worker : plan.worker_turn) turn = std::max(turn, of_worker);
  const auto steps = static_cast<std::int64_t>(steps_of(plan) + 2 * plan.shards * plan.epochs());
  // Half of them may be sent again, where answers take longer than that; and each step takes turns of its
  // own.
  const auto frames = static_cast<std::int64_t>(frames_of_step(plan) * 3 / 2 + 4);
  Duration step = (turn + plan.server_turn) * frames + 4 * plan.latency;
  // It waits for each pull and for room in the window, and ends or meets the others.
  const auto waits = static_cast<std::int64_t>(2 * plan.tables.size() + 3);
  step += plan.compute_max * waits;
  const bool combines = plan.combine.kind != Combining::Kind::kNone;
  return (combines ? step + limits::kCombineHold : step) * steps;
}

}  // namespace

std::uint32_t pushes_an_update(const Plan& plan) {
  return plan.consistency.counts_pushes() ? std::max(plan.shards / plan.consistency.bound, 1u) : 0;
}

Duration scaled(Duration duration, double factor) {
  return Duration{static_cast<std::int64_t>(static_cast<double>(duration.count()) * factor)};
}

Duration recovery_time(const Plan& plan) {
  const Duration missed = plan.suspect_after + 2 * limits::kHeartbeatEvery;
  const Duration sent_again = std::min<Duration>(limits::kRetryMax, plan.timeout / 4);
  return by_slow_clock(plan, missed + sent_again) + time_of_work(plan);
}

Duration time_allowed(const Plan& plan) {
  constexpr Duration kFarewell = 2 * limits::kPeerGrace + 2 * limits::kHeartbeatEvery;
  const NodeFaults& faults = plan.node_faults;
  Duration all = faults.until + recovery_time(plan) + by_slow_clock(plan, kFarewell);
  for (const CoreFault& fault : plan.core_faults) {
    if (plan.copies()) all += by_slow_clock(plan, 2 * plan.suspect_after) + fault.pause;
  }
  all += plan.moves * (20 * plan.move_takes + limits::kRetryFirst);
  // Who is gone meanwhile is missed anew.
  all +=
      plan.restarts * (plan.restart_takes + by_slow_clock(plan, 2 * plan.suspect_after + limits::kRetryMax));
  if (plan.etcd) all += plan.state_faults.until + by_slow_clock(plan, limits::kRetryMax);
  if (plan.standby) all += (plan.restarts + 1) * (plan.lease + by_slow_clock(plan, 2 * plan.suspect_after));
  if (plan.state_faults.back_after > 0)
    all += 2 * plan.restart_takes + by_slow_clock(plan, 2 * plan.suspect_after);
  // Those who come in the place of others may come so late.
  if (faults.crash || faults.disconnect) all += 2 * plan.suspect_after;
  // The scheduler may be gone without a word, or wait for somebody who never joins; whoever was taken for
  // lost may wait for another scheduler in vain.
  return plan.spares_core && plan.restarts == 0
             ? all
             : all + by_slow_clock(plan, plan.timeout + 2 * limits::kHeartbeatEvery);
}

Plan draw_mild_plan(std::uint64_t seed) {
  Random random = Random(seed).split(0);
  Plan plan;
  plan.seed = seed;
  plan.servers = count(random, 1, 4);
  plan.workers = count(random, 1, 6);
  plan.shards = count(random, 1, 8);
  plan.keys = count(random, 1, random.chance(0.5) ? 6 : 40);
  plan.skew = random.chance(0.5) ? 0 : 3 * random.unit();
  switch (random.below(5)) {
    case 0:
    case 1:
      plan.consistency = Consistency::sync();
      break;
    case 2:
    case 3:
      plan.consistency = Consistency::bounded(count(random, 0, 3));
      break;
    default:
      plan.consistency = Consistency::async();
  }
  draw_tables(plan, random);
  draw_steps(plan, random);
  plan.pull_chance = random.chance(0.5) ? 1 : 0.2 + 0.8 * random.unit();
  plan.push_chance = random.chance(0.5) ? 1 : 0.3 + 0.7 * random.unit();
  plan.unanswered_max = random.chance(0.3) ? 0 : count(random, 1, 40);
  plan.barriers = random.chance(0.8);
  plan.end_work = random.chance(0.4);
  plan.latency = between(random, 20us, 2ms);
  plan.jitter = random.chance(0.3) ? 0ns : between(random, 10us, 10ms);
  for (std::uint32_t w = 0; w < plan.workers; ++w) {
    plan.worker_turn.push_back(random.chance(0.5)   ? 0ns
                               : random.chance(0.7) ? between(random, 1us, 200us)
                                                    : between(random, 200us, 10ms));
  }
  plan.server_turn = random.chance(0.5) ? 0ns : between(random, 1us, 20us);
  plan.timeout = 120s;
  plan.suspect_after = between(random, 2500ms, 5s);
  draw_faults(plan, random);
  Random stop = Random(seed).split(3);
  if (stop.chance(0.15)) plan.stop_at = between(stop, 1ms, stop.chance(0.5) ? 50ms : 5s);
  Random length = Random(seed).split(5);
  if (length.chance(0.04)) draw_long_pass(plan, length);
  Random combine = Random(seed).split(4);
  if (plan.consistency.kind == Consistency::Kind::kSync && combine.chance(0.6)) {
    plan.combine = combine.chance(0.6) ? Combining::machine() : Combining::tree(count(combine, 1, 3));
    plan.machines = count(combine, 1, 3);
  }
  return plan;
}

Plan draw_plan(std::uint64_t seed) {
  Plan plan = draw_mild_plan(seed);
  Random random = Random(seed).split(6);
  draw_harshness(plan, random);
  Random starter = Random(seed).split(9);
  if (starter.chance(0.5)) plan.node_faults.told = starter.unit();
  draw_computing(plan, Random(seed).split(11));
  Random soft = Random(seed).split(12);
  if (plan.consistency.kind == Consistency::Kind::kAsync && soft.chance(0.6))
    plan.consistency = soft.chance(0.5) ? Consistency::softsync(count(soft, 1, plan.shards))
                                        : Consistency::backup(count(soft, 0, plan.shards - 1));
  if (plan.consistency.kind == Consistency::Kind::kBackup && soft.chance(0.4))
    plan.consistency = max_wait(between(soft, 1ms, 60ms));
  plan.loads = Random(seed).split(13).chance(0.3);
  Random combine = Random(seed).split(14);
  if (plan.consistency.kind == Consistency::Kind::kSoftsync && combine.chance(0.7)) {
    plan.combine = combine.chance(0.4) ? Combining::machine() : Combining::tree(count(combine, 1, 3));
    plan.machines = count(combine, 1, 3);
  }
  if (plan.consistency.kind == Consistency::Kind::kSoftsync && combine.chance(0.4))
    plan.consistency = Consistency::free_softsync(plan.consistency.bound);
  const bool free = plan.consistency.kind == Consistency::Kind::kFreeSoftsync;
  if (free && plan.combine.is_tree() && combine.chance(0.6))
    plan.combine = Combining::tree_both_ways(plan.combine.arity);
  return plan;
}

Plan draw_moving_plan(std::uint64_t seed) {
  Plan plan = draw_plan(seed);
  Random random = Random(seed).split(9);
  if (plan.servers == 1) plan.servers = count(random, 2, 4);
  plan.moves = count(random, 1, 12);
  plan.move_every = random.chance(0.5) ? between(random, 1ms, 20ms) : between(random, 20ms, 300ms);
  plan.move_takes = random.chance(0.5) ? between(random, 50us, 1ms) : between(random, 1ms, 50ms);
  return plan;
}

Plan draw_copied_plan(std::uint64_t seed) {
  Plan plan = draw_plan(seed);
  Random random = Random(seed).split(15);
  if (!keeps_copies(plan.consistency)) {
    plan.consistency = random.chance(0.5) ? Consistency::async() : Consistency::bounded(count(random, 0, 3));
    plan.combine = Combining::none();
  }
  if (plan.servers == 1) plan.servers = count(random, 2, 4);
  plan.replicas = count(random, 2, std::min(plan.servers, 3u));
  std::erase_if(plan.core_faults, [](const CoreFault& fault) { return fault.role == Role::kServer; });
  const std::uint32_t first = count(random, 0, plan.servers - 1);
  const std::uint32_t faults = random.chance(0.1) ? 0 : count(random, 1, plan.replicas - 1);
  for (std::uint32_t i = 0; i < faults; ++i)
    plan.core_faults.push_back(draw_server_fault(plan, random, (first + i) % plan.servers));
  Random later = Random(seed).split(16);
  if (later.chance(0.6)) {
    plan.servers = count(later, std::max(plan.servers, plan.replicas + 1), 5);
    const std::uint32_t more = count(later, 1, plan.servers - 1 - faults);
    for (std::uint32_t i = 0; i < more; ++i)
      plan.core_faults.push_back(draw_server_fault(plan, later, (first + faults + i) % plan.servers));
  }
  std::ranges::sort(plan.core_faults, {}, &CoreFault::event);
  return plan;
}

Plan draw_looking_plan(std::uint64_t seed) {
  Plan plan = draw_copied_plan(seed);
  plan.barriers = plan.looks = true;
  return plan;
}

// Where nobody has copies, deaths of servers wait until others have got all that these had.
Plan draw_drained_plan(std::uint64_t seed) {
  Plan plan = draw_copied_plan(seed);
  Random random = Random(seed).split(17);
  if (random.chance(0.4)) plan.replicas = 1;
  if (random.chance(0.8)) plan.servers = std::max(plan.servers, plan.replicas + count(random, 1, 2));
  plan.drains = count(random, 1, 4);
  plan.drain_every = random.chance(0.5) ? between(random, 1ms, 20ms) : between(random, 20ms, 300ms);
  return plan;
}

Plan draw_joined_plan(std::uint64_t seed) {
  Plan plan = draw_drained_plan(seed);
  Random random = Random(seed).split(19);
  if (random.chance(0.6)) plan.drains = 0;
  if (plan.drains == 0 && random.chance(0.3)) {
    plan.core_faults.clear();
    plan.replicas = plan.servers = random.chance(0.5) ? 1 : 2;
  }
  plan.joins = count(random, 1, 3);
  plan.join_every = random.chance(0.5) ? between(random, 1ms, 20ms) : between(random, 20ms, 300ms);
  plan.late_deaths = random.chance(0.5) ? 0 : random.unit();
  return plan;
}

// All that may still end the job is left out: it ends well.
Plan draw_restarted_plan(std::uint64_t seed) {
  Random random = Random(seed).split(21);
  Plan plan = random.chance(0.4)   ? draw_plan(seed)
              : random.chance(0.5) ? draw_copied_plan(seed)
                                   : draw_joined_plan(seed);
  plan.spares_core = true;
  plan.timeout = 120s;
  std::erase_if(plan.core_faults,
                [&](const CoreFault& fault) { return fault.role != Role::kServer || !plan.copies(); });
  plan.restarts = count(random, 1, 4);
  plan.restart_every = random.chance(0.5) ? between(random, 5ms, 50ms) : between(random, 50ms, 1s);
  plan.restart_takes = random.chance(0.5) ? between(random, 1ms, 50ms) : between(random, 50ms, 3s);
  return plan;
}

namespace {

// Whoever was told something lives then, and can say so.
void draw_going_back(Plan& plan, Random& random) {
  StateFaults& faults = plan.state_faults;
  faults.back_after = count(random, 2, random.chance(0.5) ? 4 : 20);
  faults.back_by = count(random, 1, std::min(faults.back_after - 1, 6u));
  plan.standby = false;
  plan.drains = plan.joins = 0;
  plan.core_faults.clear();
  plan.node_faults = {.every = plan.node_faults.every, .until = plan.node_faults.until};
}

void draw_leases(Plan& plan, Random random) {
  StateFaults& faults = plan.state_faults;
  plan.lease = between(random, 500ms, 3s);
  if (random.chance(0.5)) faults.lease_early = 0.5 * random.unit();
  if (random.chance(0.5)) faults.lease_late = 0.8 * random.unit();
  if (random.chance(0.5)) {
    faults.cut_every = between(random, 50ms, 4s);
    faults.cut_max = between(random, 1s, 20s);
    faults.until = std::max(faults.until, between(random, 5s, 20s));
  }
}

}  // namespace

Plan draw_etcd_plan(std::uint64_t seed) {
  Plan plan = draw_restarted_plan(seed);
  Random random = Random(seed).split(24);
  plan.etcd = true;
  StateFaults& faults = plan.state_faults;
  for (double* kind : {&faults.unheard, &faults.unanswered, &faults.late})
    *kind = random.chance(0.6) ? 0.5 * random.unit() : 0;
  faults.late_max = random.chance(0.5) ? between(random, 1ms, 100ms) : between(random, 100ms, 5s);
  if (random.chance(0.5)) faults.slow = between(random, 5ms, 300ms);
  if (random.chance(0.5)) {
    faults.away_every = between(random, 50ms, 2s);
    faults.away_max = between(random, 50ms, 3s);
  }
  faults.until = between(random, 500ms, 10s);
  Random later = Random(seed).split(27);
  if (later.chance(0.5)) faults.forget_every = between(later, 10ms, 2s);
  plan.standby = later.chance(0.5);
  if (later.chance(0.3)) draw_going_back(plan, later);
  if (plan.standby) draw_leases(plan, Random(seed).split(28));
  return plan;
}

Plan draw_taken_up_plan(std::uint64_t seed) {
  return Random(seed).split(26).chance(0.5) ? draw_etcd_plan(seed) : draw_restarted_plan(seed);
}

Plan fault_free(const Plan& plan) {
  Plan calm = plan;
  calm.restarts = 0;
  calm.etcd = calm.standby = false;
  calm.replicas = 1;
  calm.drains = calm.joins = 0;
  calm.servers = calm.workers = calm.machines = 1;
  calm.combine = Combining::none();
  calm.worker_turn = {0ns};
  calm.jitter = calm.server_turn = calm.compute_min = calm.compute_max = 0ns;
  calm.frame_faults = {};
  calm.node_faults = {};
  calm.stop_at = {};
  calm.spares_core = true;
  calm.core_faults.clear();
  calm.clock_begin_max = {};
  calm.clock_rate_off = 0;
  calm.moves = 0;
  return calm;
}

}  // namespace thalweg::sim
