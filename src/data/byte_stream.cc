#include "data/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "data/idx.h"
#include "data/unpack/pipe_patience.h"
#include "data/unpack/unpackers.h"

namespace thalweg {
namespace {

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

// What pzstd begins with (RFC 8878, section 3.1.2).
bool is_skippable_frame(std::string_view head) {
  return head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18";
}

// "BZh" and the size of blocks might begin text; the magic of the first block, or of the end, does not.
bool is_bzip2(std::string_view head) {
  return head.size() >= 10 && head.starts_with("BZh") && head[3] >= '1' && head[3] <= '9' &&
         (head.substr(4, 6) == "\x31\x41\x59\x26\x53\x59" || head.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
}

// Whether more bytes may show that it is packed; whoever writes a pipe may wait for an answer to these.
bool may_be_packed(std::string_view head) {
  using namespace std::string_view_literals;
  constexpr std::size_t kLongestMagic = 10, kSkippableMagic = 4;
  if (head.size() >= kLongestMagic) return false;
  const auto begins = [&](std::string_view magic) {
    const std::size_t size = std::min(head.size(), magic.size());
    return head.substr(0, size) == magic.substr(0, size);
  };
  return begins("\x1f\x8b"sv) || begins("\x28\xb5\x2f\xfd"sv) || begins("\xfd\x37\x7a\x58\x5a\0"sv) ||
         begins("BZh"sv) || ((head[0] & 0xf0) == 0x50 && head.size() < kSkippableMagic);
}

// By what its first bytes, which are buffered, say.
std::unique_ptr<ByteStream> unpacked(std::unique_ptr<PlainStream> plain) {
  using namespace std::string_view_literals;
  const std::string_view head(plain->data(), plain->size());
  if (head.starts_with("\x1f\x8b"sv)) return unpack_gzip(std::move(plain));
  if (head.starts_with("\x28\xb5\x2f\xfd"sv) || is_skippable_frame(head))
    return unpack_zstd(std::move(plain));
  if (head.starts_with("\xfd\x37\x7a\x58\x5a\0"sv)) return unpack_xz(std::move(plain));
  if (is_bzip2(head)) return unpack_bzip2(std::move(plain));
  return plain;
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

// Without waiting for the writer of a pipe where PipePatience does so.
int open_to_read(const std::string& path) {
  if (!PipePatience::is_limited()) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

Result<std::unique_ptr<PlainStream>> open_plain(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : open_to_read(path);
  if (fd < 0) return Status(Code::kIo, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  return std::make_unique<PlainStream>(display_name(path), fd);
}

Result<std::unique_ptr<PlainStream>> run_for(const std::string& path, CommandsAhead& commands) {
  auto output = commands.next();
  if (!output) return output.status();
  return std::make_unique<PlainStream>(path, *std::move(output));
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_unpacked(const std::string& path, CommandsAhead* commands) {
  Result<std::unique_ptr<PlainStream>> opened = commands ? run_for(path, *commands) : open_plain(path);
  if (!opened) return opened.status();
  std::unique_ptr<PlainStream> plain = *std::move(opened);
  while (may_be_packed({plain->data(), plain->size()})) {
    const Result<std::size_t> filled = plain->fill();
    if (!filled) return filled.status();
    if (*filled == 0) break;
  }
  return unpacked(std::move(plain));
}

Result<std::unique_ptr<ByteStream>> open_byte_stream(const std::string& path, CommandsAhead* commands) {
  Result<std::unique_ptr<ByteStream>> unpacked = open_unpacked(path, commands);
  if (!unpacked) return unpacked.status();
  return as_rows(path, *std::move(unpacked));
}

}  // namespace thalweg
