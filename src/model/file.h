// Files whose failures are Status values that name the path, the bytes and the operating system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

// "cannot DO PATH: REASON" with errno's reason.
Status io_error(const std::string& what, const std::string& path);

class File {
 public:
  static Result<File> open(const std::string& path);    // For reading; must be a regular file.
  static Result<File> create(const std::string& path);  // For writing and reading; must not exist.
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const;  // All of `out`, or an error.
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  Status sync();
  Result<std::uint64_t> size() const;
  const std::string& path() const { return path_; }

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
};

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

// XXH3-128 of all bytes as 32 hex digits.
Result<std::string> hash_file(const File& file);
std::string hash_text(std::string_view text);

// Makes the entries of a directory durable.
Status sync_directory(const std::string& path);

// A directory that appears at `path` whole or not at all: it is filled under a temporary name beside `path`,
// and commit() renames it into place. What was at `path` stays until then.
class StagedDirectory {
 public:
  static Result<StagedDirectory> create(const std::string& path);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();  // Removes the temporary directory unless committed.
  const std::string& staging() const { return staging_; }
  Status commit();  // The files must be synced already.

 private:
  StagedDirectory(std::string path, std::string staging)
      : path_(std::move(path)), staging_(std::move(staging)) {}
  std::string path_;
  std::string staging_;
};

// A file that appears at `path` whole or not at all; replaces a regular file of that name.
class StagedFile {
 public:
  static Result<StagedFile> create(const std::string& path);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();
  File& file() { return file_; }
  Status commit();

 private:
  StagedFile(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  File file_;
  bool staged_ = true;
};

}  // namespace thalweg
