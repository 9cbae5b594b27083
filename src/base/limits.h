// Every limit of the protocol in one place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/instant.h"

namespace thalweg::limits {

using namespace std::chrono_literals;

// Frames.
inline constexpr std::size_t kFrameBytesMax = std::size_t{64} << 20;  // Header and payload.
inline constexpr std::size_t kFrameBytesBeforeHello = 4096;  // From a peer that has not said who it is.
inline constexpr std::size_t kRequestBytesTarget = std::size_t{16}
                                                   << 20;  // Larger requests are split by range.

// A node's own queues and windows.
inline constexpr std::uint32_t kStepWindow = 64;        // Steps of one shard that a server tells apart.
inline constexpr std::uint32_t kStepsInFlightMax = 32;  // Steps of one shard that a worker has unanswered.
// Sync mode: an heir starts at the first step that some server lacks; this keeps it among the steps whose
// answers servers remember.
inline constexpr std::uint32_t kStepsInFlightSync = 2;
inline constexpr std::size_t kPullsRememberedMax =
    256;  // Sync mode: different pulls of one shard in one step.
inline constexpr std::size_t kWaitingPullsMax = 65536;  // Held by one server until the gate opens.
inline constexpr std::uint32_t kShardsMax = 65536;
inline constexpr std::uint32_t kNodesMax = 4096;
inline constexpr std::uint32_t kTablesMax = 1024;
inline constexpr std::size_t kNameBytesMax = 256;
inline constexpr std::size_t kControlBytesMax = std::size_t{16} << 20;

// Connections.
inline constexpr std::size_t kConnectionsMax = 4096;
inline constexpr std::size_t kConnectionsBeforeHelloMax = 256;
inline constexpr std::size_t kSendQueueBytesMax = std::size_t{256}
                                                  << 20;  // To one peer; above it, sending waits.
inline constexpr Duration kHelloTimeout = 5s;
inline constexpr Duration kReconnectFirst = 20ms;
inline constexpr Duration kReconnectMax = 1s;
inline constexpr Duration kPeerGrace =
    3s;  // A closed connection may come back for this long before its peer is lost.

// Waiting.
inline constexpr Duration kRetryFirst = 500ms;
inline constexpr Duration kRetryMax = 5s;
inline constexpr Duration kHeartbeatEvery = 1s;

}  // namespace thalweg::limits
