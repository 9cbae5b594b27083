#include "data/unpack/plain_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "data/unpack/pipe_patience.h"

namespace thalweg {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{128} << 10;
constexpr int kPipeWaitMs = 2;  // Before read() gives way: longer than a busy writer takes.

}  // namespace

PlainStream::PlainStream(std::string name, int fd) : name_(std::move(name)), fd_(fd), buffer_(kBufferBytes) {}

PlainStream::PlainStream(std::string name, std::unique_ptr<CommandOutput> command)
    : name_(std::move(name)), fd_(-1), command_(std::move(command)), buffer_(kBufferBytes) {}

PlainStream::~PlainStream() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

Result<std::size_t> PlainStream::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    const Result<std::size_t> filled = fill();
    if (!filled || *filled == 0) return filled;
  }
  const std::size_t count = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, count);
  take(count);
  return count;
}

Result<std::size_t> PlainStream::fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (command_) {
    const Result<std::size_t> count = command_->read(buffer_.data() + end_, buffer_.size() - end_);
    if (count) end_ += *count;
    return count;
  }
  if (give_way_) {
    pollfd writer{fd_, POLLIN, 0};
    if (::poll(&writer, 1, kPipeWaitMs) <= 0) return Status(Code::kRetry, name_ + " has nothing yet");
  } else if (Status status = PipePatience::wait(fd_); !status.ok()) {
    return status;
  }
  for (;;) {
    const ssize_t count = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return Status(Code::kIo, fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    end_ += static_cast<std::size_t>(count);
    return static_cast<std::size_t>(count);
  }
}

Status damaged(const PlainStream& from, const char* kind, const char* why) {
  return {Code::kData, fmt::format("{}: {} data is damaged at packed byte {}: {}", from.name(), kind,
                                   from.bytes_consumed(), why)};
}

Status cut(const PlainStream& from, const char* kind) {
  return {Code::kData,
          fmt::format("{}: ends in the middle of its {} data after {} packed bytes, expected the rest",
                      from.name(), kind, from.bytes_consumed())};
}

}  // namespace thalweg
