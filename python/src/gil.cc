#include "gil.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace thalweg::python {
namespace {

std::atomic<bool> ends{false};
std::atomic<std::thread::id> ended_by{};
constexpr std::chrono::milliseconds kMoment(20);

}  // namespace

// Threads that wait for the lock already have it in this moment, and give it up once more.
void begin_end() {
  ended_by = std::this_thread::get_id();
  ends = true;
  PyThreadState* const state = PyEval_SaveThread();
  std::this_thread::sleep_for(kMoment);
  PyEval_RestoreThread(state);
}

void wait_where_it_ends() {
  if (!ends || ended_by.load() == std::this_thread::get_id()) return;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace thalweg::python
