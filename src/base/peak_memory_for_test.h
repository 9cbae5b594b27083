// How much memory a piece of work takes at its peak, whoever allocates it.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"

namespace thalweg {

// Bytes by which `work` raises the largest resident size of a process, run in a child. What it finds out is
// lost with the child but for this: all ones where `work` returns false.
template <class Work>
std::uint64_t peak_growth(const Work& work) {
  int ends[2];
  THALWEG_CHECK(::pipe(ends) == 0, "a test needs a pipe");
  const pid_t child = ::fork();
  THALWEG_CHECK(child >= 0, "a test needs a process");
  if (child == 0) {
    const auto peak = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    };
    const std::uint64_t before = peak();
    const std::uint64_t grown = work() ? peak() - before : ~std::uint64_t{0};
    const bool told = ::write(ends[1], &grown, sizeof grown) == sizeof grown;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::uint64_t grown = ~std::uint64_t{0};
  const bool heard = ::read(ends[0], &grown, sizeof grown) == sizeof grown;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return heard ? grown : ~std::uint64_t{0};
}

}  // namespace thalweg
