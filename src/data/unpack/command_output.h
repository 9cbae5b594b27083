// What a command writes to its standard output, where files are not in the file system.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "data/unpack/shell_process.h"
#include "thalweg/status.h"

namespace thalweg {

// What writes files' rows; empty: files are files.
struct SourceCommand {
  std::string line = {};  // With %s for a file's name.
  // The longest wait for more of its output, and from there to its end; what it says on standard error counts
  // for nothing.
  std::chrono::nanoseconds timeout = std::chrono::minutes(5);
  // Of one that runs ahead of its turn: servers close connections that nothing is read from.
  std::chrono::nanoseconds longest_hold = std::chrono::seconds(20);
  bool empty() const { return line.empty(); }
};

// One thread at a time. At its end, or that of this program, the command is killed with all that it has
// started.
class CommandOutput {
 public:
  // The command with each %s replaced by `name`, quoted for the shell, is run by /bin/sh.
  static Result<std::unique_ptr<CommandOutput>> start(const SourceCommand& command, const std::string& name);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // 0: the end, and the command has succeeded. kIo names the command, how it ended and its last words;
  // kTimeout, how long it has been silent.
  Result<std::size_t> read(char* to, std::size_t size);
  // Whether it began that long ago and has probably had to wait since, as nothing of its output was read.
  bool held_up_for(std::chrono::nanoseconds time) const;

 private:
  using Clock = std::chrono::steady_clock;
  CommandOutput(std::string name, std::string line, std::chrono::nanoseconds timeout)
      : name_(std::move(name)), line_(std::move(line)), timeout_(timeout) {}
  Status spawn();
  Status wait_for_output();
  void hear_errors();
  Status end();
  Status wait_for_end(int& how);
  Status too_late(const char* what) const;
  std::string last_words() const;

  const std::string name_, line_;
  const std::chrono::nanoseconds timeout_;
  const Clock::time_point started_ = Clock::now();
  ShellProcess process_;
  int output_ = -1, errors_ = -1;
  std::string said_;  // The end of its standard error.
};

}  // namespace thalweg
