#include "model/metric/paired_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace thalweg {
namespace {

const Metric& named(std::string_view name) {
  for (const Metric* metric : metrics()) {
    if (metric->name == name) return *metric;
  }
  ADD_FAILURE() << "no metric " << name;
  return *metrics().front();
}

struct TwoModels {
  std::vector<float> first, second, labels;
  void add_to(PairedBootstrap& to) const {
    const std::array<std::span<const float>, 2> scores = {first, second};
    to.add(scores, labels, {});
  }
};

double deviation(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value, squares += value * value;
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

// The mean of n differences is about normal, of their deviation over the root of n.
TEST(PairedBootstrap, OfAMeanIsTheNormalInterval) {
  Random random(3);
  TwoModels rows;
  std::vector<double> differences;
  for (int i = 0; i < 4000; ++i) {
    rows.labels.push_back(static_cast<float>(random.normal()));
    const double common = random.normal();  // So that pairs tell much more than each model by itself.
    rows.first.push_back(rows.labels.back() + static_cast<float>(common + 0.1 * random.normal()));
    rows.second.push_back(rows.labels.back() + static_cast<float>(common));
    differences.push_back(std::abs(rows.second.back() - rows.labels.back()) -
                          std::abs(rows.first.back() - rows.labels.back()));
  }
  PairedBootstrap bootstrap(Loss::kSquared, 2, 1000, 1);
  rows.add_to(bootstrap);
  const auto [low, high] = bootstrap.difference(named("mae"), 1);
  const double half = 1.96 * deviation(differences) / std::sqrt(4000.0);
  EXPECT_NEAR(low, -half, 0.15 * half);
  EXPECT_NEAR(high, half, 0.15 * half);
  EXPECT_EQ(bootstrap.difference(named("mae"), 0).high, 0.0);
  EXPECT_TRUE(std::isnan(bootstrap.difference(kAuc, 1).low));
}

// By rows that are drawn one by one, and exact areas.
TEST(PairedBootstrap, OfAnAucIsThatOfDrawnRows) {
  constexpr std::size_t kRows = 600;
  Random random(4);
  TwoModels rows;
  for (std::size_t i = 0; i < kRows; ++i) {
    rows.labels.push_back(random.chance(0.3) ? 1.0f : 0.0f);
    const double score = random.normal() + static_cast<double>(rows.labels.back());
    rows.first.push_back(static_cast<float>(score));
    rows.second.push_back(static_cast<float>(score + 0.5 * random.normal()));
  }
  std::vector<double> drawn;
  for (int resample = 0; resample < 1000; ++resample) {
    ExactAuc first, second;
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t row = random.below(kRows);
      first.add(rows.first[row], rows.labels[row] > 0);
      second.add(rows.second[row], rows.labels[row] > 0);
    }
    drawn.push_back(second.value() - first.value());
  }
  PairedBootstrap bootstrap(Loss::kLogistic, 2, 1000, 1), again(Loss::kLogistic, 2, 1000, 1);
  rows.add_to(bootstrap), rows.add_to(again);
  const auto [low, high] = bootstrap.difference(kAuc, 1);
  EXPECT_LT(low, 0);
  EXPECT_GT(high, 0);
  EXPECT_NEAR(high - low, 2 * 1.96 * deviation(drawn), 0.15 * (high - low));
  EXPECT_EQ(again.difference(kAuc, 1).low, low) << "of one seed";
  EXPECT_LT(bootstrap.difference(kLogLoss, 1).low, bootstrap.difference(kLogLoss, 1).high);
}

}  // namespace
}  // namespace thalweg
