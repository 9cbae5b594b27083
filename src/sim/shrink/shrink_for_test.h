// Plans that are made smaller although nothing is wrong with them.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "base/random.h"
#include "sim/shrink/shrink.h"

namespace thalweg::sim {

// A search in which smaller plans would do takes what it can, of an even seed all and of an odd one half;
// each on the way must hold.
template <class P, class Run>
Shrunk shrink_what_holds(const P& plan, const Run& run, std::uint64_t tries_max) {
  RunReport failed;
  failed.violation = "[ends] made up";
  std::uint64_t tried = 0;
  Random random = Random(plan.seed).split(7);
  const auto run_and_fail = [&](const P& smaller) -> RunReport {
    const auto report = run(smaller);
    EXPECT_TRUE(report.ok()) << "seed " << plan.seed << ": " << report.violation << "\n" << report.plan;
    return plan.seed % 2 == 0 || random.chance(0.5) ? failed : RunReport();
  };
  return shrink(plan, failed, run_and_fail,
                [&] { return ++tried <= tries_max && !testing::Test::HasFailure(); });
}

// What is left of an even seed's plan once nothing more can be left out.
template <class P, class Run>
std::optional<P> least_that_holds(const P& plan, const Run& run, std::uint64_t tries_max) {
  const Shrunk shrunk = shrink_what_holds(plan, run, tries_max);
  if (!shrunk.whole || plan.seed % 2 != 0) return std::nullopt;
  P least = plan;
  EXPECT_TRUE(reduce(least, shrunk.reductions).ok());
  return least;
}

}  // namespace thalweg::sim
