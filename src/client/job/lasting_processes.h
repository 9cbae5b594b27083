// Processes of a job that outlive the one that started them, so that another one may take the job up: where
// they look for their scheduler, and whether any of them is left. Kept beside the scheduler's state.
#pragma once

#include <string>
#include <utility>

#include "base/instant.h"
#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

class LastingProcesses {
 public:
  // Of the job whose state is in `directory`, which this process alone uses. kIo; kModel: the file that
  // says so is damaged.
  static Result<LastingProcesses> of(const std::string& directory);

  // The file that says so.
  const std::string& path() const { return path_; }
  // Whether any job there has had such processes.
  bool known() const { return known_; }
  // Where those that live look for their scheduler; empty: none lives.
  const std::string& address() const { return address_; }
  // Another job begins, whose processes look there. They live as long as any of them holds the descriptor
  // open. kIo.
  Result<FileDescriptor> begin(const std::string& address);
  // Whether the last of those that began before this process has ended.
  bool gone() const;

 private:
  explicit LastingProcesses(std::string directory) : path_(std::move(directory) + "/processes") {}

  std::string path_;
  bool known_ = false;
  std::string address_;
};

}  // namespace thalweg
