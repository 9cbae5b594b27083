// How a server of versioned values stands, as it tells whoever asks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace thalweg::quorum {

struct ServerCounts {
  std::uint64_t puts = 0, gets = 0, failed = 0, refused = 0;
  std::uint64_t hints_kept = 0, hints_delivered = 0, repairs = 0, synced = 0, restored = 0, redirected = 0;
  bool operator==(const ServerCounts&) const = default;
};

struct Standing {
  std::uint32_t server = 0;
  std::uint32_t servers = 0;  // Of its ring.
  std::uint32_t replicas = 0, read = 0, write = 0;
  bool sloppy = false;
  bool complete = false;    // Else it answers no gets yet, see VersionStore::complete().
  std::uint64_t keys = 0;   // Of which it is a home.
  std::uint64_t bytes = 0;  // Of all versions, hints among them.
  std::uint64_t hints = 0;
  std::uint64_t open = 0;             // Requests that it coordinates.
  std::vector<std::uint32_t> silent;  // Other servers that did not answer when they were last asked.
  ServerCounts counts;
  bool operator==(const Standing&) const = default;
};

Bytes encode(const Standing& standing);
// Empty when the bytes are no such thing.
std::optional<Standing> decode_standing(const Bytes& bytes);

}  // namespace thalweg::quorum
