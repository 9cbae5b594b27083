#include "train/step_memory.h"

#include <gtest/gtest.h>

#include <utility>

namespace thalweg {
namespace {

TEST(StepMemory, GivesNoMoreThanThereIsAndTakesItBack) {
  StepMemory memory;
  memory.set_max(100);
  StepMemory::Share first = memory.take(60);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(memory.take(41), nullptr);
  EXPECT_EQ(memory.used(), 60u);
  const StepMemory::Share second = memory.take(40);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(memory.take(~std::uint64_t{0}), nullptr);
  first.reset();
  EXPECT_EQ(memory.used(), 40u);
  EXPECT_NE(memory.take(60), nullptr);
}

TEST(StepMemory, HasNoLimitUnlessItIsGivenOne) {
  StepMemory memory;
  EXPECT_NE(memory.take(std::uint64_t{1} << 60), nullptr);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace thalweg
