// How long a thread waits for whoever writes a pipe that it reads.
#pragma once

#include <functional>

#include "thalweg/status.h"

namespace thalweg {

// As long as it lives, waits of this thread end once `over`, which is asked ten times a second, says so.
class PipePatience {
 public:
  explicit PipePatience(std::function<bool()> over);
  ~PipePatience();
  PipePatience(const PipePatience&) = delete;
  PipePatience& operator=(const PipePatience&) = delete;

  // Whether this thread has one, so that a pipe is not to be opened by waiting for its writer.
  static bool is_limited();
  // Until `fd` has something to read or its end, at once where this thread has none. kAborted: it was over.
  static Status wait(int fd);

 private:
  const std::function<bool()> over_;
  PipePatience* const outer_;
};

}  // namespace thalweg
