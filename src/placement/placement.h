// Which server owns a key range: contiguous, even intervals, so that ascending keys go to ascending servers.
#pragma once

#include <cstdint>

#include "base/range.h"

namespace thalweg {

// The ranges of `server` out of `servers` for a table of `ranges` ranges; may be empty.
constexpr RangeSpan server_ranges(std::uint16_t ranges, std::uint32_t server, std::uint32_t servers) {
  const auto bound = [&](std::uint64_t s) {
    return static_cast<std::uint16_t>((s * ranges + servers - 1) / servers);
  };
  return {bound(server), bound(std::uint64_t{server} + 1)};
}

// Which worker a data shard starts with.
constexpr std::uint32_t shard_worker(ShardId shard, std::uint32_t workers) { return shard.value % workers; }

}  // namespace thalweg
