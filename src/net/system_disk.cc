#include "net/system_disk.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCallBytesMax = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call.
// A last sync of a large file would block its caller for as long as the disk takes to write all of it. So the
// disk is always given what has been written, and at most so much of it is waited for.
constexpr std::uint64_t kGivenBytes = std::uint64_t{1} << 20, kUnsyncedBytesMax = std::uint64_t{64} << 20;

// "cannot DO PATH: REASON" with errno's reason.
Status io_error(const std::string& what, const std::string& path) {
  const char* hint = errno == EFBIG ? " (ulimit -f limits the size of files)" : "";
  return {Code::kIo, "cannot " + what + " " + path + ": " + std::generic_category().message(errno) + hint};
}

Status io_error(const std::string& what, const std::string& path, const std::error_code& error) {
  return {Code::kIo, "cannot " + what + " " + path + ": " + error.message()};
}

class SystemFile final : public File {
 public:
  SystemFile(int fd, std::string path) : File(std::move(path)), fd_(fd) {}
  ~SystemFile() override { ::close(fd_); }

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t wanted = out.size();
    while (!out.empty()) {
      const ssize_t got =
          ::pread(fd_, out.data(), std::min(out.size(), kCallBytesMax), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return io_error(fmt::format("read {} bytes at {} of", wanted, offset), path());
      if (got == 0) {
        return {Code::kModel,
                fmt::format("{} ends {} bytes too early, at byte {}", path(), out.size(), offset)};
      }
      out = out.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
    return ok_status();
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const std::size_t wanted = bytes.size();
    const std::uint64_t end = offset + wanted;
    while (!bytes.empty()) {
      const ssize_t put =
          ::pwrite(fd_, bytes.data(), std::min(bytes.size(), kCallBytesMax), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return io_error(fmt::format("write {} bytes at {} of", wanted, offset), path());
      bytes = bytes.subspan(static_cast<std::size_t>(put));
      offset += static_cast<std::uint64_t>(put);
    }
    return end < given_ + kGivenBytes ? ok_status() : give_disk(end);
  }

  Status sync() override {
    if (::fsync(fd_) != 0) return io_error("sync", path());
    leave_memory(synced_, 0);
    return ok_status();
  }

  void expect_no_reads() override { expects_reads_ = false; }

  Result<std::uint64_t> size() const override {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) return io_error("look at", path());
    return static_cast<std::uint64_t>(info.st_size);
  }

 private:
  // Begins to write what lies before `end`, and waits for what lies so far before it that it should be
  // written.
  Status give_disk(std::uint64_t end) {
    constexpr unsigned kAll =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    const auto write = [this](std::uint64_t begin, std::uint64_t until, unsigned how) {
      return ::sync_file_range(fd_, static_cast<off_t>(begin), static_cast<off_t>(until - begin), how) == 0;
    };
    if (!write(given_, end, SYNC_FILE_RANGE_WRITE)) return io_error("sync", path());
    given_ = end;
    if (end <= synced_ + kUnsyncedBytesMax) return ok_status();
    const std::uint64_t until = end - kUnsyncedBytesMax / 2;
    if (!write(synced_, until, kAll)) return io_error("sync", path());
    leave_memory(synced_, until - synced_);
    synced_ = until;
    return ok_status();
  }

  // Pages that are written, so that the next ones take their place; 0: up to the end.
  void leave_memory(std::uint64_t begin, std::uint64_t bytes) const {
    if (expects_reads_) return;
    ::posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
  }

  int fd_;
  bool expects_reads_ = true;
  std::uint64_t given_ = 0, synced_ = 0;  // Up to here, where it is written from its beginning on.
};

class SystemClaim final : public Claim {
 public:
  explicit SystemClaim(int fd) : fd_(fd) {}
  ~SystemClaim() override { ::close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// By flock(2); proc(5) has each lock in a line, "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF".
std::string in_use(const std::string& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return path + " is in use";
  const std::string file =
      fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, locked;
    words >> number >> kind >> advisory >> access >> process >> locked;
    if (kind == "FLOCK" && locked == file) return fmt::format("{} is in use by process {}", path, process);
  }
  return path + " is in use, by a process that cannot be seen from here, as on another machine";
}

// For file systems that cannot exchange: for a moment only the names beside `path` exist.
Status exchange_in_steps(const std::string& staged, const std::string& path) {
  const std::string old = staged + ".old";
  if (::rename(path.c_str(), old.c_str()) != 0) return io_error("rename " + path + " to", old);
  if (::rename(staged.c_str(), path.c_str()) != 0) {
    const Status status = io_error("rename " + staged + " to", path);
    if (::rename(old.c_str(), path.c_str()) != 0) return io_error("put back " + old + " as", path);
    return status;
  }
  return ::rename(old.c_str(), staged.c_str()) == 0 ? ok_status() : io_error("rename " + old + " to", staged);
}

}  // namespace

std::string SystemDisk::resolve(const std::string& path) const {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return path;
  if (!resolved.has_filename()) resolved = resolved.parent_path();
  return resolved.string();
}

Result<Entry> SystemDisk::look(const std::string& path) const {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Entry::kNothing;
    return io_error("look at", path);
  }
  if (S_ISDIR(info.st_mode)) return Entry::kDirectory;
  return S_ISREG(info.st_mode) ? Entry::kFile : Entry::kOther;
}

Result<std::vector<std::string>> SystemDisk::list(const std::string& directory) const {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) return io_error("list", directory, error);
  std::sort(names.begin(), names.end());
  return names;
}

Status SystemDisk::check_writable(const std::string& directory) const {
  return ::access(directory.c_str(), W_OK | X_OK) == 0 ? ok_status() : io_error("write in", directory);
}

Result<std::unique_ptr<File>> SystemDisk::open(const std::string& path) const {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io_error("open", path);
  auto file = std::make_unique<SystemFile>(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return io_error("look at", path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kIo, "cannot read " + path + ": not a regular file");
  return std::unique_ptr<File>(std::move(file));
}

std::uint64_t SystemDisk::draw() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Result<std::unique_ptr<Claim>> SystemDisk::claim(const std::string& path) {
  constexpr int kHow = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int fd = ::open(path.c_str(), O_RDWR | kHow);  // Over NFS only what may be written to can be locked.
  if (fd < 0 && errno != ENOENT) fd = ::open(path.c_str(), O_RDONLY | kHow);
  const auto gone = [&] { return Status(Code::kRetry, path + " is no longer there"); };
  if (fd < 0) return errno == ENOENT ? gone() : io_error("open", path);
  auto claim = std::make_unique<SystemClaim>(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Status(Code::kRetry, in_use(path, fd));
    return io_error("lock", path);
  }
  // Who held it until now may have removed it, and another may have taken the name.
  struct stat locked {
  }, named{};
  if (::fstat(fd, &locked) != 0) return io_error("look at", path);
  if (::lstat(path.c_str(), &named) != 0 || locked.st_ino != named.st_ino || locked.st_dev != named.st_dev) {
    return gone();
  }
  return std::unique_ptr<Claim>(std::move(claim));
}

Result<std::unique_ptr<File>> SystemDisk::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return io_error("create", path);
  return std::unique_ptr<File>(std::make_unique<SystemFile>(fd, path));
}

Status SystemDisk::make_directory(const std::string& path) {
  return ::mkdir(path.c_str(), 0777) == 0 ? ok_status() : io_error("create directory", path);
}

Status SystemDisk::replace(const std::string& staged, const std::string& path) {
  if (::rename(staged.c_str(), path.c_str()) == 0) return ok_status();
  if (errno != EEXIST && errno != ENOTEMPTY) return io_error("rename " + staged + " to", path);
  if (::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return ok_status();
  return exchange_in_steps(staged, path);
}

Status SystemDisk::remove(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? io_error("remove", path, error) : ok_status();
}

Status SystemDisk::sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error("open", path);
  const Status status = ::fsync(fd) == 0 ? ok_status() : io_error("sync", path);
  ::close(fd);
  return status;
}

}  // namespace thalweg
