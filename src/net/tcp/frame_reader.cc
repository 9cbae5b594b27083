#include "net/tcp/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace thalweg {
namespace {

constexpr std::size_t kReadAhead = std::size_t{64} << 10;
// Behind a large payload: what is read ahead of the next one has to be copied.
constexpr std::size_t kReadAheadOfLarge = 4096;
static_assert(kReadAheadOfLarge >= limits::kFrameBytesBeforeHello);

// Uninitialized. Values begin a cache line, so that no vector of them spans two.
// Large buffers are not pooled here: the C library's allocator keeps and reuses them as well.
std::shared_ptr<std::byte> allocate(const PayloadLengths& lengths) {
  constexpr std::size_t kLine = 64;
  const std::size_t values_at = Frame::padded(lengths.first);
  auto words =
      std::make_shared_for_overwrite<std::uint64_t[]>((lengths.wire_bytes() + kLine) / sizeof(std::uint64_t));
  const std::size_t beyond_line = (reinterpret_cast<std::uintptr_t>(words.get()) + values_at) % kLine;
  auto* start = static_cast<std::byte*>(static_cast<void*>(words.get())) + (kLine - beyond_line) % kLine;
  return {std::move(words), start};
}

}  // namespace

std::size_t FrameReader::space(std::span<iovec, 2> parts) {
  const bool stranger = frame_bytes_max_ <= kReadAheadOfLarge;
  const std::size_t ahead = stranger || large_frames_ ? kReadAheadOfLarge : kReadAhead;
  if (small_.size() < ahead) small_.resize(ahead);
  if (begin_ == end_) begin_ = end_ = 0;
  if (payload_ != nullptr) {
    THALWEG_CHECK(begin_ == end_, "a payload takes all that was read ahead");
    parts[0] = {payload_.get() + payload_got_, lengths_.wire_bytes() - payload_got_};
    parts[1] = {small_.data(), ahead};
    return 2;
  }
  if (begin_ != 0) {
    std::memmove(small_.data(), small_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  parts[0] = {small_.data() + end_, std::max(ahead, end_ + kHeaderBytes) - end_};
  return 1;
}

void FrameReader::filled(std::size_t bytes) {
  if (payload_ != nullptr) {
    const std::size_t mine = std::min(bytes, lengths_.wire_bytes() - payload_got_);
    payload_got_ += mine;
    bytes -= mine;
  }
  end_ += bytes;
}

// If there is one before the header.
Status FrameReader::take_reference() {
  const auto bytes = std::span<const std::byte>(small_).subspan(begin_, end_ - begin_);
  if (named_ || bytes.size() < KnownKeys::kReferenceBytes || !KnownKeys::begins(bytes)) return ok_status();
  auto named = known_.named(bytes.first(KnownKeys::kReferenceBytes));
  if (!named) return named.status();
  named_ = *std::move(named);
  begin_ += KnownKeys::kReferenceBytes;
  return ok_status();
}

Result<std::optional<Frame>> FrameReader::next() {
  if (payload_ == nullptr) {
    if (Status status = take_reference(); !status.ok()) return status;
    if (end_ - begin_ < kHeaderBytes) return std::optional<Frame>();
    const auto header = std::span<const std::byte>(small_).subspan(begin_).first<kHeaderBytes>();
    const auto room = frame_bytes_max_ - (named_ ? Frame::padded(named_->size()) : 0);
    const auto lengths = decode_header(header, room, head_);
    if (!lengths) return lengths.status();
    if (named_ && lengths->first != 0)
      return Status(Code::kRefused, "frame refused: it names keys and has some of its own");
    begin_ += kHeaderBytes;
    lengths_ = *lengths;
    const std::size_t total = lengths_.wire_bytes();
    payload_ = allocate(lengths_);
    payload_got_ = std::min(end_ - begin_, total);
    if (payload_got_ > 0) std::memcpy(payload_.get(), small_.data() + begin_, payload_got_);
    begin_ += payload_got_;
    large_frames_ = total >= kReadAhead;
  }
  if (payload_got_ < lengths_.wire_bytes()) return std::optional<Frame>();
  return finish_frame();
}

Result<std::optional<Frame>> FrameReader::finish_frame() {
  Frame frame;
  frame.head = head_;
  const std::byte* bytes = payload_.get();
  frame.first = Bytes(payload_, {bytes, lengths_.first});
  frame.second = Bytes(payload_, {bytes + Frame::padded(lengths_.first), lengths_.second});
  const Status padding = check_padding({bytes, lengths_.wire_bytes()}, lengths_);
  payload_.reset();
  if (!padding.ok()) return padding;
  if (Status status = check_payload(frame, lengths_); !status.ok() && !THALWEG_BUG(kChecksumUnread))
    return status;
  if (named_) {
    frame.first = *std::exchange(named_, std::nullopt);
  } else {
    known_.on_frame(frame);
  }
  return std::optional<Frame>(std::move(frame));
}

}  // namespace thalweg
