#include "table/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/random.h"

namespace thalweg {
namespace {

struct Held {
  std::byte* at;
  std::size_t bytes;
  std::uint8_t mark;
};

// Each array keeps its own bytes, whatever is taken and given back around it.
TEST(Arena, GivesMemoryToOneAtATime) {
  Random random(1);
  Arena arena;
  std::vector<Held> held;
  for (int i = 0; i < 2000; ++i) {
    if (held.size() > 40 || (!held.empty() && random.chance(0.4))) {
      std::swap(held[random.below(held.size())], held.back());
      const Held last = held.back();
      held.pop_back();
      for (std::size_t b = 0; b < last.bytes; b += 61) ASSERT_EQ(std::to_integer<int>(last.at[b]), last.mark);
      arena.release(last.at, last.bytes);
      continue;
    }
    const std::size_t bytes = (1 + random.below(5000)) * Arena::kAlign;
    const auto mark = static_cast<std::uint8_t>(i);
    auto* at = static_cast<std::byte*>(arena.allocate(bytes));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % Arena::kAlign, 0u);
    std::memset(at, mark, bytes);
    held.push_back({at, bytes, mark});
  }
}

TEST(Arena, JoinsWhatIsGivenBack) {
  Arena arena;
  constexpr std::size_t kBytes = Arena::kHugePage / 8;
  std::vector<void*> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(arena.allocate(kBytes));
  EXPECT_EQ(arena.pieces_free(), 0u);
  for (const std::size_t i : {1u, 3u, 5u, 7u}) arena.release(parts[i], kBytes);
  EXPECT_EQ(arena.pieces_free(), 4u);
  for (const std::size_t i : {6u, 4u, 2u, 0u}) arena.release(parts[i], kBytes);
  EXPECT_EQ(arena.pieces_free(), 1u);
  EXPECT_EQ(arena.allocate(8 * kBytes), parts[0]);
}

TEST(Arena, GivesWhatIsLargerThanAChunk) {
  Arena arena;
  constexpr std::size_t kBytes = 5 * Arena::kHugePage + Arena::kAlign;
  auto* at = static_cast<std::byte*>(arena.allocate(kBytes));
  std::memset(at, 1, kBytes);
  arena.release(at, kBytes);
  EXPECT_EQ(arena.pieces_free(), 1u);
}

}  // namespace
}  // namespace thalweg
