#include "table/sparse_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/range.h"

namespace thalweg {
namespace {

// Checks order, homes and rows: each row's only float is its key's place in the test's own order of
// insertion.
void expect_ordered(const SparseBlock& block, const std::set<PlacedKey>& keys, std::uint16_t ranges) {
  ASSERT_EQ(block.size(), keys.size());
  std::vector<PlacedKey> stored;
  std::size_t run_begin = 0;
  for (std::size_t slot = 0; slot < block.slots().size(); ++slot) {
    const PlacedKey key = block.slots()[slot];
    if (key == kNoPlace) {
      run_begin = slot + 1;
      continue;
    }
    const std::size_t home = block.home(SparseBlock::fraction(key, ranges));
    ASSERT_LE(home, slot);
    ASSERT_GE(home, run_begin) << "an empty slot lies between a key and its home";
    ASSERT_EQ(block.row(slot)[0], static_cast<float>(key % 1024));
    stored.push_back(key);
  }
  ASSERT_TRUE(std::equal(stored.begin(), stored.end(), keys.begin(), keys.end()));
}

void insert(SparseBlock& block, PlacedKey key) {
  block.row(block.insert(key))[0] = static_cast<float>(key % 1024);
}

TEST(SparseBlock, StaysOrderedAsItGrows) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto ranges = static_cast<std::uint16_t>(1 + random.below(300));
    const auto range = static_cast<std::uint32_t>(random.below(ranges));
    const PlacedKey first = range_first_key(range, ranges), last = range_first_key(range + 1, ranges);
    SparseBlock block(1 + random.below(4), ranges);
    std::set<PlacedKey> keys;
    for (int i = 0; i < 2000; ++i) {
      const PlacedKey key = first + random.below(last - first);
      const std::size_t slot = block.find(key);
      ASSERT_EQ(block.holds(slot, key), keys.contains(key));
      if (keys.insert(key).second) insert(block, key);
      if (i % 97 == 0) expect_ordered(block, keys, ranges);
    }
    expect_ordered(block, keys, ranges);
  }
}

TEST(SparseBlock, TakesKeysThatShareOneHome) {
  SparseBlock low(1, 1), high(1, 1);
  std::set<PlacedKey> low_keys, high_keys;
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const PlacedKey small = random.below(10000), large = kNoPlace - 1 - random.below(10000);
    if (low_keys.insert(small).second) insert(low, small);
    if (high_keys.insert(large).second) insert(high, large);
  }
  expect_ordered(low, low_keys, 1);
  expect_ordered(high, high_keys, 1);
  EXPECT_LT(high.bytes(), 3000u * 12 * 4);
}

TEST(SparseBlock, IsEmptyWithoutMemory) {
  const SparseBlock block(8, 256);
  EXPECT_EQ(block.bytes(), 0u);
  EXPECT_TRUE(block.slots().empty());
  EXPECT_FALSE(block.holds(block.find(0), 0));
  EXPECT_FALSE(block.holds(block.find(kNoPlace - 1), kNoPlace - 1));
}

TEST(SparseBlock, SmallBlocksGrowByHalf) {
  SparseBlock block(3, 1);
  Random random(3);
  int growths = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t bytes = block.bytes();
    block.insert(random.next() >> 1 << 1);
    growths += block.bytes() != bytes;
  }
  EXPECT_LE(growths, 20);
}

TEST(SparseBlock, ReserveSparesLaterGrowth) {
  SparseBlock block(3, 1);
  block.reserve(1000);
  const std::size_t bytes = block.bytes();
  Random random(2);
  for (int i = 0; i < 1000; ++i) block.insert(random.next() >> 1 << 1);
  EXPECT_EQ(block.bytes(), bytes);
  EXPECT_LE(bytes, 1000u * 32);
}

}  // namespace
}  // namespace thalweg
