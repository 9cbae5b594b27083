#include "topology/network/radix_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace thalweg {
namespace {

TEST(RadixHeap, GivesEqualKeysInTheOrderOfTheirPushes) {
  RadixHeap<int> heap;
  for (int i = 0; i < 5; ++i) heap.push(7, i);
  heap.push(3, 100);
  EXPECT_EQ(heap.pop().value, 100);
  heap.push(7, 5);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(heap.pop().value, i);
  EXPECT_TRUE(heap.empty());
}

TEST(RadixHeap, IsAMultimapWhoseKeysNeverFall) {
  std::mt19937_64 random(1);
  RadixHeap<int> heap;
  std::multimap<std::uint64_t, int> model;
  std::uint64_t now = 0;
  for (int i = 0; i < 200000; ++i) {
    if (model.empty() || random() % 5 < 3) {
      const std::uint64_t key = now + (random() % 3 ? random() % 8 : random() >> (2 + random() % 60));
      if (key >> 62) continue;
      heap.push(key, i);
      model.emplace(key, i);
    } else {
      const auto entry = heap.pop();
      ASSERT_EQ(entry.key, model.begin()->first);
      ASSERT_EQ(entry.value, model.begin()->second);
      now = entry.key;
      model.erase(model.begin());
    }
    ASSERT_EQ(heap.empty(), model.empty());
  }
}

}  // namespace
}  // namespace thalweg
