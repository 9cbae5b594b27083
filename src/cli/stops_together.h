// Ctrl-Z and fg of a command whose processes have process groups of their own.
#pragma once

#include <array>
#include <thread>

namespace thalweg {

// While there is one, SIGTSTP stops this process's children and then itself, unless the signal is ignored;
// they go on when it does. One at a time.
class StopsTogether {
 public:
  StopsTogether();
  ~StopsTogether();
  StopsTogether(const StopsTogether&) = delete;
  StopsTogether& operator=(const StopsTogether&) = delete;

 private:
  void watch() const;

  std::array<int, 2> signals_{-1, -1};  // A pipe: a byte for each signal; closed at the end.
  std::thread watcher_;
};

}  // namespace thalweg
