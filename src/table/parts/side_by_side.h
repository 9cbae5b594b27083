// Who has parts of one piece of work done at the same time. Tables know no threads: these are their driver's.
#pragma once

#include <cstddef>
#include <functional>

namespace thalweg {

class SideBySide {
 public:
  virtual ~SideBySide() = default;
  // How many parts may be under way at once: one at least.
  virtual std::size_t width() const = 0;
  // Calls part(0) to part(count - 1), each once, in any order and on any thread, and returns when all have
  // returned. One call at a time.
  virtual void run(std::size_t count, const std::function<void(std::size_t)>& part) = 0;
};

}  // namespace thalweg
