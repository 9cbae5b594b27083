#include "sim/cluster/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash/hash.h"
#include "base/mix.h"
#include "sim/change/drains.h"
#include "sim/change/joins.h"
#include "sim/change/moves.h"
#include "sim/change/restarts.h"
#include "sim/change/restarts_parts.h"
#include "sim/change/scheduler_restarts.h"
#include "sim/cluster/verdict.h"
#include "sim/faults.h"
#include "sim/shrink/cluster_parts.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kEventsMax = 5'000'000;

bool dense(const Plan& plan, TableId table) {
  return plan.tables[table.value].kind == TableSpec::Kind::kDense;
}

// What the observer saved is what the servers held.
std::string compare_with_saved(const Cluster& cluster) {
  const auto& saved = cluster.work().saved();
  for (std::uint16_t t = 0; t < cluster.workload().plan().tables.size(); ++t) {
    const Contents held = cluster.contents(TableId{t});
    if (t >= saved.size()) return violation(Checker::kSaved, "the job ended well and nothing is saved");
    if (saved[t].keys == held.keys && saved[t].rows == held.rows) continue;
    return violation(Checker::kSaved, fmt::format("of table {} {} rows are saved, {} are held; some differ",
                                                  t, saved[t].keys.size(), held.keys.size()));
  }
  return {};
}

}  // namespace

std::string run_to_end(Cluster& cluster, Instant limit) {
  const auto failed = [&cluster] {  // Though it was to end well.
    const auto& stopped = cluster.scheduler().stopped();
    return cluster.workload().plan().spares_core && !cluster.went_back() && stopped && !stopped->ok();
  };
  while (!cluster.over() && !failed() && cluster.step()) {
    if (cluster.now() > limit || cluster.events() > kEventsMax) {
      return violation(Checker::kProgress,
                       fmt::format("no end in sight at {:.1f} s after {} events",
                                   static_cast<double>(cluster.now().ns) * 1e-9, cluster.events()));
    }
  }
  if (!cluster.findings().none()) return cluster.findings().first();
  if (!cluster.over() && !failed())
    return violation(Checker::kProgress, "nothing is left to happen, but the job is not over");
  return judge_ends(cluster);
}

// The plan with what the shards did instead of what they were to do.
Plan as_done(const Cluster& cluster) {
  Plan plan = cluster.workload().plan();
  for (std::uint32_t s = 0; s < plan.shards; ++s) {
    for (std::uint32_t e = 0; e < plan.epochs(); ++e) {
      plan.steps[s][e] = cluster.watch().arrivals().steps(ShardId{s}, e);
    }
  }
  return plan;
}

std::string compare_with_oracle(const Cluster& cluster) {
  const Plan plan = as_done(cluster);
  const Workload workload(plan);
  for (std::uint16_t t = 0; t < plan.tables.size(); ++t) {
    const TableId table{t};
    if (!workload.whole(table) || !workload.sums_all()) continue;
    const auto& sums = workload.oracle(table, plan.epochs() - 1);
    const Contents all = cluster.contents(table);
    std::map<Key, std::span<const float>> rows;
    for (std::size_t i = 0; i < all.keys.size(); ++i) {
      const Key key = dense(plan, table) ? all.keys[i] : unplace(all.keys[i]);
      rows[key] = std::span(all.rows).subspan(i * all.width, all.width);
      if (sums.count(key) == 0 &&
          std::any_of(rows[key].begin(), rows[key].end(), [](float v) { return v != 0; }))
        return violation(Checker::kSums, fmt::format("table {} row {} was never pushed to and holds {}", t,
                                                     key, rows[key][0]));
    }
    for (const auto& [key, sum] : sums) {
      const auto row = rows.find(key);
      if (row == rows.end())
        return violation(Checker::kSums, fmt::format("table {} row {} is not there", t, key));
      for (std::size_t c = 0; c < sum.size(); ++c) {
        if (row->second[c] != sum[c]) {
          return violation(Checker::kSums,
                           fmt::format("table {} row {} column {} is {}, the sum of all pushes is {}", t, key,
                                       c, row->second[c], sum[c]));
        }
      }
    }
  }
  return {};
}

std::string compare_with_fault_free(const Cluster& cluster) {
  const Plan calm = fault_free(as_done(cluster));
  Cluster twin(calm);
  if (std::string why = run_to_end(twin, Instant{time_allowed(calm).count()}); !why.empty())
    return why + " (without any fault)";
  for (std::uint16_t t = 0; t < calm.tables.size(); ++t) {
    const Contents mine = cluster.contents(TableId{t}), other = twin.contents(TableId{t});
    if (mine.keys != other.keys)
      return violation(Checker::kBits, fmt::format("table {} has {} rows, without faults {}", t,
                                                   mine.keys.size(), other.keys.size()));
    for (std::size_t i = 0; i < mine.rows.size(); ++i) {
      if (std::memcmp(&mine.rows[i], &other.rows[i], sizeof(float)) != 0) {
        return violation(Checker::kBits,
                         fmt::format("table {} placed row {:#x} float {} is {:a}, without faults {:a}", t,
                                     mine.keys[i / mine.width], i % mine.width, mine.rows[i], other.rows[i]));
      }
    }
  }
  return {};
}

// Each range has as many servers as there can be, or some are about to get it.
std::string check_chains(const Cluster& cluster) {
  constexpr Duration kPatience = 4 * limits::kRetryMax;
  const Scheduler& scheduler = cluster.scheduler();
  const Plan& plan = cluster.workload().plan();
  std::uint32_t servers = 0;  // That are there and have been given something, or ought to have been.
  for (const JobNode& node : scheduler.status(cluster.now()).nodes) {
    const auto places = [&](const Placement& placement) { return placement.places(node.id.index); };
    const bool there = !scheduler.lost(node.id) && !scheduler.has_left(node.id);
    const bool late = node.id.index >= plan.servers;
    if (node.id.role != Role::kServer || !there) continue;
    servers += !late || std::ranges::any_of(scheduler.map().placement, places) ? 1 : 0;
  }
  const std::size_t wanted = std::min(plan.replicas, servers);
  for (std::size_t t = 0; t < plan.tables.size(); ++t) {
    for (const PlacedRun& run : scheduler.map().placement[t].runs()) {
      const std::size_t most = wanted + (plan.drains > 0 ? 1 : 0);  // Of who was to leave, and stays.
      if (run.joining == 0 && (run.chain.size() < wanted || run.chain.size() > most))
        return violation(Checker::kCopies,
                         fmt::format("table {} ranges [{},{}) are at {} servers, not at {}", t,
                                     run.ranges.begin, run.ranges.end, run.chain.size(), wanted));
    }
  }
  const auto since = scheduler.copying_since();
  if (!since) return {};
  const Instant lost = cluster.processes()[0]->clock.world(*since);
  const Instant ended = cluster.processes()[0]->stopped_at.value_or(cluster.now());
  if (ended - std::max(lost, Instant{plan.node_faults.until.count()}) < kPatience) return {};
  return violation(Checker::kProgress, "copies are not made again");
}

std::string compare_copies(const Cluster& cluster) {
  if (std::string wrong = check_chains(cluster); !wrong.empty()) return wrong;
  const wire::Map& map = cluster.scheduler().map();
  std::map<std::uint32_t, const Server*> servers;
  for (const auto& process : cluster.processes()) {
    if (process->server != nullptr) servers[process->id.index] = process->server;
  }
  for (std::uint16_t t = 0; t < map.placement.size(); ++t) {
    for (const PlacedRun& run : map.placement[t].runs()) {
      for (std::uint16_t range = run.ranges.begin; range < run.ranges.end; ++range) {
        if (!servers.contains(run.chain.front())) continue;  // It died as the job ended.
        const TableHost& owner = *servers.at(run.chain.front())->tables()[t];
        if (!owner.owned().contains(RangeId{range})) continue;  // Its map has yet to come.
        const RangeState held = owner.state_of(RangeId{range});
        for (const std::uint32_t server : run.in_sync().subspan(1)) {
          if (!servers.contains(server)) continue;
          TableHost& host = *servers.at(server)->copies()[t];
          host.redo(0);
          const bool has = host.owned().contains(RangeId{range});
          const RangeState copy = has ? host.state_of(RangeId{range}) : RangeState();
          const char* const what = copy.keys != held.keys     ? "keys"
                                   : copy.rows != held.rows   ? "rows"
                                   : copy.marks != held.marks ? "marks"
                                                              : nullptr;
          if (what == nullptr) continue;
          return violation(Checker::kCopies,
                           fmt::format("table {} range {} at server-{} has other {} than at server-{}", t,
                                       range, server, what, run.chain.front()));
        }
      }
    }
  }
  return {};
}

namespace {

// Of all that compare_with_oracle() and compare_with_fault_free() look at.
std::uint64_t hash_outcome(const Cluster& cluster) {
  const Plan& plan = cluster.workload().plan();
  std::uint64_t hash = 1;
  const auto mix = [&hash](const auto& values) {
    hash = splitmix(hash ^ values.size());
    hash = splitmix(hash ^ hash64(values.data(), values.size() * sizeof(values[0])));
  };
  for (std::uint32_t s = 0; s < plan.shards; ++s) {
    for (std::uint32_t e = 0; e < plan.epochs(); ++e)
      hash = splitmix(hash ^ cluster.watch().arrivals().steps(ShardId{s}, e));
  }
  for (std::uint16_t t = 0; t < plan.tables.size(); ++t) {
    const Contents held = cluster.contents(TableId{t});
    mix(held.keys);
    mix(held.rows);
  }
  return hash;
}

// How the job's end is told from what it was to be.
std::string compare_ends(const Cluster& cluster) {
  if (std::string wrong = compare_with_oracle(cluster); !wrong.empty()) return wrong;
  const bool sync = cluster.workload().plan().consistency.kind == Consistency::Kind::kSync;
  return sync ? compare_with_fault_free(cluster) : std::string();
}

Report run_once(const Plan& plan, Trace trace, const RunReport* first) {
  Report report;
  report.seed = plan.seed;
  report.plan = describe(plan);
  report.consistency = plan.consistency;
  if (trace) trace("the plan: " + report.plan);
  Cluster cluster(plan, std::move(trace));
  Faults faults(plan, cluster);
  faults.start();
  Moves moves(plan, cluster);
  moves.start();
  Drains drains(plan, cluster);
  drains.start();
  Joins joins(plan, cluster, faults);
  joins.start();
  SchedulerRestarts restarts(plan, cluster);
  restarts.start();
  report.time_allowed = time_allowed(plan);
  report.violation = run_to_end(cluster, Instant{report.time_allowed.count()});
  report.ended_well = ended_well(cluster);
  const auto& ending = cluster.scheduler().stopped();
  if (!report.ended_well) report.error = ending ? ending->message() : "the scheduler was killed";
  if (cluster.refused()) report.error = "the state has gone back";
  if (report.ok() && report.ended_well) report.violation = compare_with_saved(cluster);
  if (report.ok() && report.ended_well && plan.copies()) report.violation = compare_copies(cluster);
  if (report.ok() && report.ended_well) report.violation = joins.check_shares();
  // How far shards came that were asked to stop is known by what was acknowledged, and copies may have more.
  const bool known = !plan.copies() || !plan.stops();
  if (report.ok() && report.ended_well && known) {
    report.outcome_hash = hash_outcome(cluster);
    if (first == nullptr || first->outcome_hash != report.outcome_hash)
      report.violation = compare_ends(cluster);
  }
  report.trace_hash = cluster.trace_hash();
  report.events = cluster.events();
  report.virtual_time = Duration{cluster.now().ns};
  report.lead_max = cluster.watch().lead_max();
  report.behind_max = cluster.work().behind_max();
  report.network = cluster.network().counts();
  report.moves = moves.counts();
  report.drains = drains.counts();
  report.joins = joins.counts();
  report.restarts = restarts.counts();
  report.state = cluster.state_counts();
  for (const JobNode& node : cluster.scheduler().status(cluster.now()).nodes)
    report.servers_lost += node.id.role == Role::kServer && node.state == NodeState::kLost ? 1 : 0;
  return report;
}

// For run_twice().
struct RunPlan {
  Report operator()(const Plan& plan, Trace trace) const { return run_plan(plan, std::move(trace)); }
  Report again(const Plan& plan, const RunReport& first) const { return run_plan_again(plan, first); }
};

}  // namespace

Report run_plan(const Plan& plan, Trace trace) { return run_once(plan, std::move(trace), nullptr); }

Report run_plan_again(const Plan& plan, const RunReport& first) { return run_once(plan, nullptr, &first); }

Plan plan_of(std::uint64_t seed, Servers servers) {
  switch (servers) {
    case Servers::kTakenUp:
      return draw_taken_up_plan(seed);
    case Servers::kJoined:
      return draw_joined_plan(seed);
    case Servers::kDrained:
      return draw_drained_plan(seed);
    case Servers::kCopied:
      return draw_copied_plan(seed);
    default:
      return draw_plan(seed);
  }
}

Seeds<Report> cluster_seeds(Servers servers) {
  if (servers == Servers::kRestarted) return seeds_of(draw_restarts_plan, run_restarts);
  return seeds_of([servers](std::uint64_t seed) { return plan_of(seed, servers); }, RunPlan());
}

Report run_seed(std::uint64_t seed, Trace trace, Servers servers) {
  if (servers == Servers::kRestarted) return run_restarts(draw_restarts_plan(seed), std::move(trace));
  return run_plan(plan_of(seed, servers), std::move(trace));
}

Report run_seed_twice(std::uint64_t seed, const Trace& trace, Servers servers) {
  if (servers == Servers::kRestarted) return run_twice(run_restarts, draw_restarts_plan(seed), trace);
  return run_twice(RunPlan(), plan_of(seed, servers), trace);
}

}  // namespace thalweg::sim
