#include "cluster/stale_notices.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace thalweg::cluster {
namespace {

using namespace std::chrono_literals;

TEST(StaleNotices, OneWordIsEnoughForAllThatIsUnderWay) {
  StaleNotices notices;
  const Instant begin{};
  EXPECT_TRUE(notices.is_due(begin, worker_node(0), 3));
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(notices.is_due(begin + i * Duration{1ms}, worker_node(0), 3));
  EXPECT_TRUE(notices.is_due(begin, worker_node(1), 3)) << "each node is told";
}

TEST(StaleNotices, WhoComesByANewerMapThatIsOldTooIsTold) {
  StaleNotices notices;
  EXPECT_TRUE(notices.is_due(Instant{}, worker_node(0), 3));
  EXPECT_TRUE(notices.is_due(Instant{}, worker_node(0), 4));
  EXPECT_FALSE(notices.is_due(Instant{}, worker_node(0), 3)) << "that was on its way";
}

TEST(StaleNotices, AWordThatMayBeLostIsSaidAgain) {
  StaleNotices notices;
  const Instant begin{};
  EXPECT_TRUE(notices.is_due(begin, worker_node(0), 3));
  EXPECT_FALSE(notices.is_due(begin + (limits::kRetryFirst - Duration{1}), worker_node(0), 3));
  EXPECT_TRUE(notices.is_due(begin + limits::kRetryFirst, worker_node(0), 3));
  EXPECT_FALSE(notices.is_due(begin + limits::kRetryFirst, worker_node(0), 3));
}

}  // namespace
}  // namespace thalweg::cluster
