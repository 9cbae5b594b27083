// Threads that share one piece of work at a time with the thread that has it done, and sleep otherwise.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "table/parts/side_by_side.h"

namespace thalweg {

class WorkThreads final : public SideBySide {
 public:
  // So many threads, the caller's among them; the others begin with the first work.
  explicit WorkThreads(std::size_t width);
  ~WorkThreads() override;
  WorkThreads(const WorkThreads&) = delete;
  WorkThreads& operator=(const WorkThreads&) = delete;

  std::size_t width() const override { return width_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& part) override;

 private:
  struct Work;
  void begin_threads();
  void help();

  const std::size_t width_;
  std::vector<std::thread> threads_;
  bool begun_ = false;
  std::mutex mutex_;
  std::condition_variable news_;
  std::shared_ptr<Work> work_;  // The newest.
  std::uint64_t works_ = 0;     // That there have been.
  bool over_ = false;
};

}  // namespace thalweg
