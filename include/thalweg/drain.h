// A server leaves a running job in an orderly way: `thalweg drain`, for an application.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

struct NodeOptions;  // See include/thalweg/node.h.

// How far a server is that leaves.
struct ServerDrain {
  std::uint32_t server = 0;
  bool left = false;                // It has been told to end, and has.
  std::uint32_t ranges = 0;         // Key ranges that it had when it was asked to leave, of all tables.
  std::uint32_t copied = 0;         // Of them, those of which another server has been sent a copy.
  std::vector<std::uint32_t> to;    // The servers that have these copies, ascending.
  std::chrono::nanoseconds took{};  // Since it was asked to leave; no more once it has left.
};

// Asks the scheduler at `node.scheduler`, who must know the same secret, to let a server go, and waits until
// it has left, for at most `node.patience`; after that the server goes on leaving. Errors: kUsage, kIo,
// kTimeout; kRefused: that server cannot leave this job now, or it stays; kPeerLost: it was lost before it
// had left.
Result<ServerDrain> drain_server(const NodeOptions& node, std::uint32_t server);

}  // namespace thalweg
