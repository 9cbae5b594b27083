#include "net/shm/shm_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "node/fabric.h"

namespace thalweg {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(ShmArena, HandsOutZerosThatDoNotOverlap) {
  auto arena = ShmArena::create(16 * kMiB);
  ASSERT_TRUE(arena.ok()) << arena.status().message();
  std::minstd_rand random(7);
  struct Block {
    std::byte* data;
    std::size_t size;
    std::byte fill;
  };
  std::vector<Block> blocks;
  for (int i = 0; i < 2000; ++i) {
    if (blocks.size() > 20 || (!blocks.empty() && random() % 3 == 0)) {
      const std::size_t which = random() % blocks.size();
      const Block block = blocks[which];
      ASSERT_EQ(std::count(block.data, block.data + block.size, block.fill),
                static_cast<std::ptrdiff_t>(block.size));
      arena->free(block.data);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const std::size_t size = random() % 4 == 0 ? random() % 300'000 : random() % 300;
    auto data = arena->allocate(size);
    ASSERT_TRUE(data.ok()) << data.status().message();
    ASSERT_EQ(std::count(*data, *data + size, std::byte{0}), static_cast<std::ptrdiff_t>(size));
    blocks.push_back({*data, size, static_cast<std::byte>(i)});
    std::fill_n(*data, size, static_cast<std::byte>(i));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*data) % 64, 0u);
  }
  for (const Block& block : blocks) arena->free(block.data);
  EXPECT_TRUE(arena->allocate(16 * kMiB).ok()) << "all holes have become one";
}

TEST(ShmArena, SaysWhenItIsFull) {
  auto arena = ShmArena::create(4 * kMiB);
  ASSERT_TRUE(arena.ok());
  auto most = arena->allocate(3 * kMiB);
  ASSERT_TRUE(most.ok());
  for (const std::size_t size : {2 * kMiB, ~std::size_t{0}}) {
    const auto more = arena->allocate(size);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.status().code(), Code::kIo);
    EXPECT_NE(more.status().message().find("group memory"), std::string::npos) << more.status().message();
  }
  arena->free(*most);
  EXPECT_TRUE(arena->allocate(4 * kMiB).ok());
}

TEST(ShmArena, KnowsWhatIsInside) {
  auto made = ShmArena::create(4 * kMiB);
  ASSERT_TRUE(made.ok());
  ShmArena arena = *std::move(made);
  std::byte* const begin = arena.memory().data();
  std::byte outside{};
  EXPECT_EQ(arena.offset_of(begin, 4 * kMiB), 0u);
  EXPECT_EQ(arena.offset_of(begin + 100, 10), 100u);
  EXPECT_EQ(arena.offset_of(begin + 1, 4 * kMiB), Fabric::kNotShared);
  EXPECT_EQ(arena.offset_of(begin, ~std::size_t{0}), Fabric::kNotShared);
  EXPECT_EQ(arena.offset_of(begin - 1, 2), Fabric::kNotShared);
  EXPECT_EQ(arena.offset_of(&outside, 1), Fabric::kNotShared);
}

}  // namespace
}  // namespace thalweg
