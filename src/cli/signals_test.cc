#include "cli/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace thalweg {
namespace {

// As timeout(1) sends them.
TEST(SignalsDeathTest, TwoAtOnceAreOneWishToStop) {
  EXPECT_EXIT(
      {
        const std::atomic<bool>& stop = catch_interrupts();
        raise(SIGTERM);
        raise(SIGTERM);
        _exit(stop ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

// The second wish comes while the result is being written.
TEST(SignalsDeathTest, NoLastWordsFollowTheResult) {
  EXPECT_EXIT(
      {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        catch_interrupts("last words");
        raise(SIGINT);
        usleep(600'000);  // What comes sooner is of the first wish.
        take_last_words();
        raise(SIGINT);
        _exit(7);
      },
      testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace thalweg
