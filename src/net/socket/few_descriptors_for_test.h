// A process that runs out of file descriptors.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace thalweg {

// While it lives, process `pid`, 0 being this one, has so many descriptors more than it had.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more, pid_t pid = 0) : pid_(pid) {
    const std::string folder = "/proc/" + (pid == 0 ? "self" : std::to_string(pid)) + "/fd/";
    rlim_t lowest_free = 0;
    struct stat any {};
    while (::lstat((folder + std::to_string(lowest_free)).c_str(), &any) == 0) ++lowest_free;
    EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, nullptr, &before_), 0);
    const rlimit few{lowest_free + more, before_.rlim_max};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, &few, nullptr), 0);
  }
  ~FewDescriptors() {
    const bool over = ::prlimit(pid_, RLIMIT_NOFILE, &before_, nullptr) != 0;
    EXPECT_TRUE(!over || (pid_ != 0 && errno == ESRCH));
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  pid_t pid_;
  rlimit before_{};
};

}  // namespace thalweg
