#include "table/init_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace thalweg {
namespace {

std::vector<float> row(InitSpec::Kind kind, float scale, std::uint64_t seed, Key key, std::size_t dim) {
  std::vector<float> values(dim, 9.0f);
  fill_initial({kind, scale, seed}, key, values);
  return values;
}

TEST(InitValue, IsAFunctionOfKeyColumnAndSeed) {
  for (const auto kind : {InitSpec::Kind::kUniform, InitSpec::Kind::kNormal}) {
    const auto values = row(kind, 1.0f, 5, 7, 8);
    EXPECT_EQ(values, row(kind, 1.0f, 5, 7, 8));
    EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 3), row(kind, 1.0f, 5, 7, 3));
    EXPECT_NE(values, row(kind, 1.0f, 6, 7, 8));
    EXPECT_NE(values, row(kind, 1.0f, 5, 8, 8));
    EXPECT_NE(values[0], values[1]);
  }
  EXPECT_EQ(row(InitSpec::Kind::kZero, 1.0f, 5, 7, 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(row(InitSpec::Kind::kConstant, 1.5f, 5, 7, 2), (std::vector<float>{1.5f, 1.5f}));
}

TEST(InitValue, HasTheNamedDistribution) {
  for (const auto kind : {InitSpec::Kind::kUniform, InitSpec::Kind::kNormal}) {
    const bool uniform = kind == InitSpec::Kind::kUniform;
    double sum = 0, squares = 0, within = 0;
    constexpr int kKeys = 20000, kDim = 4;
    for (Key key = 0; key < kKeys; ++key) {
      for (const float v : row(kind, 2.0f, 3, key, kDim)) {
        ASSERT_TRUE(!uniform || (v >= -2.0f && v < 2.0f));
        sum += v, squares += v * v, within += std::fabs(v) < 2.0f;
      }
    }
    const double n = kKeys * kDim;
    EXPECT_NEAR(sum / n, 0.0, 0.03);
    EXPECT_NEAR(squares / n, uniform ? 4.0 / 3.0 : 4.0, 0.06);
    EXPECT_NEAR(within / n, uniform ? 1.0 : 0.6827, 0.01);
  }
}

TEST(InitValue, KeepsItsBits) {
  // Models that were trained by an earlier version rely on these.
  EXPECT_EQ(row(InitSpec::Kind::kUniform, 1.0f, 1, 1, 1)[0], 0x1.47d5e0p-2f);
  EXPECT_EQ(row(InitSpec::Kind::kNormal, 1.0f, 1, 1, 1)[0], -0x1.4e18000000000p-1f);
}

}  // namespace
}  // namespace thalweg
