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

}  // namespace
}  // namespace thalweg
