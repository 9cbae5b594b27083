#include "data/synth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "data/data_set.h"
#include "data/files_for_test.h"

namespace thalweg {
namespace {

TEST(Zipf, FrequenciesFollowThePowerLaw) {
  constexpr std::uint64_t kRanks = 100000;
  constexpr int kDraws = 400000;
  const Zipf zipf(kRanks, 1.05);
  double sum = 0;
  for (std::uint64_t k = 1; k <= kRanks; ++k) sum += std::pow(static_cast<double>(k), -1.05);
  Random random(7);
  std::map<std::uint64_t, int> head;
  int beyond[3] = {};  // Of rank 2048 (where the tail begins), 10,000 and 50,000.
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t rank = zipf.draw(random);
    ASSERT_LT(rank, kRanks);
    ++head[rank];
    beyond[0] += rank >= 2048;
    beyond[1] += rank >= 10000;
    beyond[2] += rank >= 50000;
  }
  for (const std::uint64_t rank : {0, 1, 10, 100}) {
    const double expected = kDraws * std::pow(static_cast<double>(rank + 1), -1.05) / sum;
    EXPECT_NEAR(head[rank], expected, 5 * std::sqrt(expected)) << rank;
  }
  const std::uint64_t borders[3] = {2048, 10000, 50000};
  for (int b = 0; b < 3; ++b) {
    double expected = 0;
    for (std::uint64_t k = borders[b] + 1; k <= kRanks; ++k)
      expected += std::pow(static_cast<double>(k), -1.05);
    expected *= kDraws / sum;
    EXPECT_NEAR(beyond[b], expected, 5 * std::sqrt(expected)) << borders[b];
  }
}

TEST(Zipf, FewRanksHaveNoTail) {
  const Zipf zipf(3, 1.05);
  Random random(1);
  int counts[3] = {};
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t rank = zipf.draw(random);
    ASSERT_LT(rank, 3u);
    ++counts[rank];
  }
  EXPECT_GT(counts[0], counts[1]);
  EXPECT_GT(counts[1], counts[2]);
}

TEST(Synth, ARowIsAFunctionOfSeedAndIndex) {
  const SynthSource one(5), same(5), other(6);
  int differing = 0;
  for (const std::uint64_t i : {999u, 0u, 17u}) {
    EXPECT_EQ(one.row(i).values, same.row(i).values);
    EXPECT_EQ(one.row(i).positive, same.row(i).positive);
    differing += one.row(i).values != other.row(i).values;
    for (std::size_t f = 0; f < kSynthFields; ++f) {
      EXPECT_LT(one.row(i).values[f], one.offset(f + 1) - one.offset(f));
    }
  }
  EXPECT_EQ(differing, 3);
}

TEST(Synth, DaysDriftFromOneToTheNext) {
  const SynthSource first(5), named(5, 0), next(5, 1), late(5, 8);
  EXPECT_EQ(first.row(3).values, named.row(3).values);
  EXPECT_EQ(first.row(3).probability, named.row(3).probability);
  EXPECT_NE(first.row(3).values, next.row(3).values);
  EXPECT_EQ(first.offset(kSynthFields), late.offset(kSynthFields));
  for (const SynthSource* day : {&next, &late}) {
    double sum = 0;
    for (std::uint64_t i = 0; i < 20000; ++i) sum += day->row(i).probability;
    EXPECT_NEAR(sum / 20000, 0.233, 0.01);
  }
  // Mean logits by the value of a field of 24 values.
  const auto logits = [](const SynthSource& day) {
    std::map<std::uint32_t, std::pair<double, int>> sums;
    for (std::uint64_t i = 0; i < 40000; ++i) {
      const SynthRow row = day.row(i);
      auto& [sum, rows] = sums[row.values[13 + 5]];
      sum += std::log(row.probability / (1 - row.probability)), ++rows;
    }
    return sums;
  };
  const auto of_first = logits(first), of_next = logits(next), of_late = logits(late);
  double near = 0, far = 0;
  int common = 0;
  for (const auto& [value, sum] : of_first) {
    if (sum.second < 300 || !of_next.contains(value) || !of_late.contains(value)) continue;
    const auto mean = [&value = value](const auto& sums) {
      return sums.at(value).first / sums.at(value).second;
    };
    near += std::abs(mean(of_next) - mean(of_first)), far += std::abs(mean(of_late) - mean(of_first));
    ++common;
  }
  ASSERT_GT(common, 5);
  EXPECT_LT(2 * near, far);
}

class SynthFormats : public testing::TestWithParam<std::string> {};

TEST_P(SynthFormats, ReadBackAsWritten) {
  const TemporaryFolder directory;
  const std::string path = directory / "rows";
  std::ofstream file(path, std::ios::binary);
  const Result<SynthReport> report = synthesize({5000, 3, GetParam()}, file);
  file.close();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->bytes, std::filesystem::file_size(path));
  ReadOptions options;
  options.paths = {path};
  const Result<std::shared_ptr<DataSet>> data = DataSet::open(options);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ((*data)->format().name, GetParam());
  const auto reader = (*data)->reader(ShardId{0}, 1);
  Batch batch;
  const Result<std::size_t> rows = (*reader)->next(10000, batch);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(*rows, 5000u);
  ASSERT_EQ(batch.entries(), 5000u * kSynthFields);
  const SynthSource source(3);
  std::array<std::map<std::uint32_t, Key>, kSynthFields> key_of_value;
  for (std::size_t r = 0; r < 5000; ++r) {
    const SynthRow row = source.row(r);
    EXPECT_EQ(batch.labels[r], row.positive ? 1.0f : 0.0f);
    for (std::size_t f = 0; f < kSynthFields; ++f) {
      const std::size_t e = r * kSynthFields + f;
      if (GetParam() != "libsvm") {
        EXPECT_EQ(batch.fields[e], f);
      }
      if (GetParam() != "criteo") {
        EXPECT_EQ(batch.keys[e], source.offset(f) + row.values[f] + 1);
      }
      // Hashed or not, one key per value.
      EXPECT_EQ(key_of_value[f].emplace(row.values[f], batch.keys[e]).first->second, batch.keys[e]);
    }
  }
  for (const auto& keys : key_of_value) {
    std::map<Key, std::uint32_t> value_of_key;
    for (const auto& [value, key] : keys) EXPECT_EQ(value_of_key.emplace(key, value).first->second, value);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SynthFormats, testing::Values("libsvm", "libffm", "criteo"),
                         [](const auto& test) { return test.param; });

TEST(Synth, OracleIsBetterThanChanceAndCalibrated) {
  std::ostringstream out;
  const Result<SynthReport> report = synthesize({30000, 11, "libsvm"}, out);
  ASSERT_TRUE(report.ok());
  const double rate = static_cast<double>(report->positives) / 30000;
  EXPECT_NEAR(rate, 0.233, 0.015);
  EXPECT_GT(report->oracle_auc, 0.78);
  EXPECT_LT(report->oracle_auc, 0.88);
  // The constant prediction's logloss is the entropy of the rate.
  EXPECT_LT(report->oracle_logloss, -rate * std::log(rate) - (1 - rate) * std::log(1 - rate) - 0.08);
}

TEST(Synth, OracleAucIsExact) {
  std::ostringstream out;
  const Result<SynthReport> report = synthesize({2000, 4, "libsvm"}, out);
  ASSERT_TRUE(report.ok());
  const SynthSource source(4);
  std::vector<double> positive, negative;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const SynthRow row = source.row(i);
    (row.positive ? positive : negative).push_back(row.probability);
  }
  double won = 0;
  for (const double p : positive) {
    for (const double n : negative) won += p > n ? 1.0 : p == n ? 0.5 : 0.0;
  }
  EXPECT_NEAR(report->oracle_auc,
              won / (static_cast<double>(positive.size()) * static_cast<double>(negative.size())), 1e-5);
}

TEST(Synth, AFullDiskIsAnError) {
  std::ofstream full("/dev/full", std::ios::binary);
  if (!full) GTEST_SKIP() << "no /dev/full here";
  const Result<SynthReport> report = synthesize({10000, 1, "libsvm"}, full);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kIo);
}

}  // namespace
}  // namespace thalweg
