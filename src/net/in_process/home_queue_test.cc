#include "net/in_process/home_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

TEST(HomeQueue, EachThreadTakesItsOwnFirst) {
  HomeQueue<int> queue;
  for (int item = 0; item < 6; ++item) queue.push(item, static_cast<std::size_t>(item));
  std::vector<int> of_first, of_second;
  for (int i = 0; i < 3; ++i) {
    of_first.push_back(queue.take(0, 2));
    of_second.push_back(queue.take(1, 2));
  }
  EXPECT_EQ(of_first, (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(of_second, (std::vector<int>{1, 3, 5}));
  EXPECT_TRUE(queue.empty());
}

TEST(HomeQueue, AThreadWithNothingOfItsOwnTakesWhatWaitsLongest) {
  HomeQueue<int> queue;
  queue.push(10, 1);
  queue.push(11, 1);
  EXPECT_EQ(queue.take(0, 2), 10);
  EXPECT_EQ(queue.take(0, 2), 11);
}

TEST(HomeQueue, NothingIsPassedForEver) {
  HomeQueue<int> queue;
  queue.push(-1, 1);
  std::size_t before = 0;
  for (;; ++before) {
    queue.push(1, 0);
    if (queue.take(0, 2) == -1) break;
    ASSERT_LE(before, HomeQueue<int>::kPassedMax);
  }
  EXPECT_EQ(before, HomeQueue<int>::kPassedMax);
}

TEST(HomeQueue, OfOneThreadItIsAnyQueue) {
  HomeQueue<int> queue;
  for (int item = 0; item < 5; ++item) queue.push(item, static_cast<std::size_t>(4 - item));
  for (int item = 0; item < 5; ++item) EXPECT_EQ(queue.take(0, 1), item);
}

}  // namespace
}  // namespace thalweg
