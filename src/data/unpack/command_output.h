// What a command writes to its standard output, where files are not in the file system.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

// One thread at a time. At its end the command is killed with all that it has started.
class CommandOutput {
 public:
  // `command` with each %s replaced by `name`, quoted for the shell, is run by /bin/sh.
  static Result<std::unique_ptr<CommandOutput>> start(const std::string& command, const std::string& name);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // 0: the end, and the command has succeeded. kIo names the command, how it ended and its last words.
  Result<std::size_t> read(char* to, std::size_t size);

 private:
  CommandOutput(std::string name, std::string line) : name_(std::move(name)), line_(std::move(line)) {}
  Status spawn();
  Status wait_for_output();
  void hear_errors();
  Status end();
  std::string last_words() const;

  const std::string name_, line_;
  pid_t pid_ = -1;  // Until it has been waited for.
  int output_ = -1, errors_ = -1;
  std::string said_;  // The end of its standard error.
};

}  // namespace thalweg
