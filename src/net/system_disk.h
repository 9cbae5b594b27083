// The operating system's files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "node/disk.h"

namespace thalweg {

class SystemDisk : public Disk {
 public:
  std::string resolve(const std::string& path) const override;
  Result<Entry> look(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& directory) const override;
  Status check_writable(const std::string& directory) const override;
  Result<std::unique_ptr<File>> open(const std::string& path) const override;
  std::uint64_t draw() override;
  // By flock(2) on the file or directory itself; kRetry names the process that holds it, where it is of this
  // machine. Over NFS a lock on a directory keeps out this machine's processes alone.
  Result<std::unique_ptr<Claim>> claim(const std::string& path) override;
  Result<std::unique_ptr<File>> create(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status replace(const std::string& staged, const std::string& path) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
};

}  // namespace thalweg
