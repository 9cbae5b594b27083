// Arrays in the bytes of entries and states, in pieces, so that a reader allocates no more than has come.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/range_set.h"
#include "thalweg/ids.h"

namespace thalweg {

inline constexpr std::size_t kPieceBytesMax = std::size_t{1} << 26;

// array := text* text: full pieces, one that is less, perhaps, and an empty one.
template <class T>
void put_array(Writer& out, std::span<const T> values) {
  std::string_view rest(static_cast<const char*>(static_cast<const void*>(values.data())),
                        values.size_bytes());
  while (!rest.empty()) {
    out.put_text(rest.substr(0, kPieceBytesMax));
    rest.remove_prefix(std::min(rest.size(), kPieceBytesMax));
  }
  out.put_text({});
}

template <class T>
std::vector<T> get_array(Reader& in) {
  std::vector<T> values;
  std::size_t last = kPieceBytesMax;
  for (std::string piece = in.get_text(kPieceBytesMax); !piece.empty(); piece = in.get_text(kPieceBytesMax)) {
    if (piece.size() % sizeof(T) != 0 || last < kPieceBytesMax) {
      in.fail();
      return {};
    }
    const std::size_t known = values.size();
    values.resize(known + piece.size() / sizeof(T));
    std::memcpy(values.data() + known, piece.data(), (values.size() - known) * sizeof(T));
    last = piece.size();
  }
  return values;
}

inline void put_step(Writer& out, Step step) { out.put(step.epoch).put(step.index); }
inline Step get_step(Reader& in) {
  const auto epoch = in.get<std::uint32_t>();
  return {epoch, in.get<std::uint32_t>()};
}

inline void put_span(Writer& out, RangeSpan span) { out.put(span.begin).put(span.end); }
// Not empty, and within the table's ranges.
inline RangeSpan get_span(Reader& in, std::uint16_t ranges) {
  const auto begin = in.get<std::uint16_t>();
  const RangeSpan span{begin, in.get<std::uint16_t>()};
  if (span.begin >= span.end || span.end > ranges) in.fail();
  return span;
}

}  // namespace thalweg
