// Processes of a job on this machine: started together, and ended with their parent whatever ends it, unless
// they are to outlive it.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "thalweg/status.h"

namespace thalweg {

class ChildProcesses {
 public:
  ChildProcesses() = default;
  ~ChildProcesses();  // Kills those that still run.
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  enum class End { kWithParent, kByItself };
  // Runs `program` with `arguments`, in a process group of its own so that the terminal's Ctrl-C is the
  // parent's to answer; the kernel kills it when the thread that started it ends, unless it ends by itself:
  // then it is in a session of its own, too. It ignores SIGTERM unless it handles it, and inherits the
  // descriptors `handed` by their numbers.
  Status start(const std::string& program, const std::vector<std::string>& arguments,
               std::span<const int> handed = {}, End end = End::kWithParent);
  struct Ended {
    std::size_t number = 0;  // In the order of start().
    pid_t pid = 0;
    std::string what;     // "node server (process 4711)"
    std::string how;      // "was ended by signal 9 (Killed)"
    bool killed = false;  // By a signal.
  };
  // Those that have ended by themselves since the last call.
  std::vector<Ended> take_ended();
  // Waits for all to end; kills those that have not after `patience`.
  void finish(Duration patience);
  // They go on without this process.
  void leave() { children_.clear(); }

 private:
  struct Child {
    pid_t pid = 0;
    std::string what;
    bool ended = false;
    bool told = false;
    int status = 0;
  };
  void reap();

  std::vector<Child> children_;
};

// The path of the running program, for starting more of it.
std::string own_program();

}  // namespace thalweg
