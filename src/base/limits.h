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
// Where pulls do not wait for pushes, nothing else holds back a shard whose pushes take longer than its
// steps.
inline constexpr std::uint32_t kStepsInFlightFree = 4;
inline constexpr std::size_t kPullsRememberedMax =
    256;  // Sync mode: different pulls of one shard in one step.
inline constexpr std::size_t kCombineLanesMax = 1u << 16;  // Ranges of tables that a combiner tells apart.
inline constexpr std::size_t kWaitingPullsMax = 65536;     // Held by one server until the gate opens.
inline constexpr std::uint32_t kShardsMax = 65536;
inline constexpr std::uint32_t kNodesMax = 8192;
inline constexpr std::uint32_t kThreadsMax = 1024;  // Of a job in one process.
inline constexpr std::uint32_t kTablesMax = 1024;
inline constexpr std::size_t kChainMax = 8;       // Servers that one key range is placed on.
inline constexpr std::uint32_t kReplicasMax = 3;  // Of them, when a job begins.
// Of all tables, in one map; as many as a job can begin with.
inline constexpr std::uint32_t kPlacedRunsMax = kTablesMax * kNodesMax;
inline constexpr std::uint32_t kDimMax = 1u << 20;  // Floats in a row, so that a row fits a frame.
inline constexpr std::uint64_t kDenseRowsMax = std::uint64_t{1} << 36;  // Of a dense table.
inline constexpr std::uint64_t kMarksMax = 1u << 25;  // Of one server and table: data shards times ranges.
inline constexpr std::uint32_t kScanBlocksMax = 1u << 16;  // Answers to one scan.
inline constexpr std::size_t kBarriersMax = 1u << 20;      // Different ones in a job.
inline constexpr std::uint32_t kCountersMax = 256;         // In one heartbeat.
inline constexpr std::size_t kTextOfStatusMax = 1024;      // Of a message that travels.
inline constexpr std::size_t kNameBytesMax = 256;
inline constexpr std::size_t kControlBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kEntriesInFlightMax = 1024;  // Of a log, to one server that keeps copies.
// Of a table's copies: changes that are not in the rows yet; a server that takes over puts them there first.
inline constexpr std::size_t kRedoBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kLogBytesMax = std::size_t{256}
                                            << 20;  // Not acknowledged; above it, pushes are put off.
// To one server that joins chains, and not acknowledged.
inline constexpr std::size_t kCopyPiecesInFlightLeast = 2, kCopyPiecesInFlightMost = 512;
inline constexpr std::uint64_t kRowsExpectedMax = 1u << 24;  // For which there is room before they come.
inline constexpr std::size_t kCopyPieceBytes = std::size_t{32} << 10;

// Groups.
inline constexpr std::uint16_t kChannelsMax = 1024;    // Of one pair of ranks; most are never used.
inline constexpr std::uint32_t kGroupRanksMax = 1024;  // Of one group: each pair of them has connections.

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
inline constexpr Duration kRefusalWaitFirst = 2ms;
inline constexpr Duration kRetryFirst = 500ms;
inline constexpr Duration kRetryMax = 5s;
// How long a combiner keeps a push back for those of other shards; a step waits for them anyway.
inline constexpr Duration kCombineHold = 100ms;
inline constexpr Duration kHeartbeatEvery = 1s;
// After which a node that says nothing may be taken for lost, at least.
inline constexpr Duration kSilenceMin = 100ms;
inline constexpr Duration kGraceMax = 1h;
inline constexpr Duration kTimeoutMax = 24h * 3650;

}  // namespace thalweg::limits
