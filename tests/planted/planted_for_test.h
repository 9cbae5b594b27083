// A bug that is planted, and how it must be found.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>

#include "base/planted.h"
#include "sim/findings.h"
#include "sim/shrink/shrink.h"

namespace thalweg::sim {

inline constexpr std::uint64_t kSeedsMax = 1000;

struct Planted {
  Bug bug;
  const char* name;
  Checker finder;
  Checker or_by = finder;  // Where what it breaks may come out in two ways.
};

class PlantedBug : public testing::TestWithParam<Planted> {
 protected:
  void TearDown() override { planted = Bug::kNone; }

  // `run_seed` finds the bug that is planted by some seed, and nothing by the same seed without it.
  template <class RunSeed>
  void expect_found(const RunSeed& run_seed) {
    for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
      planted = GetParam().bug;
      const auto report = run_seed(seed);
      planted = Bug::kNone;
      if (report.ok()) continue;
      std::cout << "seed " << seed << ": " << report.violation << "\n";
      RecordProperty("seed", std::to_string(seed));
      EXPECT_TRUE(found_by(GetParam().finder, report.violation) ||
                  found_by(GetParam().or_by, report.violation))
          << "seed " << seed << ": expected " << checker_name(GetParam().finder) << ", found "
          << report.violation;
      const auto clean = run_seed(seed);
      EXPECT_TRUE(clean.ok()) << "seed " << seed << " without the bug: " << clean.violation;
      return;
    }
    FAIL() << kSeedsMax << " seeds did not find it";
  }
};

// Finds the bug by some seed, and makes that seed's plan so much smaller that its run has at most `most` of
// the events, without losing what the bug `needs`. Seeds are tried from `seed` on.
template <class Draw, class Run>
void expect_shrinks(Bug bug, const Draw& draw, const Run& run, double most, std::string_view needs = "",
                    std::uint64_t seed = 1) {
  planted = bug;
  RunReport failed = run(draw(seed), nullptr);
  while (failed.ok() && seed < kSeedsMax) failed = run(draw(++seed), nullptr);
  const Shrunk shrunk = shrink(
      draw(seed), failed, [&](const auto& tried) -> RunReport { return run(tried, nullptr); },
      [] { return true; });
  const auto parsed = parse_reductions(to_text(shrunk.reductions));
  ASSERT_TRUE(parsed) << parsed.status().message();
  auto small = draw(seed);
  EXPECT_EQ(reduce(small, *parsed).message(), "");
  const RunReport again = run(small, nullptr);
  planted = Bug::kNone;
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(shrunk.whole);
  EXPECT_FALSE(shrunk.reductions.empty());
  EXPECT_EQ(again.violation, shrunk.report.violation) << "it is had again by what is printed";
  EXPECT_EQ(again.violation.substr(0, again.violation.find(']')),
            failed.violation.substr(0, failed.violation.find(']')));
  EXPECT_LE(static_cast<double>(again.events), most * static_cast<double>(failed.events));
  EXPECT_FALSE(shrunk.reductions.contains(std::string(needs)));
  EXPECT_TRUE(run(small, nullptr).ok()) << "the bug it is";
  std::cout << "seed " << seed << ", " << failed.events << " events: " << failed.violation << "\n  "
            << failed.plan << "\nafter " << shrunk.tries << " tries " << again.events
            << " events: " << again.violation << "\n  " << again.plan << "\n  --reduced "
            << to_text(shrunk.reductions) << "\n";
}

}  // namespace thalweg::sim
