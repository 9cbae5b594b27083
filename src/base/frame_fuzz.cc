// Arbitrary bytes as a frame: refused, or exactly what encoding the result gives again. The second half sets
// the checksums right, so that what lies behind it is reached too.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/frame.h"
#include "base/hash/hash.h"
#include "base/limits.h"

namespace thalweg {
namespace {

void expect_canonical(std::span<const std::byte> bytes) {
  const auto frame = decode_frame(bytes);
  if (!frame) return;
  const auto again = encode_frame(*frame);
  THALWEG_CHECK(std::ranges::equal(again, bytes), "a frame has one encoding");
  THALWEG_CHECK(!describe(frame->head).empty(), "a frame has a name");
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  expect_canonical(bytes);
  if (size < kHeaderBytes) return 0;
  Frame frame;
  std::array<std::byte, kHeaderBytes> header;
  std::memcpy(header.data(), data, kHeaderBytes);
  const std::uint64_t right = hash64(data, kHeaderBytes - sizeof right);
  std::memcpy(header.data() + kHeaderBytes - sizeof right, &right, sizeof right);
  const auto lengths = decode_header(header, limits::kFrameBytesBeforeHello, frame.head);
  if (!lengths) return 0;
  THALWEG_CHECK(lengths->wire_bytes() + kHeaderBytes <= limits::kFrameBytesBeforeHello, "the limit is kept");
  const auto payload = bytes.subspan(kHeaderBytes);
  if (payload.size() < lengths->wire_bytes()) return 0;
  const auto copy = [&](std::size_t offset, std::size_t count) {
    const auto part = payload.subspan(offset, count);
    return Bytes::of(std::vector<std::byte>(part.begin(), part.end()));
  };
  frame.first = copy(0, lengths->first);
  frame.second = copy(Frame::padded(lengths->first), lengths->second);
  const auto good = encode_frame(frame);
  THALWEG_CHECK(decode_frame(good).ok(), "what was encoded is decoded");
  expect_canonical(good);
  return 0;
}
