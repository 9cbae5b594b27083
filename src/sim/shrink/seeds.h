// Runs of plans of one kind, for those who know no more of a plan than its seed and what is left out of it.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/report.h"
#include "sim/shrink/shrink.h"
#include "thalweg/status.h"

namespace thalweg::sim {

template <class R>
struct Seeds {
  // kUsage: what cannot be left out of that seed's plan.
  std::function<Status(std::uint64_t seed, const Reductions&)> check;
  // Twice, untraced the second time. Precondition: `check` is OK.
  std::function<R(std::uint64_t seed, const Reductions&, const Trace&)> run;
  // As shrink() does, of a seed that has failed.
  std::function<Shrunk(const RunReport& failed, const std::function<bool()>& may_go_on)> shrink;
};

// `draw(seed)` is a plan, and `run(plan, trace)` its report.
template <class Draw, class Run>
auto seeds_of(Draw draw, Run run) {
  using P = decltype(draw(std::uint64_t{}));
  Seeds<decltype(run(draw(std::uint64_t{}), nullptr))> seeds;
  seeds.check = [draw](std::uint64_t seed, const Reductions& reductions) {
    P plan = draw(seed);
    return reduce(plan, reductions);
  };
  seeds.run = [draw, run](std::uint64_t seed, const Reductions& reductions, const Trace& trace) {
    P plan = draw(seed);
    (void)reduce(plan, reductions);
    return run_twice(run, plan, trace);
  };
  seeds.shrink = [draw, run](const RunReport& failed, const std::function<bool()>& may_go_on) {
    return sim::shrink(
        draw(failed.seed), failed, [&](const P& less) { return run_twice(run, less, nullptr); }, may_go_on);
  };
  return seeds;
}

}  // namespace thalweg::sim
