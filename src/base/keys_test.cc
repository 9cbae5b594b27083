#include <gtest/gtest.h>

#include <map>

#include "base/mix.h"
#include "base/random.h"
#include "thalweg/store.h"

namespace thalweg {
namespace {

std::vector<Key> with_repeats(std::size_t count, std::uint64_t distinct) {
  Random random(count);
  std::vector<Key> keys(count);
  for (Key& key : keys) key = random.below(distinct);
  return keys;
}

// Keys whose places are all in the first bucket.
std::vector<Key> crowded(std::size_t count) {
  std::vector<Key> keys;
  for (std::size_t i = count; i > 0; --i) keys.push_back(unplace(i * 3));
  return keys;
}

void expect_placed(const std::vector<Key>& input) {
  std::map<PlacedKey, std::uint32_t> positions;
  for (const Key key : input) positions[place(key)] = 0;
  std::uint32_t next = 0;
  for (auto& [key, position] : positions) position = next++;
  std::vector<std::uint32_t> order;
  for (const Keys& keys : {Keys::of(input), Keys::of(input, &order)}) {
    ASSERT_EQ(keys.size(), positions.size());
    for (const auto& [key, position] : positions) ASSERT_EQ((*keys.values())[position], key);
  }
  ASSERT_EQ(order.size(), input.size());
  for (std::size_t i = 0; i < input.size(); ++i) ASSERT_EQ(order[i], positions[place(input[i])]);
}

TEST(Keys, AreDistinctAscendingAndKnowTheInputsPlace) {
  for (const std::size_t count : {0u, 1u, 2u, 100u, 255u, 256u, 257u, 1000u, 20'000u}) {
    SCOPED_TRACE(count);
    expect_placed(with_repeats(count, count / 2 + 1));
    expect_placed(crowded(count));
  }
}

}  // namespace
}  // namespace thalweg
