// How far the planner is from the best of all plans, by simulation, and how long it takes to choose.
//   plan_search [--topology NAME[;NAME...]] [--op NAME[,NAME...]] [--ranks N[,N...]] [--bytes B[,B...]]
//               [--messages M] [--every K [--from I]] [--all] [--plan-only] [--plan-runs R]
// One line a point that is more than 5 % off, all of them with --all, and a summary. --plan-only searches
// nothing: one line a point that takes more than 50 ms of processor time to plan. That is of the thread that
// plans, and of R plans of the point, the quickest: what else the machine does takes caches and turns from
// it. --every K draws one point in K, others for each I below K.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "exchange/plan/every_plan_for_test.h"
#include "exchange/plan/planner.h"
#include "topology/presets.h"

namespace thalweg {
namespace {

constexpr double kGoal = 1.05, kPlanGoalSeconds = 0.05;

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (const char each : text) {
    if (each == at) {
      parts.emplace_back();
    } else {
      parts.back() += each;
    }
  }
  return parts;
}

struct Grid {
  std::string topologies =
      "pcie-box;dgx1v;rack-1g;rack-10g;rack-25g;rack-100g;fat-tree;two-sites;uniform:2,1GB/s,10us";
  std::string operations = "all-reduce,reduce,reduce-scatter,all-gather,broadcast";
  std::string ranks = "2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,64,256,1000";
  std::string bytes =
      "64,1000,4000,16000,64000,256000,1000000,4000000,16000000,64000000,256000000,1000000000";
  SearchLimits limits;
  std::uint64_t every = 1, from = 0;
  int plan_runs = 1;
  bool all = false, plan_only = false;
};

struct Summary {
  int points = 0, off = 0, slow = 0;
  double worst = 1, slowest_plan = 0;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string plan_text(const Layout& layout) {
  return fmt::format("{} piece {} channels {}", layout.route,
                     layout.plan.piece_elements * Demand::kElementBytes, layout.plan.channels);
}

bool run_point(const Topology& room, const Demand& demand, const Grid& grid, Summary& summary) {
  double begin = processor_seconds();
  const auto chosen = choose_route(room, demand);
  double planning = processor_seconds() - begin;
  for (int run = 1; run < grid.plan_runs; ++run) {
    begin = processor_seconds();
    (void)choose_route(room, demand);
    planning = std::min(planning, processor_seconds() - begin);
  }
  if (!chosen.ok()) {
    fmt::print(stderr, "{}\n", chosen.status().message());
    return false;
  }
  summary.slow += planning > kPlanGoalSeconds ? 1 : 0;
  summary.slowest_plan = std::max(summary.slowest_plan, planning);
  if (grid.plan_only) {
    ++summary.points;
    if (planning > kPlanGoalSeconds || grid.all) {
      fmt::print("{:<22}{:<15}{:>5}{:>11}  {:<46} {:>9.1f} ms\n", room.name(),
                 operation_name(demand.operation), demand.ranks, demand.bytes, plan_text(*chosen),
                 1e3 * planning);
      std::fflush(stdout);
    }
    return true;
  }
  const auto result = simulate_exchange(room, demand, *chosen);
  const auto best = best_plan(room, demand, grid.limits);
  if (!result.ok() || !best.ok()) return false;
  if (best->simulated == 0) {
    fmt::print(stderr, "{} {}: every plan has more messages than --messages allows\n", room.name(),
               demand.bytes);
    return false;
  }
  const double ratio = result->seconds / best->seconds;
  ++summary.points;
  summary.off += ratio > kGoal ? 1 : 0;
  summary.worst = std::max(summary.worst, ratio);
  if (ratio <= kGoal && !grid.all) return true;
  fmt::print(
      "{:<22}{:<15}{:>5}{:>11}  x{:<6.3f} {:>10.2f} us {:<46} {:>10.2f} us {:<46} {:>7.1f} ms  {} of {}\n",
      room.name(), operation_name(demand.operation), demand.ranks, demand.bytes, ratio, 1e6 * result->seconds,
      plan_text(*chosen), 1e6 * best->seconds, plan_text(best->layout), 1e3 * planning, best->simulated,
      best->simulated + best->left_out);
  std::fflush(stdout);
  return true;
}

int run(const Grid& grid) {
  std::map<std::string, Summary> by_operation;
  std::uint64_t point = 0;
  for (const std::string& name : split(grid.topologies, ';')) {
    for (const std::string& ranks : split(grid.ranks, ',')) {
      const auto room = preset(name, static_cast<std::uint32_t>(std::stoul(ranks)));
      if (!room.ok()) continue;  // It has no such number of ranks.
      for (const std::string& operation : split(grid.operations, ',')) {
        for (const std::string& bytes : split(grid.bytes, ',')) {
          const auto parsed = parse_operation(operation);
          if (!parsed.ok()) {
            fmt::print(stderr, "{}\n", parsed.status().message());
            return 2;
          }
          const Demand demand{.operation = *parsed, .bytes = std::stoull(bytes), .ranks = room->rank_count()};
          if (splitmix(point++) % grid.every != grid.from) continue;
          if (!run_point(*room, demand, grid, by_operation[operation])) return 1;
        }
      }
    }
  }
  for (const auto& [operation, summary] : by_operation) {
    fmt::print(
        "{}: {} of {} points more than 5 % off, worst x{:.2f}; slowest plan {:.1f} ms, {} above 50 ms\n",
        operation, summary.off, summary.points, summary.worst, 1e3 * summary.slowest_plan, summary.slow);
  }
  return 0;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  thalweg::Grid grid;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--all") {
      grid.all = true;
      continue;
    }
    if (name == "--plan-only") {
      grid.plan_only = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (value && name == "--topology")
      grid.topologies = value;
    else if (value && name == "--op")
      grid.operations = value;
    else if (value && name == "--ranks")
      grid.ranks = value;
    else if (value && name == "--bytes")
      grid.bytes = value;
    else if (value && name == "--messages")
      grid.limits.messages = std::stod(value);
    else if (value && name == "--every")
      grid.every = std::max<std::uint64_t>(1, std::stoull(value));
    else if (value && name == "--plan-runs")
      grid.plan_runs = std::stoi(value);
    else if (value && name == "--from")
      grid.from = std::stoull(value);
    else {
      fmt::print(stderr, "see the beginning of bench/plan_search.cc\n");
      return 2;
    }
  }
  return thalweg::run(grid);
}
