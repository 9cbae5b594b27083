// What two nodes tell each other on every connection, once they have proven that they know the job's secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/frame.h"

namespace thalweg {

struct Hello {
  NodeId from;
  NodeId to;                      // Whom the dialler means; in the answer, whom it is for.
  std::uint64_t cluster = 0;      // 0: not yet told.
  std::uint64_t incarnation = 0;  // Drawn anew by each process, so that a restarted peer is known as such.
  std::string told{};             // What nodes of its cluster were told, if it is for others to see.
};

// That of frames in its low byte, and in the high one that of what goes before them: known_keys.h.
inline constexpr std::uint16_t kStreamVersion = kWireVersion | 1 << 8;
static_assert(kWireVersion < 1 << 8);

inline constexpr std::size_t kToldBytesMax = 4096;

Bytes encode_hello(const Hello& hello);
// Refuses anything but a hello of this version.
Result<Hello> decode_hello(std::span<const std::byte> bytes);
// The same as a frame: that a node has another name from now on.
Frame hello_frame(const Hello& hello);

}  // namespace thalweg
