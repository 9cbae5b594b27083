// A training's use of a directory of checkpoints, which is one training's at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "node/disk.h"
#include "thalweg/status.h"

namespace thalweg::checkpoint {

// A claim on a file in the directory, since a network's file system keeps one on a directory from no other
// machine. The file goes when this is dropped; the claim alone says who has the directory.
class DirectoryClaim {
 public:
  // `directory`: with links followed. kRetry, saying what is in use and by whom, if that is known: another
  // has it and has not given it up soon. kIo: nothing can be claimed there.
  static Result<std::unique_ptr<DirectoryClaim>> take(Disk& disk, const std::string& directory);
  ~DirectoryClaim() { (void)disk_.remove(path_); }  // Before anybody else can have claimed it.
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

 private:
  DirectoryClaim(Disk& disk, std::string path, std::unique_ptr<Claim> claim)
      : disk_(disk), path_(std::move(path)), claim_(std::move(claim)) {}

  Disk& disk_;
  const std::string path_;
  const std::unique_ptr<Claim> claim_;
};

}  // namespace thalweg::checkpoint
