#include "client/birth.h"

#include <pthread.h>

#include <atomic>
#include <string>

namespace thalweg {
namespace {

std::atomic<std::uint32_t> forks{0};  // Of which this process came about, since the first birth.

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Birth::Birth() : forks_(forks.load(std::memory_order_relaxed)) {
  [[maybe_unused]] static const int kCounts = pthread_atfork(nullptr, nullptr, count_fork);
}

bool Birth::elsewhere() const { return forks_ != forks.load(std::memory_order_relaxed); }

Status made_elsewhere(const char* what) {
  return {Code::kUsage, std::string("this process was forked from the one whose ") + what +
                            " it is; only that one can use it"};
}

}  // namespace thalweg
