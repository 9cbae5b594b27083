// Key ranges: how a table's keys fall into its fixed number of ranges.
#pragma once

#include <cstdint>

#include "base/mix.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"

namespace thalweg {

// A half-open interval of a table's key ranges.
struct RangeSpan {
  std::uint16_t begin = 0;
  std::uint16_t end = 0;
  constexpr bool contains(RangeId range) const { return range.value >= begin && range.value < end; }
  constexpr bool overlaps(RangeSpan other) const { return begin < other.end && other.begin < end; }
  constexpr std::uint16_t size() const { return static_cast<std::uint16_t>(end - begin); }
  bool operator==(const RangeSpan&) const = default;
};

constexpr RangeSpan only(RangeId range) { return {range.value, static_cast<std::uint16_t>(range.value + 1)}; }

// Sparse: the range of a placed key. Ascending placed keys have ascending ranges.
constexpr RangeId range_of(PlacedKey placed, std::uint16_t ranges) {
  return RangeId{static_cast<std::uint16_t>(scale_to(placed, ranges))};
}

// Sparse: the smallest placed key whose range is >= `range`; 2^64-1 for range == ranges.
constexpr PlacedKey range_first_key(std::uint32_t range, std::uint16_t ranges) {
  if (range >= ranges) return kNoPlace;
  __extension__ using Wide = unsigned __int128;
  return static_cast<PlacedKey>(((static_cast<Wide>(range) << 64) + ranges - 1) / ranges);
}

// Dense: the first row of a range when `rows` rows are dealt into `ranges` ranges; `rows` for range ==
// ranges.
constexpr std::uint64_t range_first_row(std::uint32_t range, std::uint16_t ranges, std::uint64_t rows) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(rows) * range / ranges);
}

}  // namespace thalweg
