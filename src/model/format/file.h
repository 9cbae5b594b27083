// Files of a disk as models need them: streams, hashes, and files and directories that appear whole or not at
// all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash/hash.h"
#include "node/disk.h"
#include "thalweg/status.h"

namespace thalweg {

// Writes at a moving position of a file through a buffer.
class FileStream {
 public:
  explicit FileStream(File& file, std::uint64_t offset = 0) : file_(&file), offset_(offset) {}
  Status write(std::span<const std::byte> bytes);
  Status flush();
  std::uint64_t position() const { return offset_ + buffer_.size(); }

 private:
  File* file_;
  std::uint64_t offset_;
  std::string buffer_;
};

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

// StreamHash of all bytes.
Result<std::string> hash_file(const File& file);
std::string hash_text(std::string_view text);

// What is in a regular file, in a new one at `to`, which survives a crash once its directory is synced. kIo.
Status copy_file(Disk& disk, const std::string& from, const std::string& to);

// A directory that appears at `path` whole or not at all: it is filled under a temporary name beside `path`,
// `path`.tmp- and 16 hex digits, and commit() renames it into place. What was at `path` stays until then.
// What others have left under such names is removed first, unless they are still at it.
class StagedDirectory {
 public:
  // The disk must outlive it.
  static Result<StagedDirectory> create(Disk& disk, const std::string& path);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();  // Removes the temporary directory unless committed.
  const std::string& staging() const { return staging_; }
  Status commit();  // The files must be synced already.

 private:
  StagedDirectory(Disk& disk, std::string path, std::string staging, std::unique_ptr<Claim> claim)
      : disk_(&disk), path_(std::move(path)), staging_(std::move(staging)), claim_(std::move(claim)) {}
  Disk* disk_;
  std::string path_;
  std::string staging_;
  std::unique_ptr<Claim> claim_;  // Null where the file system has none.
};

// A file that appears at `path` whole or not at all; replaces a regular file of that name.
class StagedFile {
 public:
  static Result<StagedFile> create(Disk& disk, const std::string& path);  // The disk must outlive it.
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();
  File& file() { return *file_; }
  Status commit();

 private:
  StagedFile(Disk& disk, std::string path, std::unique_ptr<File> file, std::unique_ptr<Claim> claim)
      : disk_(&disk), path_(std::move(path)), claim_(std::move(claim)), file_(std::move(file)) {}
  Disk* disk_;
  std::string path_;
  std::unique_ptr<Claim> claim_;
  std::unique_ptr<File> file_;  // Null once committed.
};

}  // namespace thalweg
