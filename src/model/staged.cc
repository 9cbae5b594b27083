#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "model/file.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

// A name beside `path` that no other process or call uses.
std::string sibling(const std::string& path, const char* purpose) {
  static std::atomic<unsigned> count{0};
  return path + "." + purpose + "-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

// Links resolved and the trailing slash dropped, so that a rename replaces the directory and not the link to
// it.
std::string real_path(const std::string& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return path;
  if (!resolved.has_filename()) resolved = resolved.parent_path();
  return resolved.string();
}

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

Result<StagedDirectory> StagedDirectory::create(const std::string& path) {
  const std::string target = real_path(path);
  std::string staging = sibling(target, "tmp");
  if (::mkdir(staging.c_str(), 0777) != 0) return io_error("create directory", staging);
  return StagedDirectory(target, std::move(staging));
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : path_(std::move(other.path_)), staging_(std::exchange(other.staging_, {})) {}

StagedDirectory::~StagedDirectory() {
  if (!staging_.empty()) remove_tree(staging_);
}

Status StagedDirectory::commit() {
  if (Status status = sync_directory(staging_); !status) return status;
  if (::rename(staging_.c_str(), path_.c_str()) == 0) {
    staging_.clear();
    return sync_directory(parent_of(path_));
  }
  if (errno != EEXIST && errno != ENOTEMPTY) return io_error("rename " + staging_ + " to", path_);
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
    // This file system cannot exchange: for a moment only the names beside `path` exist.
    const std::string old = sibling(path_, "old");
    if (::rename(path_.c_str(), old.c_str()) != 0) return io_error("rename " + path_ + " to", old);
    if (::rename(staging_.c_str(), path_.c_str()) != 0) {
      const Status status = io_error("rename " + staging_ + " to", path_);
      if (::rename(old.c_str(), path_.c_str()) != 0) return io_error("put back " + old + " as", path_);
      return status;
    }
    staging_ = old;
  }
  const Status status = sync_directory(parent_of(path_));
  remove_tree(staging_);
  staging_.clear();
  return status;
}

Result<StagedFile> StagedFile::create(const std::string& path) {
  const std::string target = real_path(path);
  std::error_code error;
  if (fs::exists(target, error) && !fs::is_regular_file(target, error)) {
    return Status(Code::kIo, "cannot write " + path + ": something that is not a regular file is in the way");
  }
  Result<File> file = File::create(sibling(target, "tmp"));
  if (!file) return file.status();
  return StagedFile(target, std::move(*file));
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      staged_(std::exchange(other.staged_, false)) {}

StagedFile::~StagedFile() {
  if (staged_) ::unlink(file_.path().c_str());
}

Status StagedFile::commit() {
  if (Status status = file_.sync(); !status) return status;
  if (::rename(file_.path().c_str(), path_.c_str()) != 0)
    return io_error("rename " + file_.path() + " to", path_);
  staged_ = false;
  return sync_directory(parent_of(path_));
}

}  // namespace thalweg
