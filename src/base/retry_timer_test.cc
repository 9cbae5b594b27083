#include "base/retry_timer.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

TEST(RetryTimer, WaitsNoLongerThanAtFirstWhereAnswersAreQuick) {
  RetryTimer timer;
  EXPECT_EQ(timer.first_wait(), limits::kRetryFirst);
  for (int i = 0; i < 100; ++i) timer.on_answer(1ms);
  EXPECT_EQ(timer.first_wait(), limits::kRetryFirst);
}

TEST(RetryTimer, OutwaitsAnswersThatTakeLongAndComesBackWhereTheyDoNotAnyMore) {
  RetryTimer timer;
  for (int i = 0; i < 100; ++i) timer.on_answer(i % 2 == 0 ? 700ms : 1100ms);
  EXPECT_GT(timer.first_wait(), 1100ms);
  EXPECT_LT(timer.first_wait(), 2200ms);
  for (int i = 0; i < 100; ++i) timer.on_answer(1ms);
  EXPECT_EQ(timer.first_wait(), limits::kRetryFirst);
}

TEST(RetryTimer, DoublesOnceForAllThatWasSentTogether) {
  RetryTimer timer;
  Instant now{};
  for (int i = 0; i < 96; ++i) timer.on_silence(now);
  EXPECT_EQ(timer.first_wait(), 2 * limits::kRetryFirst);
  now = now + limits::kRetryFirst;
  timer.on_silence(now);
  EXPECT_EQ(timer.first_wait(), 4 * limits::kRetryFirst);
  for (int i = 0; i < 96; ++i) timer.on_silence(now = now + limits::kRetryMax);
  EXPECT_EQ(timer.first_wait(), limits::kRetryMax);
  timer.on_answer(1ms);
  EXPECT_EQ(timer.first_wait(), limits::kRetryFirst) << "an answer ends it";
}

}  // namespace
}  // namespace thalweg
