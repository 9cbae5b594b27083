// What a command writes to its standard output, where files are not in the file system.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

// What writes files' rows; empty: files are files.
struct SourceCommand {
  std::string line = {};  // With %s for a file's name.
  // The longest wait for more of its output, and from there to its end; what it says on standard error counts
  // for nothing.
  std::chrono::nanoseconds timeout = std::chrono::minutes(5);
  bool empty() const { return line.empty(); }
};

// One thread at a time. At its end the command is killed with all that it has started.
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
  pid_t pid_ = -1;  // Until it has been waited for.
  int output_ = -1, errors_ = -1;
  std::string said_;  // The end of its standard error.
};

}  // namespace thalweg
