#include <algorithm>

#include "base/limits.h"
#include "placement/placement.h"
#include "worker/request.h"

namespace thalweg {
namespace {

// Rows [begin, end) of a request fall into one slice.
struct Cut {
  std::uint32_t server = 0;
  RangeSpan ranges;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Position among `keys` of the first that belongs to `range` or a later one.
std::uint64_t position_of(const TableSpec& spec, const Keys& keys, std::uint16_t range) {
  const auto& values = *keys.values();
  if (keys.dense()) {
    const std::uint64_t row = range_first_row(range, spec.ranges, spec.rows);
    return std::clamp(row, values[0], values[0] + values[1]) - values[0];
  }
  if (range >= spec.ranges) return values.size();
  const PlacedKey first = range_first_key(range, spec.ranges);
  return static_cast<std::uint64_t>(std::lower_bound(values.begin(), values.end(), first) - values.begin());
}

std::vector<Cut> cut(const TableSpec& spec, std::uint32_t servers, const Keys& keys) {
  const std::size_t row_bytes = spec.dim * sizeof(float) + sizeof(std::uint64_t);
  std::vector<Cut> cuts;
  for (std::uint32_t server = 0; server < servers; ++server) {
    const RangeSpan owned = server_ranges(spec.ranges, server, servers);
    if (owned.size() == 0) continue;
    const std::uint64_t rows = position_of(spec, keys, owned.end) - position_of(spec, keys, owned.begin);
    const std::uint64_t wanted = rows * row_bytes / limits::kRequestBytesTarget + 1;
    const std::uint64_t pieces = std::min<std::uint64_t>(owned.size(), wanted);
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      const auto bound = [&](std::uint64_t p) {
        return static_cast<std::uint16_t>(owned.begin + owned.size() * p / pieces);
      };
      const RangeSpan ranges{bound(piece), bound(piece + 1)};
      cuts.push_back(
          {server, ranges, position_of(spec, keys, ranges.begin), position_of(spec, keys, ranges.end)});
    }
  }
  return cuts;
}

Bytes key_bytes(const Keys& keys, const Cut& c, bool with_count) {
  if (!keys.dense()) return Bytes::share(keys.values(), c.begin, c.end - c.begin);
  std::vector<std::uint64_t> block{(*keys.values())[0] + c.begin};
  if (with_count) block.push_back(c.end - c.begin);
  return Bytes::of(std::move(block));
}

}  // namespace

std::vector<Slice> slice_push(const TableSpec& spec, std::uint32_t servers, const Keys& keys,
                              const Rows& grads) {
  std::vector<Slice> slices;
  for (const Cut& c : cut(spec, servers, keys)) {
    Slice slice{c.server, c.ranges, {}, {}};
    if (c.begin != c.end) {
      slice.keys = key_bytes(keys, c, false);
      slice.values =
          Bytes(grads.owner(),
                std::as_bytes(grads.span().subspan(c.begin * spec.dim, (c.end - c.begin) * spec.dim)));
    }
    slices.push_back(std::move(slice));
  }
  return slices;
}

std::vector<Slice> slice_pull(const TableSpec& spec, std::uint32_t servers, const Keys& keys) {
  std::vector<Slice> slices;
  for (const Cut& c : cut(spec, servers, keys)) {
    if (c.begin != c.end) slices.push_back({c.server, c.ranges, key_bytes(keys, c, true), {}});
  }
  return slices;
}

}  // namespace thalweg
