#include "data/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "data/idx.h"

namespace thalweg {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{128} << 10;
constexpr int kPipeWaitMs = 2;  // Before read() gives way: longer than a busy writer takes.

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

// A buffered file descriptor.
class PlainStream final : public ByteStream {
 public:
  PlainStream(std::string name, int fd) : name_(std::move(name)), fd_(fd), buffer_(kBufferBytes) {}
  ~PlainStream() override {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    if (begin_ == end_) {
      const Result<std::size_t> filled = fill();
      if (!filled || *filled == 0) return filled;
    }
    const std::size_t count = std::min(size, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, count);
    take(count);
    return count;
  }
  void give_way() override { give_way_ = true; }
  std::uint64_t bytes_consumed() const override { return consumed_; }
  Packing packing() const override { return Packing::kPlain; }

  // Reads behind what is buffered; 0: the end, or the buffer is full.
  Result<std::size_t> fill() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (give_way_) {
      pollfd writer{fd_, POLLIN, 0};
      if (::poll(&writer, 1, kPipeWaitMs) <= 0) return Status(Code::kRetry, name_ + " has nothing yet");
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
  char* data() { return buffer_.data() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  void take(std::size_t count) { begin_ += count, consumed_ += count; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t consumed_ = 0;
  bool give_way_ = false;
};

Status damaged(const PlainStream& from, const char* kind, const char* why) {
  return {Code::kData, fmt::format("{}: {} data is damaged at packed byte {}: {}", from.name(), kind,
                                   from.bytes_consumed(), why)};
}

Status cut(const PlainStream& from, const char* kind) {
  return {Code::kData,
          fmt::format("{}: ends in the middle of its {} data after {} packed bytes, expected the rest",
                      from.name(), kind, from.bytes_consumed())};
}

// gzip (RFC 1952), several members allowed as from `cat a.gz b.gz`.
class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<PlainStream> from) : from_(std::move(from)) {
    THALWEG_CHECK(inflateInit2(&z_, 15 + 16) == Z_OK, "zlib starts");
  }
  ~GzipStream() override { inflateEnd(&z_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = static_cast<uInt>(std::min(size, kBufferBytes));
    const std::size_t wanted = z_.avail_out;
    while (z_.avail_out == wanted) {
      if (from_->size() == 0) {
        const Result<std::size_t> filled = from_->fill();
        if (!filled) return filled;
        if (*filled == 0 && member_done_) return std::size_t{0};
        if (*filled == 0) return cut(*from_, "gzip");
      }
      if (member_done_) {
        inflateReset(&z_);
        member_done_ = false;
      }
      z_.next_in = reinterpret_cast<Bytef*>(from_->data());
      z_.avail_in = static_cast<uInt>(from_->size());
      const int result = inflate(&z_, Z_NO_FLUSH);
      from_->take(from_->size() - z_.avail_in);
      if (result == Z_STREAM_END) member_done_ = true;
      if (result != Z_OK && result != Z_STREAM_END) {
        return damaged(*from_, "gzip", z_.msg != nullptr ? z_.msg : "unknown block");
      }
    }
    return wanted - z_.avail_out;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return Packing::kGzip; }

 private:
  std::unique_ptr<PlainStream> from_;
  z_stream z_{};
  bool member_done_ = false;
};

// Zstandard (RFC 8878), several frames allowed.
class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<PlainStream> from) : from_(std::move(from)), z_(ZSTD_createDStream()) {
    THALWEG_CHECK(z_ != nullptr, "zstd starts");
  }
  ~ZstdStream() override { ZSTD_freeDStream(z_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      // With the input used up there may still be output inside the decoder, so it is asked before the file.
      if (from_->size() == 0 && !flushing_) {
        const Result<std::size_t> filled = from_->fill();
        if (!filled) return filled;
        if (*filled == 0 && frame_done_) return std::size_t{0};
        if (*filled == 0) return cut(*from_, "zstd");
      }
      ZSTD_inBuffer in{from_->data(), from_->size(), 0};
      const std::size_t result = ZSTD_decompressStream(z_, &out, &in);
      from_->take(in.pos);
      if (ZSTD_isError(result) != 0) return damaged(*from_, "zstd", ZSTD_getErrorName(result));
      frame_done_ = result == 0;
      flushing_ = out.pos == out.size && !frame_done_;
    }
    return out.pos;
  }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return Packing::kZstd; }

 private:
  std::unique_ptr<PlainStream> from_;
  ZSTD_DStream* z_;
  bool frame_done_ = false;
  bool flushing_ = false;
};

// What pzstd begins with (RFC 8878, section 3.1.2).
bool is_skippable_frame(PlainStream& stream) {
  const char* p = stream.data();
  return stream.size() >= 4 && (p[0] & 0xf0) == 0x50 && std::memcmp(p + 1, "\x2a\x4d\x18", 3) == 0;
}

// A stream whose first bytes have been looked at.
class PeekedStream final : public ByteStream {
 public:
  explicit PeekedStream(std::unique_ptr<ByteStream> from) : from_(std::move(from)) {}
  // Fewer bytes than the magic: it has ended. kRetry never comes: only a pipe's reader is asked to give way,
  // later.
  Result<std::string_view> peek() {
    while (size_ < kIdxMagicBytes) {
      const Result<std::size_t> count = from_->read(bytes_ + size_, kIdxMagicBytes - size_);
      if (!count) return count.status();
      if (*count == 0) break;
      size_ += *count;
    }
    return std::string_view(bytes_, size_);
  }
  Result<std::size_t> read(char* to, std::size_t size) override {
    if (given_ == size_) return from_->read(to, size);
    const std::size_t count = std::min(size, size_ - given_);
    std::memcpy(to, bytes_ + given_, count);
    given_ += count;
    return count;
  }
  void skip_peeked() { given_ = size_; }
  void give_way() override { from_->give_way(); }
  std::uint64_t bytes_consumed() const override { return from_->bytes_consumed(); }
  Packing packing() const override { return from_->packing(); }

 private:
  std::unique_ptr<ByteStream> from_;
  char bytes_[kIdxMagicBytes] = {};
  std::size_t size_ = 0, given_ = 0;
};

// Images become rows of text; anything else stays as it is.
Result<std::unique_ptr<ByteStream>> as_rows(const std::string& path, std::unique_ptr<ByteStream> stream) {
  auto peeked = std::make_unique<PeekedStream>(std::move(stream));
  const Result<std::string_view> magic = peeked->peek();
  if (!magic) return magic.status();
  if (magic->size() == kIdxMagicBytes && is_idx_images(magic->data())) {
    peeked->skip_peeked();
    return open_idx_rows(path, std::move(peeked));
  }
  return std::unique_ptr<ByteStream>(std::move(peeked));
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_unpacked(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code::kIo, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  auto plain = std::make_unique<PlainStream>(display_name(path), fd);
  while (plain->size() < 4) {
    const Result<std::size_t> filled = plain->fill();
    if (!filled) return filled.status();
    if (*filled == 0) break;
  }
  const auto starts_with = [&](std::string_view magic) {
    return plain->size() >= magic.size() && std::memcmp(plain->data(), magic.data(), magic.size()) == 0;
  };
  if (starts_with("\x1f\x8b")) {
    return std::unique_ptr<ByteStream>(std::make_unique<GzipStream>(std::move(plain)));
  }
  if (starts_with("\x28\xb5\x2f\xfd") || is_skippable_frame(*plain)) {
    return std::unique_ptr<ByteStream>(std::make_unique<ZstdStream>(std::move(plain)));
  }
  return std::unique_ptr<ByteStream>(std::move(plain));
}

Result<std::unique_ptr<ByteStream>> open_byte_stream(const std::string& path) {
  Result<std::unique_ptr<ByteStream>> unpacked = open_unpacked(path);
  if (!unpacked) return unpacked.status();
  return as_rows(path, *std::move(unpacked));
}

}  // namespace thalweg
