#include "client/job/work_threads.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

namespace thalweg {

// Kept by each thread that looks at it: one that comes late finds no part left.
struct WorkThreads::Work {
  explicit Work(std::size_t parts, const std::function<void(std::size_t)>& what) : count(parts), part(what) {}

  void take_parts() {
    for (std::size_t i = next++; i < count; i = next++) {
      part(i);
      if (++done == count) done.notify_all();
    }
  }
  void wait() const {
    for (std::size_t now = done; now < count; now = done) done.wait(now);
  }

  const std::size_t count;
  const std::function<void(std::size_t)>& part;  // As long as a part is left.
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
};

WorkThreads::WorkThreads(std::size_t width) : width_(std::max<std::size_t>(width, 1)) {}

WorkThreads::~WorkThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  news_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkThreads::run(std::size_t count, const std::function<void(std::size_t)>& part) {
  if (width_ == 1 || count < 2) {
    for (std::size_t i = 0; i < count; ++i) part(i);
    return;
  }
  begin_threads();
  const auto work = std::make_shared<Work>(count, part);
  {
    const std::lock_guard lock(mutex_);
    work_ = work;
    ++works_;
  }
  news_.notify_all();
  work->take_parts();
  work->wait();
}

// Where the system has no more threads those that there are do the work.
void WorkThreads::begin_threads() {
  if (std::exchange(begun_, true)) return;
  try {
    while (threads_.size() + 1 < width_) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
  }
}

void WorkThreads::help() {
  std::uint64_t seen = 0;
  for (;;) {
    std::shared_ptr<Work> work;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return over_ || works_ != seen; });
      if (over_) return;
      seen = works_;
      work = work_;
    }
    work->take_parts();
  }
}

}  // namespace thalweg
