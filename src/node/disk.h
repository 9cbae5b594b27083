// The seam for what outlives a process: files and directories, driven by the operating system and by the
// simulator alike. Calls block; they are for code outside of nodes, such as the writer of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

// An open file; closed when dropped. Every error is kIo and names the path, the bytes and the reason.
class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // All of `out`; kModel when the file ends earlier.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // Some of the bytes may have been written when it fails.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // What was written survives a crash once this has succeeded; the file's name may not: see sync_directory().
  virtual Status sync() = 0;
  // A hint: what is written is hardly read again, and need not stay in memory.
  virtual void expect_no_reads() {}
  virtual Result<std::uint64_t> size() const = 0;
  const std::string& path() const { return path_; }

 protected:
  explicit File(std::string path) : path_(std::move(path)) {}

 private:
  std::string path_;
};

// This process's use of what lies at a path; given up when dropped, and by the operating system when the
// process ends in any way.
class Claim {
 public:
  virtual ~Claim() = default;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 protected:
  Claim() = default;
};

// What lies at a path.
enum class Entry : std::uint8_t { kNothing, kFile, kDirectory, kOther };

class Disk {
 public:
  virtual ~Disk() = default;
  // Absolute, with links followed and without a trailing slash, so that replace() replaces what a link names.
  virtual std::string resolve(const std::string& path) const = 0;
  // Follows links. kIo where it cannot be told, as without permission on the way.
  virtual Result<Entry> look(const std::string& path) const = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) const = 0;  // Sorted names.
  // Whether entries could be made in `directory`, as far as can be told without making one.
  virtual Status check_writable(const std::string& directory) const = 0;

  virtual Result<std::unique_ptr<File>> open(
      const std::string& path) const = 0;  // A regular file, for reading.
  virtual std::uint64_t draw() = 0;        // A random number, for names that nobody else has.
  // A file or directory. kRetry: another claim is held on it, or nothing is there any more. kIo: the file
  // system has no claims.
  virtual Result<std::unique_ptr<Claim>> claim(const std::string& path) = 0;
  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;  // There must be nothing yet.
  virtual Status make_directory(const std::string& path) = 0;                 // There must be nothing yet.
  // At once, `path` names what `staged` named. What `path` named is gone if it was a file or an empty
  // directory, and is named `staged` otherwise. Both lie in one directory and are of one kind.
  virtual Status replace(const std::string& staged, const std::string& path) = 0;
  virtual Status remove(const std::string& path) = 0;  // With all that it holds; nothing there is fine.
  // Entries made, replaced and removed in `path` survive a crash once this has succeeded.
  virtual Status sync_directory(const std::string& path) = 0;
};

}  // namespace thalweg
