#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "worker/request.h"

namespace thalweg {
namespace {

// Runs whose chains differ behind their owner are one to who asks it.
std::vector<RangeSpan> by_owner(const Placement& placement, RangeSpan ranges) {
  std::vector<RangeSpan> spans;
  std::optional<std::uint32_t> last;
  for (const PlacedRun& run : placement.runs()) {
    const RangeSpan owned{std::max(run.ranges.begin, ranges.begin), std::min(run.ranges.end, ranges.end)};
    if (owned.begin >= owned.end) continue;
    if (std::exchange(last, run.chain.front()) == run.chain.front()) {
      spans.back().end = owned.end;
    } else {
      spans.push_back(owned);
    }
  }
  return spans;
}

}  // namespace

std::optional<NodeId> owner_of(const wire::Map& map, const FrameHeader& head) {
  const auto owner = map.placement[head.table.value].owner(head.ranges);
  return owner ? std::optional(server_node(*owner)) : std::nullopt;
}

Payload payload_of_push(const Keys& keys, const Rows& grads) {
  if (keys.size() == 0) return {};
  const std::size_t count = keys.dense() ? 1 : keys.size();
  return {Bytes::share(keys.values(), 0, count), Bytes(grads.owner(), std::as_bytes(grads.span()))};
}

Payload payload_of_pull(const Keys& keys) {
  if (keys.size() == 0) return {};
  return {Bytes::share(keys.values(), 0, keys.values()->size()), {}};
}

std::vector<Slice> slice(const TableSpec& spec, const Placement& placement, RangeSpan ranges,
                         const Payload& whole) {
  const std::size_t row_bytes = spec.dim * sizeof(float) + sizeof(std::uint64_t);
  std::vector<Slice> slices;
  for (const RangeSpan owned : by_owner(placement, ranges)) {
    Payload payload = cut(spec, whole, owned);
    const std::uint64_t wanted = payload.rows(spec) * row_bytes / limits::kRequestBytesTarget + 1;
    const std::uint64_t pieces = std::min<std::uint64_t>(owned.size(), wanted);
    if (pieces == 1) {
      slices.push_back({owned, std::move(payload)});
      continue;
    }
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      const auto bound = [&](std::uint64_t p) {
        return static_cast<std::uint16_t>(owned.begin + owned.size() * p / pieces);
      };
      const RangeSpan part{bound(piece), bound(piece + 1)};
      slices.push_back({part, cut(spec, payload, part)});
    }
  }
  return slices;
}

}  // namespace thalweg
