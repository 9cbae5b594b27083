// A failing seed's plan made smaller, step by step, for as long as the same checker finds something: delta
// debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 2002), over what
// a plan is made of instead of the bytes of an input.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/report.h"
#include "sim/shrink/parts.h"
#include "thalweg/status.h"

namespace thalweg::sim {

struct Shrunk {
  Reductions reductions;  // That no further one keeps the violation, unless the search was ended before.
  RunReport report;       // Of the plan that is left.
  std::uint64_t tries = 0;
  bool whole = false;  // The search came to its end.
};
inline constexpr std::uint64_t kShrinkTriesMax = 500;

// A plan, of whatever kind.
struct Reducible {
  std::vector<std::string> single;  // What it has of things that are there or not.
  // What is left of its other parts, and how that runs; nothing: such a plan cannot be.
  std::function<std::optional<std::vector<Part>>(const Reductions&)> parts;
  std::function<std::optional<RunReport>(const Reductions&)> run;
};
Shrunk shrink(const Reducible& plan, const RunReport& failed, const std::function<bool()>& may_go_on);

// `failed`: what `run(plan)` is. Tries until nothing more can be left out, kShrinkTriesMax times at most and
// as long as `may_go_on`.
template <class P>
Shrunk shrink(const P& plan, const RunReport& failed,
              const std::type_identity_t<std::function<RunReport(const P&)>>& run,
              const std::function<bool()>& may_go_on) {
  const auto less = [&](const Reductions& reductions) -> std::optional<P> {
    P left = plan;
    if (!reduce(left, reductions).ok()) return std::nullopt;
    return left;
  };
  Reducible reducible;
  reducible.single = single_names(plan);
  reducible.parts = [&](const Reductions& reductions) -> std::optional<std::vector<Part>> {
    const auto left = less(reductions);
    if (!left) return std::nullopt;
    return parts_in(*left, *left);
  };
  reducible.run = [&](const Reductions& reductions) -> std::optional<RunReport> {
    const auto left = less(reductions);
    if (!left) return std::nullopt;
    return run(*left);
  };
  return shrink(reducible, failed, may_go_on);
}

}  // namespace thalweg::sim
