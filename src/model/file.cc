#include "model/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

namespace thalweg {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::size_t kCallBytesMax = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call.

std::string hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

Status io_error(const std::string& what, const std::string& path) {
  return {Code::kIo, "cannot " + what + " " + path + ": " + std::generic_category().message(errno)};
}

Result<File> File::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io_error("open", path);
  File file(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return io_error("look at", path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kIo, "cannot read " + path + ": not a regular file");
  return file;
}

Result<File> File::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return io_error("create", path);
  return File(fd, path);
}

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Status File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t wanted = out.size();
  while (!out.empty()) {
    const ssize_t got =
        ::pread(fd_, out.data(), std::min(out.size(), kCallBytesMax), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(fmt::format("read {} bytes at {} of", wanted, offset), path_);
    if (got == 0) {
      return {Code::kModel, fmt::format("{} ends {} bytes too early, at byte {}", path_, out.size(), offset)};
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return Status::ok();
}

Status File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::size_t wanted = bytes.size();
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(fd_, bytes.data(), std::min(bytes.size(), kCallBytesMax), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return io_error(fmt::format("write {} bytes at {} of", wanted, offset), path_);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return Status::ok();
}

Status File::sync() { return ::fsync(fd_) == 0 ? Status::ok() : io_error("sync", path_); }

Result<std::uint64_t> File::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return io_error("look at", path_);
  return static_cast<std::uint64_t>(info.st_size);
}

Status FileStream::write(std::span<const std::byte> bytes) {
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return buffer_.size() < kBufferBytes ? Status::ok() : flush();
}

Status FileStream::flush() {
  const Status status = file_->write_at(offset_, bytes_of(buffer_));
  offset_ += buffer_.size();
  buffer_.clear();
  return status;
}

Result<std::string> hash_file(const File& file) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.status();
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<std::byte> buffer(kBufferBytes);
  for (std::uint64_t offset = 0; offset < *size; offset += kBufferBytes) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, *size - offset));
    const std::span<std::byte> part = std::span(buffer).first(count);
    if (Status status = file.read_at(offset, part); !status) return status;
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  return hex(XXH3_128bits_digest(state.get()));
}

std::string hash_text(std::string_view text) { return hex(XXH3_128bits(text.data(), text.size())); }

Status sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error("open", path);
  const Status status = ::fsync(fd) == 0 ? Status::ok() : io_error("sync", path);
  ::close(fd);
  return status;
}

}  // namespace thalweg
