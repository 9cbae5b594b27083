// A process of another user.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thalweg {

inline bool may_change_user() { return ::geteuid() == 0; }

// Whether `act` holds there, in a process that then ends. Precondition: may_change_user().
template <class Act>
void as_another_user(const Act& act) {
  constexpr uid_t kAnother = 54321;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setresuid(kAnother, kAnother, kAnother) == 0 && act() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace thalweg
