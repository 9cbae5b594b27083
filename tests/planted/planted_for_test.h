// A bug that is planted, and how it must be found.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "base/planted.h"
#include "sim/findings.h"

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

}  // namespace thalweg::sim
