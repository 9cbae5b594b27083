#include "net/socket/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace thalweg {
namespace {

rlim_t soft_limit() {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  return limit.rlim_cur;
}

// In a process of its own that has three files open, since a hard limit that is lowered stays so. Whether
// that one was as expected.
template <class Act>
bool with_limits(const rlimit& limits, const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close_range(3, ~0u, 0);
    ::_exit(::setrlimit(RLIMIT_NOFILE, &limits) == 0 && act() ? 0 : 1);
  }
  int how = 0;
  return ::waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

TEST(OpenFiles, WhatIsAllowedAlreadyStays) {
  const rlim_t before = soft_limit();
  EXPECT_TRUE(allow_open_files(10).ok());
  EXPECT_EQ(soft_limit(), before);
}

TEST(OpenFiles, TheSoftLimitIsRaisedByWhatIsMissing) {
  EXPECT_TRUE(with_limits({20, 100}, [] {
    if (!allow_open_files(50).ok() || soft_limit() != 53) return false;
    for (int i = 0; i < 50; ++i) {
      if (::open("/dev/null", O_RDONLY) < 0) return false;
    }
    return ::open("/dev/null", O_RDONLY) < 0;
  }));
}

TEST(OpenFiles, TheHardLimitIsNamedWithWhatIsNeeded) {
  EXPECT_TRUE(with_limits({20, 20}, [] {
    const Status status = allow_open_files(50);
    return status.code() == Code::kIo && soft_limit() == 20 &&
           status.message().find("may have 20 files open (ulimit -n), expected 53 at least: 3 are open") !=
               std::string::npos;
  }));
}

}  // namespace
}  // namespace thalweg
