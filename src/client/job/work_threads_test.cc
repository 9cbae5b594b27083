#include "client/job/work_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace thalweg {
namespace {

TEST(WorkThreads, DoEachPartOnce) {
  WorkThreads threads(3);
  for (std::size_t count = 0; count < 200; ++count) {
    std::vector<int> done(count);
    threads.run(count, [&](std::size_t part) { ++done[part]; });
    EXPECT_EQ(done, std::vector<int>(count, 1));
  }
}

TEST(WorkThreads, WorkAtTheSameTime) {
  WorkThreads threads(2);
  std::atomic<int> here = 0;
  std::mutex mutex;
  std::set<std::thread::id> who;
  // Each part ends when another has begun, which takes two threads.
  threads.run(2, [&](std::size_t) {
    ++here;
    while (here < 2) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    who.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(who.size(), 2U);
}

TEST(WorkThreads, OfOneIsTheCaller) {
  WorkThreads threads(1);
  EXPECT_EQ(threads.width(), 1U);
  threads.run(5,
              [me = std::this_thread::get_id()](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), me); });
}

}  // namespace
}  // namespace thalweg
