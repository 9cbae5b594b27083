// The same work again and again, the network alone drawn anew each time: how many orders of arrival the
// servers saw, and whether all of them made the same table.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "sim/cluster/simulate.h"

namespace thalweg::sim {

struct Orders {
  std::size_t distinct = 0;  // Orders in which pushes came to the servers, over whole runs.
  std::size_t of_step = 0;   // Orders of the shards' pushes of one step, at one server.
  std::string violation;     // Empty, or the first run that made another table than the first run, and how.
};

namespace orders {

inline constexpr std::uint32_t kShards = 4, kSteps = 4, kKeys = 6, kDim = 2;

inline float gradient(std::uint32_t shard, std::uint32_t step, std::size_t i, bool whole) {
  Random random = Random(step).split(shard).split(i);
  return whole ? static_cast<float>(static_cast<std::int64_t>(random.below(2001)) - 1000)
               : static_cast<float>(random.normal());
}

// Every shard pushes to every key in every step, so that each sum has more than two terms. An heir goes on.
inline Task<Status> push_to_all(ShardStore& store, bool whole) {
  const std::vector<Key> numbers = {0, 1, 2, 3, 4, 5};
  const Keys keys = Keys::of(numbers);
  while (store.step() < Step{0, kSteps}) {
    const Answer read = co_await store.pull(TableId{0}, keys);
    if (!read.status.ok()) co_return read.status;
    std::vector<float> grads(kKeys * kDim);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      grads[i] = gradient(store.shard().value, store.step().index, i, whole);
      if (!whole) grads[i] += 0.5f * read.rows[i];
    }
    store.push(TableId{0}, keys, Rows(std::move(grads))).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  if (store.step().epoch == 0) {
    if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  }
  co_return (co_await store.barrier(kLastBarrier)).status;
}

inline Task<Status> wait_for_all(ShardStore& store) {
  co_return (co_await store.barrier(kLastBarrier)).status;
}

// Collects who came when from the lines of a trace.
struct Arrived {
  std::set<std::string> known;
  std::string order, of_step;

  void look_at(std::string_view line) {
    const auto begin = line.find("-> server-"), end = line.find(" owner ");
    if (begin == line.npos || line.find(" push table 0 shard ") == line.npos) return;
    const std::string push(line.substr(begin, end - begin));
    if (!known.insert(push).second) return;
    order += push;
    if (push.find("server-0 ") != push.npos && push.find(" step 0.1 ") != push.npos) of_step += push;
  }
};

inline Plan plan(Consistency consistency, RuleKind rule, std::uint64_t network_seed) {
  using namespace std::chrono_literals;
  Plan plan;
  plan.seed = network_seed;
  plan.servers = 2;
  plan.workers = 3;
  plan.shards = kShards;
  plan.consistency = consistency;
  TableSpec table;
  table.name = "t";
  table.dim = kDim;
  table.ranges = 4;
  table.rule.kind = rule;
  plan.tables = {table};
  plan.steps.assign(kShards, {kSteps});
  plan.latency = 100us;
  plan.jitter = 5ms;
  plan.worker_turn.assign(plan.workers, Duration{});
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  return plan;
}

// What integers add up to; floats hold every one of these sums exactly.
inline std::string compare_with_integers(const Contents& all) {
  for (std::size_t at = 0; at < all.keys.size(); ++at) {
    for (std::size_t c = 0; c < kDim; ++c) {
      // The rows of a push are in the order of its keys, which is the table's.
      std::int64_t sum = 0;
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        for (std::uint32_t step = 0; step < kSteps; ++step)
          sum += static_cast<std::int64_t>(gradient(shard, step, at * kDim + c, true));
      }
      const float found = all.rows[at * all.width + c];
      if (static_cast<double>(found) != static_cast<double>(sum))
        return fmt::format("row {} column {} is {}, the integers add up to {}", at, c, found, sum);
    }
  }
  return {};
}

// What one thread makes of the same work by SGD, shard after shard: no cluster, no table.
inline std::vector<float> by_one_thread(float rate) {
  static_assert(kShards == 4, "a tree of four");
  std::vector<float> rows(kKeys * kDim);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float of[kShards];
      for (std::uint32_t shard = 0; shard < kShards; ++shard)
        of[shard] = gradient(shard, step, i, false) + 0.5f * rows[i];
      rows[i] -= rate * ((of[0] + of[1]) + (of[2] + of[3]));
    }
  }
  return rows;
}

}  // namespace orders

// Rule kAdd pushes whole numbers and compares with sums of std::int64_t; other rules push floats that depend
// on what was read. SGD in sync mode, where no reader is behind, has the bits of one thread.
inline Orders arrive_in_many_orders(Consistency consistency, RuleKind rule, std::uint64_t trials) {
  const bool whole = rule == RuleKind::kAdd;
  std::set<std::string> seen, seen_of_step;
  std::vector<float> first;
  const bool serial = consistency.kind == Consistency::Kind::kSync && rule == RuleKind::kSgd;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    const Plan plan = orders::plan(consistency, rule, trial);
    orders::Arrived arrived;
    Cluster cluster(plan, [&](std::string_view line) { arrived.look_at(line); },
                    {[&](ShardStore& store, const wire::Map&) { return orders::push_to_all(store, whole); },
                     [](ShardStore& store, const wire::Map&) { return orders::wait_for_all(store); }});
    std::string why = run_to_end(cluster, Instant{Duration(std::chrono::minutes(10)).count()});
    const Contents all = cluster.contents(TableId{0});
    if (trial == 0) first = all.rows;
    if (why.empty() && all.keys.size() != orders::kKeys) why = fmt::format("{} rows", all.keys.size());
    if (why.empty() && whole) why = orders::compare_with_integers(all);
    if (why.empty() && serial && all.rows != orders::by_one_thread(plan.tables[0].rule.rate))
      why = "the rows are others than one thread's";
    if (why.empty() && all.rows != first) why = "the rows are others than the first order's";
    seen.insert(arrived.order);
    seen_of_step.insert(arrived.of_step);
    if (!why.empty()) return {seen.size(), seen_of_step.size(), fmt::format("trial {}: {}", trial, why)};
  }
  return {seen.size(), seen_of_step.size(), {}};
}

}  // namespace thalweg::sim
