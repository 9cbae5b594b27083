// A command that /bin/sh runs, in a process group of its own and of one that watches over it.
#pragma once

#include <sys/types.h>

#include <string>

namespace thalweg {

// At the end of this a command that has not ended is killed with all that it has started, and so is one whose
// program has ended, however that came.
class ShellProcess {
 public:
  ShellProcess() = default;
  ~ShellProcess() { kill(); }
  ShellProcess(const ShellProcess&) = delete;
  ShellProcess& operator=(const ShellProcess&) = delete;

  // Once. `output`, `errors`: what the command writes to; it has nothing to read. An errno, 0 if it runs.
  int start(const std::string& line, int output, int errors);
  // Whether it has ended; `how` as waitpid() says it. Not asked again then.
  bool ended(int& how);
  void kill();

 private:
  int start_watcher();

  pid_t pid_ = -1;  // Until it has been waited for.
  pid_t watcher_ = -1;
  int lifeline_ = -1;  // The watcher acts when nobody holds it any more.
};

}  // namespace thalweg
