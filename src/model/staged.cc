#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "model/file.h"

namespace thalweg {
namespace {

// A name beside `path` that no other process or call uses.
std::string sibling(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

}  // namespace

Result<StagedDirectory> StagedDirectory::create(Disk& disk, const std::string& path) {
  std::string target = disk.resolve(path);
  std::string staging = sibling(target);
  if (Status status = disk.make_directory(staging); !status) return status;
  return StagedDirectory(disk, std::move(target), std::move(staging));
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : disk_(other.disk_), path_(std::move(other.path_)), staging_(std::exchange(other.staging_, {})) {}

StagedDirectory::~StagedDirectory() {
  if (!staging_.empty()) (void)disk_->remove(staging_);
}

Status StagedDirectory::commit() {
  if (Status status = disk_->sync_directory(staging_); !status) return status;
  if (Status status = disk_->replace(staging_, path_); !status) return status;
  // Now `staging_` names what was replaced. It goes once it is certain that no crash brings it back.
  const std::string replaced = std::exchange(staging_, {});
  if (Status status = disk_->sync_directory(parent_of(path_)); !status) return status;
  (void)disk_->remove(replaced);  // At worst it is left behind.
  return Status::ok();
}

Result<StagedFile> StagedFile::create(Disk& disk, const std::string& path) {
  std::string target = disk.resolve(path);
  if (const Entry found = disk.look(target); found != Entry::kNothing && found != Entry::kFile) {
    return Status(Code::kIo, "cannot write " + path + ": something that is not a regular file is in the way");
  }
  Result<std::unique_ptr<File>> file = disk.create(sibling(target));
  if (!file) return file.status();
  return StagedFile(disk, std::move(target), std::move(*file));
}

StagedFile::StagedFile(StagedFile&& other) noexcept = default;

StagedFile::~StagedFile() {
  if (file_) (void)disk_->remove(file_->path());
}

Status StagedFile::commit() {
  if (Status status = file_->sync(); !status) return status;
  if (Status status = disk_->replace(file_->path(), path_); !status) return status;
  file_.reset();
  return disk_->sync_directory(parent_of(path_));
}

}  // namespace thalweg
