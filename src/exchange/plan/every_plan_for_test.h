// Every plan that routes, levels, pieces and channels make for a demand: what the planner's choice is held
// against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "exchange/plan/cost.h"
#include "exchange/plan/hierarchies.h"
#include "exchange/plan/simulate_exchange.h"
#include "exchange/route/route.h"

namespace thalweg {

struct SearchLimits {
  double messages = 3e6;  // Of one plan that is simulated.
  double trust = 4;       // Plans whose formula says more than so many times the best are not simulated.
};

// All ways to write `ranks` as a product of factors above 1, in order: "2x3", "3x2", "6".
inline void add_factorisations(std::uint32_t ranks, const std::string& before, std::vector<std::string>& to) {
  if (!before.empty()) to.push_back(before + std::to_string(ranks));
  for (std::uint32_t factor = 2; factor * 2 <= ranks; ++factor) {
    if (ranks % factor == 0) add_factorisations(ranks / factor, before + std::to_string(factor) + "x", to);
  }
}

// The same with each way of each level, but halving of two, which is as a ring: "2tx3d".
inline void add_hierarchies(std::uint32_t ranks, const std::string& before, std::vector<std::string>& to) {
  const auto ways = [](std::uint32_t size, std::string_view all) {
    return size > 2 ? all : all.substr(0, all.size() - 1);
  };
  for (const char way : ways(ranks, "rtdh")) to.push_back(before + std::to_string(ranks) + way);
  for (std::uint32_t size = 2; size * 2 <= ranks; ++size) {
    if (ranks % size != 0) continue;
    for (const char way : ways(size, "rth"))
      add_hierarchies(ranks / size, before + std::to_string(size) + way + "x", to);
  }
}

// Of more ranks than these, hierarchies of rings, and of all others the fastest by formula.
inline constexpr std::uint32_t kEveryWayRanksMax = 16;
inline constexpr std::size_t kHierarchiesSearched = 100;

inline std::vector<std::string> every_hierarchy(const Topology& topology, const Demand& demand) {
  std::vector<std::string> levels, names;
  if (demand.ranks <= kEveryWayRanksMax) {
    add_hierarchies(demand.ranks, "", levels);
  } else {
    add_factorisations(demand.ranks, "", levels);
    names = fastest_hierarchies(topology, demand, kHierarchiesSearched);
  }
  for (const std::string& level : levels) names.push_back("hierarchical:" + level);
  return names;
}

inline std::vector<std::string> every_route(const Topology& topology, const Demand& demand) {
  std::vector<std::string> names = candidate_routes(topology, demand), more = {"tree:3", "tree:4", "tree:16"};
  for (std::string& each : every_hierarchy(topology, demand)) more.push_back(std::move(each));
  for (const std::string& name : more) {
    if (lay_out(topology, demand, name).ok()) names.push_back(name);
  }
  return names;
}

// One route as it is cut by default, whole, and in all pieces and channels.
inline std::vector<Layout> every_cut(const Topology& topology, const Demand& demand,
                                     const std::string& route) {
  constexpr std::uint64_t kPieceBytesMin = 4 << 10, kPieceBytesMax = 16 << 20;
  constexpr std::uint32_t kChannelsMax = 32;
  std::vector<Layout> made;
  const auto add = [&](const Layout& layout) {
    if (!check_plan(layout.plan, demand.operation, layout.size()).ok()) return;
    const auto same = [&](const Layout& other) {
      return other.plan.piece_elements == layout.plan.piece_elements &&
             other.plan.channels == layout.plan.channels;
    };
    if (std::none_of(made.begin(), made.end(), same)) made.push_back(layout);
  };
  Demand whole = demand;
  whole.pipelined = false;
  Layout layout = lay_out(topology, demand, route).value();
  add(layout);
  layout = lay_out(topology, whole, route).value();
  for (std::uint32_t channels = 1; channels <= kChannelsMax; channels *= 2) {
    if (channels > 1 && demand.bytes / channels < kPieceBytesMin) break;
    layout.plan.channels = channels;
    layout.plan.piece_elements = 0;
    add(layout);
    for (std::uint64_t bytes = kPieceBytesMin; bytes <= kPieceBytesMax && bytes < demand.bytes / channels;
         bytes *= 4) {
      layout.plan.piece_elements = bytes / Demand::kElementBytes;
      add(layout);
    }
  }
  return made;
}

struct BestPlan {
  Layout layout;
  double seconds = std::numeric_limits<double>::infinity();
  std::uint64_t simulated = 0;
  std::uint64_t left_out = 0;
};

// The fastest of all of them by simulation.
inline Result<BestPlan> best_plan(const Topology& topology, const Demand& demand,
                                  const SearchLimits& limits = {}) {
  struct Tried {
    Layout layout;
    double formula;
  };
  std::vector<Tried> all;
  for (const std::string& route : every_route(topology, demand)) {
    for (Layout& layout : every_cut(topology, demand, route)) {
      const double formula = predicted_seconds(topology, demand, layout);
      all.push_back({std::move(layout), formula});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Tried& a, const Tried& b) { return a.formula < b.formula; });
  BestPlan best;
  for (Tried& each : all) {
    const bool hopeless = each.formula > limits.trust * best.seconds;
    if (hopeless || predicted_messages(demand, each.layout) > limits.messages) {
      ++best.left_out;
      continue;
    }
    const auto result = simulate_exchange(topology, demand, each.layout);
    if (!result.ok()) return result.status();
    ++best.simulated;
    if (result->seconds >= best.seconds) continue;
    best.seconds = result->seconds;
    best.layout = std::move(each.layout);
  }
  return best;
}

}  // namespace thalweg
