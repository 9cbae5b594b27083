// What the bytes of entries and states are made of. Arrays are in pieces, so that a reader allocates no more
// than has come.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/payload.h"
#include "base/range_set.h"
#include "thalweg/ids.h"
#include "wire/step_codec.h"

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

inline void put_payload(Writer& out, const Payload& payload) {
  put_array(out, payload.keys.as<std::uint64_t>());
  put_array(out, payload.values.as<float>());
}
inline Payload get_payload(Reader& in) {
  Bytes keys = Bytes::of(get_array<std::uint64_t>(in));
  return {std::move(keys), Bytes::of(get_array<float>(in))};
}

inline void put_span(Writer& out, RangeSpan span) { out.put(span.begin).put(span.end); }
// Not empty, and within the table's ranges.
inline RangeSpan get_span(Reader& in, std::uint16_t ranges) {
  const auto begin = in.get<std::uint16_t>();
  const RangeSpan span{begin, in.get<std::uint16_t>()};
  if (span.begin >= span.end || span.end > ranges) in.fail();
  return span;
}

inline void put_set(Writer& out, const RangeSet& set) {
  out.put(static_cast<std::uint32_t>(set.runs().size()));
  for (const RangeSpan run : set.runs()) put_span(out, run);
}

// set := count:u32 (begin:u16 end:u16)*, within the table's ranges, in the one form that a set has.
inline RangeSet get_set(Reader& in, std::uint16_t ranges) {
  constexpr std::size_t kRunBytes = 4;
  RangeSet set;
  std::uint32_t free = 0;
  for (std::uint32_t count = in.get_count(ranges, kRunBytes); count > 0 && in.ok(); --count) {
    const RangeSpan run = get_span(in, ranges);
    if (run.begin < free) in.fail();
    free = run.end + 1u;
    set.add(run);
  }
  return set;
}

}  // namespace thalweg
