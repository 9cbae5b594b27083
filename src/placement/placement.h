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

// The same where workers combine their pushes: neighbouring shards to one worker, and to neighbours.
constexpr std::uint32_t neighbours_worker(ShardId shard, std::uint32_t shards, std::uint32_t workers) {
  return static_cast<std::uint32_t>(std::uint64_t{shard.value} * workers / shards);
}

}  // namespace thalweg
