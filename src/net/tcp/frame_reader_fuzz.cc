// An arbitrary stream, arriving in pieces: it ends in an error or in frames that encode to what was read.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "net/tcp/frame_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  const std::span<const std::byte> stream = std::as_bytes(std::span(data + 1, size - 1));
  FrameReader reader;
  std::size_t read = 0;
  std::size_t used = 0;
  while (read < stream.size()) {
    iovec parts[2];
    const std::size_t count = reader.space(parts);
    std::size_t filled = 0;
    for (std::size_t i = 0; i < count && filled < piece; ++i) {
      const std::size_t part = std::min({parts[i].iov_len, piece - filled, stream.size() - read});
      if (part == 0) break;
      std::memcpy(parts[i].iov_base, stream.data() + read, part);
      read += part;
      filled += part;
    }
    reader.filled(filled);
    for (;;) {
      const auto next = reader.next();
      if (!next) return 0;
      if (!next->has_value()) break;
      const auto bytes = encode_frame(**next);
      THALWEG_CHECK(bytes.size() <= limits::kFrameBytesBeforeHello, "the limit is kept");
      THALWEG_CHECK(std::ranges::equal(bytes, stream.subspan(used, bytes.size())), "nothing is lost");
      used += bytes.size();
    }
  }
  return 0;
}
