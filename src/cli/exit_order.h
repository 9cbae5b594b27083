// In which order child processes end.
#pragma once

#include <sys/types.h>

#include <vector>

namespace thalweg {

// Wants Linux 5.3 or later; without it nobody's end is told.
class ExitOrder {
 public:
  ExitOrder();
  ~ExitOrder();
  ExitOrder(const ExitOrder&) = delete;
  ExitOrder& operator=(const ExitOrder&) = delete;

  // A child that has not been waited for.
  void watch(pid_t pid);
  // Those that have ended since the last call, the first to end first.
  std::vector<pid_t> ended();

 private:
  struct Watched {
    pid_t pid;
    int fd;
  };
  int queue_;  // An epoll's list of what is ready is in the order in which it came to be.
  std::vector<Watched> watched_;
};

}  // namespace thalweg
