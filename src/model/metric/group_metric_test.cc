#include "model/metric/group_metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "base/random.h"
#include "model/metric/group_rows.h"
#include "model/metric/reliability.h"

namespace thalweg {
namespace {

double measured(std::string_view name, GroupRows rows, std::size_t k) {
  const GroupRows::Measures all = rows.measure(k);
  const auto metrics = group_metrics();
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    if (metrics[m]->name == name) return all.values[m];
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

// As a plain reading of the definitions has it, of rows in this order.
double plain_ndcg(const std::vector<float>& labels, std::size_t k) {
  std::vector<float> best = labels;
  std::sort(best.begin(), best.end(), std::greater<>());
  double sum = 0, most = 0;
  for (std::size_t i = 0; i < std::min(k, labels.size()); ++i) {
    sum += (std::pow(2.0, labels[i]) - 1) / std::log2(static_cast<double>(i) + 2);
    most += (std::pow(2.0, best[i]) - 1) / std::log2(static_cast<double>(i) + 2);
  }
  return sum / most;
}

double plain_precision(const std::vector<float>& labels, std::size_t k) {
  double hits = 0, sum = 0;
  const auto all =
      static_cast<double>(std::count_if(labels.begin(), labels.end(), [](float l) { return l > 0; }));
  for (std::size_t i = 0; i < std::min(k, labels.size()); ++i) {
    if (labels[i] > 0) sum += ++hits / static_cast<double>(i + 1);
  }
  return sum / std::min(all, static_cast<double>(k));
}

GroupRows one_group(const std::vector<float>& scores, const std::vector<float>& labels) {
  GroupRows rows(100);
  for (std::size_t i = 0; i < scores.size(); ++i) rows.add({7, scores[i], labels[i], 1});
  return rows;
}

TEST(GroupMetrics, KnownValues) {
  const GroupRows rows = one_group({4, 3, 2, 1}, {3, 0, 2, 1});
  const double best = 7 + 3 / std::log2(3.0);
  EXPECT_NEAR(measured("ndcg", rows, 2), 7 / best, 1e-12);
  EXPECT_NEAR(measured("ndcg", rows, 10), (7 + 3 / 2.0 + 1 / std::log2(5.0)) / (best + 1 / 2.0), 1e-12);
  EXPECT_NEAR(measured("map", rows, 10), (1 + 2.0 / 3 + 3.0 / 4) / 3, 1e-12);
  EXPECT_NEAR(measured("map", rows, 1), 1, 1e-12);
  EXPECT_NEAR(measured("map", rows, 2), 0.5, 1e-12);
  EXPECT_NEAR(measured("group_auc", rows, 1), 1.0 / 3, 1e-12);
}

// Each order of rows of equal scores is as likely as any other.
TEST(GroupMetrics, OfEqualScoresAreTheMeanOverTheirOrders) {
  const std::vector<float> scores = {5, 3, 3, 3, 3, 1}, labels = {0, 2, 0, 1, 0, 1};
  for (const std::size_t k : {1u, 2u, 3u, 4u, 6u}) {
    std::vector<int> order = {1, 2, 3, 4};
    double ndcg = 0, precision = 0, orders = 0;
    do {
      std::vector<float> sorted = {labels[0]};
      for (const int i : order) sorted.push_back(labels[static_cast<std::size_t>(i)]);
      sorted.push_back(labels[5]);
      ndcg += plain_ndcg(sorted, k), precision += plain_precision(sorted, k), ++orders;
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(measured("ndcg", one_group(scores, labels), k), ndcg / orders, 1e-12) << k;
    EXPECT_NEAR(measured("map", one_group(scores, labels), k), precision / orders, 1e-12) << k;
  }
}

TEST(GroupMetrics, GroupsWithoutMeaningAreLeftOutAndAucCountsByRows) {
  GroupRows rows(100);
  rows.add({1, 0.5f, 1, 1}), rows.add({2, 0.5f, 0, 1});  // No pair in either.
  rows.add({3, 2, 1, 1}), rows.add({4, 1, 1, 2}), rows.add({3, 1, 0, 1}), rows.add({4, 2, 0, 4});
  EXPECT_NEAR(measured("group_auc", rows, 10), (2 * 1.0 + 6 * 0.0) / 8, 1e-12);
  EXPECT_NEAR(measured("map", rows, 10), (1 + 1 + 0.5) / 3, 1e-12);
  EXPECT_EQ(rows.measure(10).groups, 4u);
  EXPECT_TRUE(std::isnan(measured("map", GroupRows(100), 10)));
}

TEST(GroupRows, OfTooManyRowsWholeGroupsAreKept) {
  constexpr std::size_t kGroups = 4000, kEach = 5, kMost = 3000;
  GroupRows forth(kMost), back(kMost), all(kGroups * kEach);
  const auto add = [](GroupRows& to, std::size_t i) {
    const std::uint64_t group = splitmix(i % kGroups);
    Random random(i);
    const bool positive = random.chance(0.4);
    to.add({group, static_cast<float>(random.normal() + (positive ? 1 : 0)), positive ? 1.0f : 0.0f, 1});
  };
  for (std::size_t i = 0; i < kGroups * kEach; ++i) {
    add(forth, i), add(all, i), add(back, kGroups * kEach - 1 - i);
  }
  const GroupRows::Measures some = forth.measure(3), same = back.measure(3), whole = all.measure(3);
  EXPECT_EQ(some.rows, some.groups * kEach) << "no group is cut";
  EXPECT_LE(some.rows, kMost);
  EXPECT_GT(some.rows, kMost / 3);
  EXPECT_EQ(some.part, 1.0 / 8);
  EXPECT_EQ(whole.part, 1.0);
  EXPECT_EQ(whole.groups, kGroups);
  for (std::size_t m = 0; m < whole.values.size(); ++m) {
    EXPECT_EQ(some.values[m], same.values[m]) << "whatever the order";
    EXPECT_NEAR(some.values[m], whole.values[m], 0.05) << group_metrics()[m]->name;
  }
}

TEST(Reliability, BinsHaveEquallyManyRowsAndTheirMeans) {
  ExactAuc rows;
  for (int i = 0; i < 10; ++i) rows.add(static_cast<float>(9 - i), i % 2 == 0, i == 0 ? 3.0f : 1.0f);
  const std::vector<ReliabilityBin> bins = reliability_bins(rows, 3);
  ASSERT_EQ(bins.size(), 3u);
  EXPECT_EQ(bins[0].rows, 3u);
  EXPECT_EQ(bins[1].rows, 3u);
  EXPECT_EQ(bins[2].rows, 4u);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_NEAR(bins[0].prediction, (0.5 + sigmoid(1) + sigmoid(2)) / 3, 1e-6);
  EXPECT_NEAR(bins[0].label, 1.0 / 3, 1e-12);
  EXPECT_NEAR(bins[2].prediction, (sigmoid(6) + sigmoid(7) + sigmoid(8) + 3 * sigmoid(9)) / 6, 1e-6);
  EXPECT_NEAR(bins[2].label, 4.0 / 6, 1e-12);
  ExactAuc ties;
  for (int i = 0; i < 10; ++i) ties.add(i < 7 ? 0.0f : 1.0f, true);
  ASSERT_EQ(reliability_bins(ties, 5).size(), 2u);
  EXPECT_EQ(reliability_bins(ties, 5)[0].rows, 7u);
}

}  // namespace
}  // namespace thalweg
