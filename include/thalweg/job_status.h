// What the scheduler of a running job tells whoever asks it: `thalweg status` and `thalweg events`, for an
// application.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

struct NodeOptions;  // See include/thalweg/node.h.

enum class NodeState : std::uint8_t {
  kJoining,
  kAlive,
  kLost,
  kLeaving,  // A server: its key ranges are going to others.
  kLeft,     // The job has gone on without it, and it has ended.
};

struct JobNode {
  NodeId id;
  bool observer = false;  // A worker that reads only, and ends the job.
  NodeState state{};
  std::uint32_t pid = 0;  // On its machine; 0: it has not said so.
  std::string address;    // Where other nodes reach it; empty: nobody needs to.
};

struct JobEvent {
  enum class Kind : std::uint8_t {
    kJoined,
    kBegan,       // Of the scheduler: all were there.
    kLost,        // Taken for lost.
    kPromoted,    // A server answers for key ranges of one that is lost, or leaves.
    kReassigned,  // A worker has data shards of one that is lost.
    kRecovered,   // Of a lost server: all who shared ranges with it go on without it.
    kCopied,      // Of a lost server: copies of its key ranges are made again.
    kEnded,       // Of the scheduler: the job is over.
    kDraining,    // A server is to leave.
    kLeft,        // It has left, and all that it had is at others.
    kStays,       // It stays, as others were lost meanwhile.
    kShared,      // A server that came late has its part of the key ranges.
    kResumed,     // Of the scheduler: it has come in the place of one that was lost.
  };
  std::chrono::nanoseconds at{};  // Since the scheduler's first turn.
  Kind kind{};
  NodeId node;
  std::string cause;  // In words.
};

// A server that was lost and whose key ranges others have.
struct ServerFailover {
  std::uint32_t server = 0;
  std::chrono::nanoseconds detected{};  // From when the scheduler last heard it until it was out of the map.
  // From then until all who shared ranges with it had said that they go on without it; empty: not yet.
  std::optional<std::chrono::nanoseconds> recovered;
};

struct Straggler {
  ShardId shard;
  std::uint32_t worker = 0;
  ReportId reported;
};

struct JobStatus {
  std::chrono::nanoseconds age{};  // Since the scheduler's first turn.
  std::uint32_t epoch = 0;  // Of the map, which grows with each change; 0: not all nodes are there yet.
  std::string waits_for;    // Nodes that have to come before the job can begin; empty: it has begun.
  std::uint32_t replicas = 1;
  std::uint32_t ranges = 0;          // Over all tables.
  std::uint32_t ranges_in_sync = 0;  // Of them, those that have all of their copies.
  std::vector<JobNode> nodes;        // Servers, then workers.
  // The newest reports of the data shards that are furthest and least far, and some of those that are least
  // far where not all are: see docs/cli.md. Of a shard that has reported nothing, 0.0.
  ReportId fastest, slowest;
  std::vector<Straggler> stragglers;
  std::string last_checkpoint;  // Empty: there is none.
  std::vector<ServerFailover> failovers;
  std::uint64_t events_forgotten = 0;  // Older than `events`, which have a bound.
  std::vector<JobEvent> events;        // Oldest first.
};

// Asks the scheduler at `node.scheduler`, who must know the same secret, for at most `node.patience`; joins
// nothing and changes nothing. Errors: kUsage, kIo, kTimeout.
Result<JobStatus> job_status(const NodeOptions& node);

}  // namespace thalweg
