// Processes of a benchmark's own.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>

#include "base/check.h"
#include "thalweg/status.h"

namespace thalweg::bench {

// A child that ends with this process, or with 0 where `run` returns OK. Call while no thread exists.
inline pid_t start_child(const std::function<Status()>& run) {
  const pid_t child = ::fork();
  THALWEG_CHECK(child >= 0, "a process can be made");
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::_Exit(run().ok() ? 0 : 1);
}

// In memory that this process and its children share.
template <class T>
T& make_shared_with_children() {
  void* const shared = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  THALWEG_CHECK(shared != MAP_FAILED, "memory can be had");
  return *new (shared) T;
}

}  // namespace thalweg::bench
