#include "train/rows/key_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "train/rows/key_counting.h"

namespace thalweg {
namespace {

// Few keys often, many once.
std::vector<Key> skewed_keys(std::size_t count) {
  Random random(41);
  std::vector<Key> keys;
  for (std::size_t i = 0; i < count; ++i)
    keys.push_back(static_cast<Key>(std::exp(random.unit() * std::log(1e6))));
  return keys;
}

TEST(KeyCounts, AreNeverTooLowAndSeldomTooHigh) {
  constexpr std::uint64_t kWidth = 1 << 16;
  const std::vector<Key> keys = skewed_keys(2'000'000);
  KeyCounts counts(kWidth);
  counts.add(keys);
  std::map<Key, std::uint32_t> truth;
  for (const Key key : keys) ++truth[key];
  const double bound = std::exp(1.0) * static_cast<double>(keys.size()) / kWidth;
  std::size_t beyond = 0, exact = 0;
  for (const auto& [key, times] : truth) {
    const std::uint32_t counted = counts.count(key), known = std::min(times, KeyCounts::kMost);
    ASSERT_GE(counted, known) << key;
    beyond += static_cast<double>(counted) > static_cast<double>(known) + bound ? 1 : 0;
    exact += counted == known ? 1 : 0;
  }
  EXPECT_LE(static_cast<double>(beyond), std::exp(-4.0) * static_cast<double>(truth.size()));
  KeyCounts roomy(1 << 22);
  roomy.add(keys);
  EXPECT_LT(exact, truth.size()) << "there are more keys than cells";
  for (const auto& [key, times] : truth)
    exact += roomy.count(key) == std::min(times, KeyCounts::kMost) ? 1 : 0;
  EXPECT_GT(static_cast<double>(exact), 0.99 * static_cast<double>(truth.size()));
  EXPECT_EQ(counts.bytes(), 4 * kWidth);
}

TEST(KeyCounts, DoNotDependOnTheOrderOfWhatIsAdded) {
  std::vector<Key> keys = skewed_keys(100'000);
  KeyCounts forth(1 << 12), back(1 << 12);
  forth.add(keys);
  std::reverse(keys.begin(), keys.end());
  for (std::size_t at = 0; at < keys.size(); at += 777)
    back.add(std::span(keys).subspan(at, std::min<std::size_t>(777, keys.size() - at)));
  for (const Key key : keys) ASSERT_EQ(forth.count(key), back.count(key));
}

TEST(KeyCounting, TakesRareKeysOutOfRows) {
  const TemporaryFolder folder;
  ReadOptions options;
  std::string text;
  for (int row = 0; row < 3000; ++row) text += "1 1:2 " + std::to_string(10 + row) + ":3 2:0.5\n";
  options.paths = {folder.write("rows.svm", text + "not a row\n1 4:1\n1 4:1\n")};
  KeyCounting counting(options, 1 << 16, 2);
  ASSERT_TRUE(counting.wait([] { return false; }).ok()) << "bad rows are not its business";
  Batch batch;
  batch.keys = {1, 10, 2, 77, 4, 5};
  batch.values = {2, 3, 0.5, 3, 1, 1};
  batch.fields = {0, 1, 2, 3, 4, 5};
  batch.row_begin = {0, 3, 4, 4, 6};
  batch.labels = {1, 0, 1, 0};
  counting.drop_rare(batch);
  EXPECT_EQ(batch.keys, (std::vector<Key>{1, 2, 4}));
  EXPECT_EQ(batch.values, (std::vector<float>{2, 0.5, 1}));
  EXPECT_EQ(batch.fields, (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(batch.row_begin, (std::vector<std::uint32_t>{0, 2, 2, 2, 3}));
}

TEST(KeyCounting, WhatCannotBeReadIsTold) {
  ReadOptions options;
  options.paths = {"/none.svm"};
  KeyCounting counting(options, 1 << 16, 2);
  EXPECT_EQ(counting.wait([] { return false; }).code(), Code::kIo);
}

}  // namespace
}  // namespace thalweg
