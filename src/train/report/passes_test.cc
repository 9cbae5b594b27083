#include "train/report/passes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace thalweg {
namespace {

EpochNumbers of_steps(std::uint64_t steps) {
  EpochNumbers numbers;
  numbers.steps = steps;
  return numbers;
}

PassHistory history(std::uint32_t first, std::size_t passes) {
  return {first, std::vector<EpochNumbers>(passes, of_steps(10))};
}

TEST(Passes, CountStepsOfThoseBefore) {
  Passes passes;
  for (const std::uint64_t steps : {3u, 4u, 5u}) passes.add(of_steps(steps));
  EXPECT_EQ(passes.at(2).steps_before, 7u);
  EXPECT_EQ(passes.number(2), 3u);
}

TEST(Passes, RememberThoseUpToTheFirst) {
  Passes passes;
  passes.begin(5);
  EXPECT_TRUE(passes.remember(history(2, 4)));  // Pass 5 was under way, and begins again.
  EXPECT_EQ(passes.remembered(), 3u);
  EXPECT_EQ(passes.first(), 2u);
  passes.add(of_steps(1));
  EXPECT_EQ(passes.at(3).steps_before, 10u);
  EXPECT_EQ(passes.number(3), 6u);
  passes.forget();
  EXPECT_EQ(passes.first(), 5u);
  EXPECT_EQ(passes.size(), 0u);
}

TEST(Passes, RememberNothingWhereOneIsMissing) {
  Passes passes;
  passes.begin(5);
  EXPECT_FALSE(passes.remember(history(2, 2)));
  EXPECT_FALSE(passes.remember(history(5, 1)));
  EXPECT_EQ(passes.size(), 0u);
  Passes from_the_begin;
  EXPECT_TRUE(from_the_begin.remember({}));  // There is nothing to know.
}

TEST(Passes, TellACheckpointOfThoseBeforeIts) {
  Passes passes;
  passes.begin(5);
  ASSERT_TRUE(passes.remember(history(2, 3)));
  passes.add(of_steps(1));
  EXPECT_EQ(history_from_text(passes.history_before(5)).passes.size(), 3u);
  EXPECT_EQ(history_from_text(passes.history_before(6)).passes.size(), 4u);
  EXPECT_EQ(passes.history_before(7), "");
  EXPECT_EQ(passes.history_before(2), "");
}

TEST(Passes, AreWaitedForUntilAllAreToldOf) {
  Passes passes;
  EXPECT_TRUE(passes.all_told());
  passes.add(of_steps(1));
  EXPECT_FALSE(passes.all_told());
  std::thread teller([&] { passes.note_told(1); });
  passes.wait_told(std::chrono::minutes(1));
  EXPECT_TRUE(passes.all_told());
  teller.join();
}

}  // namespace
}  // namespace thalweg
