#include "base/payload.h"

#include <algorithm>
#include <vector>

namespace thalweg {
namespace {

// How many of ascending placed keys come before `range`.
std::size_t keys_before(std::span<const std::uint64_t> keys, std::uint32_t range, std::uint16_t ranges) {
  if (range >= ranges) return keys.size();
  const auto first = std::lower_bound(keys.begin(), keys.end(), range_first_key(range, ranges));
  return static_cast<std::size_t>(first - keys.begin());
}

Bytes part_of(const Bytes& values, std::size_t first, std::size_t rows, std::size_t row_bytes) {
  return values.empty() ? Bytes() : values.part(first * row_bytes, rows * row_bytes);
}

}  // namespace

std::size_t Payload::rows(const TableSpec& spec) const {
  const auto numbers = keys.as<std::uint64_t>();
  if (spec.kind == TableSpec::Kind::kSparse || numbers.empty()) return numbers.size();
  return numbers.size() > 1 ? numbers[1] : values.size() / sizeof(float) / spec.dim;
}

Payload cut(const TableSpec& spec, const Payload& whole, RangeSpan ranges) {
  if (whole.empty()) return {};
  const std::size_t row_bytes = spec.dim * sizeof(float);
  const auto keys = whole.keys.as<std::uint64_t>();
  if (spec.kind == TableSpec::Kind::kSparse) {
    const std::size_t begin = keys_before(keys, ranges.begin, spec.ranges);
    const std::size_t count = keys_before(keys, ranges.end, spec.ranges) - begin;
    if (count == 0) return {};
    return {whole.keys.part(begin * sizeof(std::uint64_t), count * sizeof(std::uint64_t)),
            part_of(whole.values, begin, count, row_bytes)};
  }
  const std::uint64_t first = keys[0], last = first + whole.rows(spec);
  const std::uint64_t begin = std::clamp(range_first_row(ranges.begin, spec.ranges, spec.rows), first, last);
  const std::uint64_t end = std::clamp(range_first_row(ranges.end, spec.ranges, spec.rows), first, last);
  if (begin == end) return {};
  if (begin == first && end == last) return whole;
  std::vector<std::uint64_t> block{begin};
  if (keys.size() > 1) block.push_back(end - begin);
  return {Bytes::of(std::move(block)), part_of(whole.values, begin - first, end - begin, row_bytes)};
}

}  // namespace thalweg
