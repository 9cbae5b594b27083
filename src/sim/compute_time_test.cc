#include "sim/compute_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace thalweg::sim {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};

Moments measured(std::string_view text) {
  const auto time = ComputeTime::parse(text);
  EXPECT_TRUE(time) << text;
  if (!time) return {};
  constexpr int kDraws = 100'000;
  Random random(5);
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double seconds = static_cast<double>(time->draw(random).count()) * 1e-9;
    sum += seconds, squares += seconds * seconds;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(std::max(0.0, squares / kDraws - mean * mean))};
}

TEST(ComputeTime, DrawsWhatItSays) {
  const Moments constant = measured("30ms"), normal = measured("normal(1s, 5%)"),
                timed = measured("normal(1s,50ms)"), lognormal = measured("lognormal(30ms,0.3)");
  EXPECT_NEAR(constant.mean, 0.030, 1e-9);
  EXPECT_LT(constant.deviation, 1e-6);
  EXPECT_NEAR(normal.mean, 1, 0.002);
  EXPECT_NEAR(normal.deviation, 0.05, 0.001);
  EXPECT_NEAR(timed.deviation, 0.05, 0.001);
  EXPECT_NEAR(lognormal.mean, 0.030, 0.0003);
  EXPECT_NEAR(lognormal.deviation, 0.030 * std::sqrt(std::exp(0.09) - 1), 0.0003);
}

TEST(ComputeTime, RefusesWhatItCannotRead) {
  for (const char* text :
       {"", "30", "ms", "-1s", "normal(1s)", "normal(1s,)", "normal(1s,5%", "30ms,1", "gamma(1s,1)",
        "lognormal(30ms,5ms)", "lognormal(30ms,100)", "100000s", "30ms)", "nans"}) {
    const auto time = ComputeTime::parse(text);
    EXPECT_FALSE(time) << text;
    EXPECT_EQ(time.status().code(), Code::kUsage) << text;
  }
}

TEST(Stragglers, AreTheFirstOfEachSoMany) {
  const auto some = Stragglers::parse("1 of 4, x4");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->times_of(0), 4);
  EXPECT_EQ(some->times_of(3), 1);
  EXPECT_EQ(some->times_of(4), 4);
  for (const char* text : {"", "1", "1 of", "1 of 4", "1 of 4 x4", "5 of 4, x2", "1 of 0, x2", "0.5 of 2, x2",
                           "1 of 4, x", "1 of 4, x0"})
    EXPECT_FALSE(Stragglers::parse(text)) << text;
}

}  // namespace
}  // namespace thalweg::sim
