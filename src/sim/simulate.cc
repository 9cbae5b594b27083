#include "sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mix.h"
#include "sim/faults.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kEventsMax = 5'000'000;

bool dense(const Plan& plan, TableId table) {
  return plan.tables[table.value].kind == TableSpec::Kind::kDense;
}

// What may be wrong with how a node ended.
std::string ended_badly(const Cluster& cluster, const Process& process) {
  const std::optional<Status>& how = process.scheduler != nullptr ? process.scheduler->stopped()
                                     : process.server != nullptr  ? process.server->stopped()
                                                                  : process.worker->stopped();
  const std::string name = node_name(process.id);
  if (!how) return name + " does not know that the job is over";
  if (process.worker != nullptr && process.worker->requests_open() > 0)
    return fmt::format("{} has {} requests open at the end", name, process.worker->requests_open());
  if (*how) return {};
  const auto faults_end = Instant{cluster.workload().plan().node_faults.until.count()};
  const bool farewell_lost =
      how->code() == Code::kPeerLost && cluster.now() < faults_end + limits::kPeerGrace * 3;
  const bool replaced =
      process.worker != nullptr && !process.kept &&
      (how->code() == Code::kAborted || how->code() == Code::kRefused || how->code() == Code::kPeerLost);
  if (farewell_lost || replaced) return {};
  return fmt::format("{} ended with {}: {}", name, code_name(how->code()), how->message());
}

std::string end_state(const Cluster& cluster) {
  for (const auto& process : cluster.processes()) {
    if (process->node == nullptr) continue;  // Killed.
    if (std::string bad = ended_badly(cluster, *process); !bad.empty()) return bad;
  }
  return {};
}

}  // namespace

std::string run_to_end(Cluster& cluster, Instant limit) {
  while (!cluster.over() && cluster.step()) {
    const auto& stopped = cluster.scheduler().stopped();
    if (stopped && !*stopped)
      return fmt::format("the job ended with {}: {}", code_name(stopped->code()), stopped->message());
    if (cluster.now() > limit || cluster.events() > kEventsMax) {
      return fmt::format("no end in sight at {:.1f} s after {} events",
                         static_cast<double>(cluster.now().ns) * 1e-9, cluster.events());
    }
  }
  if (!cluster.findings().none()) return cluster.findings().first();
  if (!cluster.over()) return "nothing is left to happen, but the job is not over";
  return end_state(cluster);
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
    if (!workload.whole(table)) continue;
    const auto& sums = workload.oracle(table, plan.epochs() - 1);
    const Cluster::Contents all = cluster.contents(table);
    std::map<Key, std::span<const float>> rows;
    for (std::size_t i = 0; i < all.keys.size(); ++i) {
      const Key key = dense(plan, table) ? all.keys[i] : unplace(all.keys[i]);
      rows[key] = std::span(all.rows).subspan(i * all.width, all.width);
      if (sums.count(key) == 0 &&
          std::any_of(rows[key].begin(), rows[key].end(), [](float v) { return v != 0; }))
        return fmt::format("table {} row {} was never pushed to and holds {}", t, key, rows[key][0]);
    }
    for (const auto& [key, sum] : sums) {
      const auto row = rows.find(key);
      if (row == rows.end()) return fmt::format("table {} row {} is not there", t, key);
      for (std::size_t c = 0; c < sum.size(); ++c) {
        if (row->second[c] != sum[c]) {
          return fmt::format("table {} row {} column {} is {}, the sum of all pushes is {}", t, key, c,
                             row->second[c], sum[c]);
        }
      }
    }
  }
  return {};
}

std::string compare_with_fault_free(const Cluster& cluster) {
  const Plan calm = fault_free(as_done(cluster));
  Cluster twin(calm);
  if (std::string why = run_to_end(twin, Instant{Duration(std::chrono::hours(1)).count()}); !why.empty())
    return "without any fault: " + why;
  for (std::uint16_t t = 0; t < calm.tables.size(); ++t) {
    const Cluster::Contents mine = cluster.contents(TableId{t}), other = twin.contents(TableId{t});
    if (mine.keys != other.keys)
      return fmt::format("table {} has {} rows, without faults {}", t, mine.keys.size(), other.keys.size());
    for (std::size_t i = 0; i < mine.rows.size(); ++i) {
      if (std::memcmp(&mine.rows[i], &other.rows[i], sizeof(float)) != 0) {
        return fmt::format("table {} placed row {:#x} float {} is {:a}, without faults {:a}", t,
                           mine.keys[i / mine.width], i % mine.width, mine.rows[i], other.rows[i]);
      }
    }
  }
  return {};
}

Report run_plan(const Plan& plan, Trace trace) {
  Report report;
  report.seed = plan.seed;
  report.plan = describe(plan);
  report.consistency = plan.consistency;
  if (trace) trace("the plan: " + report.plan);
  Cluster cluster(plan, std::move(trace));
  Faults faults(plan, cluster);
  faults.start();
  const Instant limit = Instant{plan.node_faults.until.count()} + plan.timeout + std::chrono::seconds(60);
  report.violation = run_to_end(cluster, limit);
  if (report.ok()) report.violation = compare_with_oracle(cluster);
  if (report.ok() && plan.consistency.kind == Consistency::Kind::kSync)
    report.violation = compare_with_fault_free(cluster);
  report.trace_hash = cluster.trace_hash();
  report.events = cluster.events();
  report.virtual_time = Duration{cluster.now().ns};
  report.lead_max = cluster.watch().lead_max();
  report.behind_max = cluster.work().behind_max();
  report.network = cluster.network().counts();
  return report;
}

Report run_seed(std::uint64_t seed, Trace trace) { return run_plan(draw_plan(seed), std::move(trace)); }

Report run_seed_twice(std::uint64_t seed, Trace trace) {
  Report first = run_seed(seed, std::move(trace));
  if (!first.ok()) return first;
  const Report second = run_seed(seed);
  if (!second.ok() || second.trace_hash != first.trace_hash) {
    first.violation = fmt::format(
        "a second run took another course: {} events with hash {:016x}, at first {} "
        "with {:016x}{}{}",
        second.events, second.trace_hash, first.events, first.trace_hash, second.ok() ? "" : "; ",
        second.violation);
  }
  return first;
}

}  // namespace thalweg::sim
