#include "model/take_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

TEST(TakeSlots, GivesWhatIsHeldInOrderAndLeavesAllFree) {
  Random random(5);
  for (std::size_t size = 0; size < 200; ++size) {
    std::vector<std::uint64_t> slots(size);
    std::vector<PlacedKey> expected;
    std::vector<std::uint32_t> expected_slots;
    const double share = static_cast<double>(size % 5) / 4;  // None of them to all of them.
    for (std::uint32_t slot = 0; slot < size; ++slot) {
      if (!random.chance(share)) continue;
      expected.push_back(random.next() >> 1);
      expected_slots.push_back(slot);
      slots[slot] = ~expected.back();
    }
    std::vector<PlacedKey> keys(expected.size() + kTakenAtOnce);
    std::vector<std::uint32_t> slot_of(keys.size());
    ASSERT_EQ(take_slots(slots, keys.data(), slot_of.data()), expected.size());
    keys.resize(expected.size()), slot_of.resize(expected.size());
    ASSERT_EQ(keys, expected);
    ASSERT_EQ(slot_of, expected_slots);
    ASSERT_TRUE(std::all_of(slots.begin(), slots.end(), [](std::uint64_t held) { return held == 0; }));
  }
}

}  // namespace
}  // namespace thalweg
