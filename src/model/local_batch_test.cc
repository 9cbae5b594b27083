#include "model/local_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

Batch make_batch(std::size_t rows, std::size_t per_row, std::uint64_t universe, Random& random) {
  Batch batch;
  for (std::size_t r = 0; r < rows; ++r) {
    batch.labels.push_back(random.chance(0.5) ? 1.0f : 0.0f);
    for (std::size_t i = 0; i < per_row; ++i) batch.keys.push_back(random.below(universe));
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

void expect_deduplicated(const LocalBatch& local, const std::vector<Key>& keys) {
  std::set<PlacedKey> distinct;
  for (const Key key : keys) distinct.insert(place(key));
  ASSERT_EQ(std::vector<PlacedKey>(local.keys().begin(), local.keys().end()),
            std::vector<PlacedKey>(distinct.begin(), distinct.end()));
  ASSERT_EQ(local.local().size(), keys.size());
  for (std::size_t e = 0; e < keys.size(); ++e) ASSERT_EQ(local.keys()[local.local()[e]], place(keys[e]));
}

TEST(LocalBatch, GivesAscendingDistinctKeysForBatchesOfAnySizeInAnyOrder) {
  Random random(7);
  LocalBatch local;
  KeyIndex index;
  for (int round = 0; round < 200; ++round) {
    const std::size_t rows = random.below(round % 10 == 0 ? 3000 : 30);
    Batch batch = make_batch(rows, random.below(40), 1 + random.below(1u << (1 + random.below(24))), random);
    const std::vector<Key> keys = batch.keys;
    local.assign(batch, index);
    ASSERT_NO_FATAL_FAILURE(expect_deduplicated(local, keys));
  }
}

TEST(LocalBatch, KeepsEachEntryApartWhereItIsToldTo) {
  Random random(8);
  LocalBatch local;
  for (const std::size_t rows : {std::size_t{70}, std::size_t{3}, std::size_t{0}, std::size_t{40}}) {
    Batch batch = make_batch(rows, 5, 9, random);
    const std::vector<Key> keys = batch.keys;
    local.assign_each(batch);
    ASSERT_EQ(local.keys().size(), keys.size());
    ASSERT_EQ(local.local().size(), keys.size());
    for (std::size_t e = 0; e < keys.size(); ++e) {
      ASSERT_EQ(local.keys()[e], place(keys[e]));
      ASSERT_EQ(local.local()[e], e);
    }
  }
}

TEST(LocalBatch, KeepsOrderWhenKeysCrowdTheEndsOfTheTable) {
  for (const PlacedKey first : {PlacedKey{0}, kNoPlace - 500}) {
    Batch batch;
    for (std::uint64_t i = 0; i < 500; ++i) batch.keys.push_back(unplace(first + (i * 77) % 500));
    batch.labels = {1};
    batch.row_begin = {0, 500};
    const std::vector<Key> keys = batch.keys;
    LocalBatch local;
    KeyIndex index;
    local.assign(batch, index);
    ASSERT_NO_FATAL_FAILURE(expect_deduplicated(local, keys));
    batch.keys = {unplace(kNoPlace - 1), 3, unplace(kNoPlace - 1)};
    batch.labels = {1};
    batch.row_begin = {0, 3};
    const std::vector<Key> again = batch.keys;
    local.assign(batch, index);
    ASSERT_NO_FATAL_FAILURE(expect_deduplicated(local, again));
  }
}

TEST(LocalBatch, TakesTheRowsAndLeavesAnEmptyBatch) {
  Batch batch;
  batch.labels = {1, 0};
  batch.weights = {2, 3};
  batch.row_begin = {0, 1, 3};
  batch.keys = {5, 6, 5};
  batch.values = {0.5f, 1.5f, 2.5f};
  batch.fields = {0, 1, 0};
  LocalBatch local;
  KeyIndex index;
  local.assign(batch, index);
  EXPECT_EQ(batch.rows(), 0u);
  EXPECT_EQ(batch.entries(), 0u);
  EXPECT_EQ(batch.row_begin, std::vector<std::uint32_t>{0});
  EXPECT_EQ(local.rows().values, (std::vector<float>{0.5f, 1.5f, 2.5f}));
  EXPECT_EQ(local.rows().fields, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(local.rows().weights, (std::vector<float>{2, 3}));
  EXPECT_EQ(local.size(), 2u);
  local.assign(batch, index);
  EXPECT_EQ(local.size(), 0u);
  EXPECT_TRUE(local.keys().empty());
}

TEST(LocalBatchDeathTest, ReservedKeyIsOurOwnError) {
  Batch batch;
  batch.labels = {1};
  batch.row_begin = {0, 1};
  batch.keys = {kReservedKey};
  LocalBatch local;
  KeyIndex index;
  EXPECT_DEATH(local.assign(batch, index), "reserved key");
}

}  // namespace
}  // namespace thalweg
