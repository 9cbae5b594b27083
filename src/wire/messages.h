// The bodies of control messages: one struct each, its bytes, and strict reading. Data frames have no body
// but keys and values. Grammar of each stands atop its functions in messages.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/instant.h"
#include "placement/placement.h"
#include "staleness/reached.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"

namespace thalweg::wire {

inline constexpr std::uint32_t kFirstObserver = 1u << 20;   // Indices of observers, once they are welcome.
inline constexpr std::uint32_t kFirstTemporary = 1u << 31;  // Indices that nodes ask to join under.

// Node to scheduler. `observer`: reads and waits, owns no data shard.
struct Join {
  Role role{};
  bool observer = false;
  std::string address;    // Where others reach this node; empty when nobody needs to.
  std::string name;       // For people: host and process.
  std::string machine;    // Nodes that give the same run on one machine; empty: on one of its own.
  std::uint32_t pid = 0;  // For people: of its process; 0: it has none of its own.
};

// Scheduler to a joiner: its id and the job.
struct Welcome {
  NodeId id;
  std::uint64_t cluster = 0;
};

struct ShardOwner {
  std::uint32_t worker = 0;
  std::uint32_t owner_epoch = 0;  // Grows each time the shard changes hands.
  bool operator==(const ShardOwner&) const = default;
};

// A worker that takes part, where workers combine their pushes.
struct WorkerPlace {
  std::uint32_t index = 0;
  std::uint32_t machine = 0;  // Equal for workers of one machine.
  std::string address;        // Where other workers reach it.
  bool operator==(const WorkerPlace&) const = default;
};

// Who owns what. Epochs grow with each change; nodes keep the newest only.
struct Map {
  std::uint32_t epoch = 0;
  Consistency consistency;
  Combining combine;
  bool closing = false;         // Data shards are to end their work early.
  bool ending = false;          // The job is about to end, and nodes that are told to stop stay until then.
  bool scheduler_kept = false;  // Its state: where it is gone another one comes in its place.
  Step first;                   // That shards begin with: steps before it are in the rows that are loaded.
  std::uint64_t data = 0;       // Of which shards have told that they read; 0: none has yet.
  Duration timeout{};           // Deadline of every wait.
  Duration
      silence{};  // After which the scheduler takes a node for lost that says nothing; 0: it has not said.
  std::vector<TableSpec> tables;
  std::vector<std::string> servers;  // Addresses, by server index.
  std::uint32_t late_servers =
      0;                 // So many more than it began on: they came while it ran, or are lost since before.
  bool by_hand = false;  // Ranges have been placed by hand: who gives one up keeps it for another.
  std::vector<Placement> placement;  // By table.
  std::vector<ShardOwner> shards;
  std::vector<WorkerPlace> workers;  // By index; none where pushes are not combined.
  std::string job;                   // The application's own configuration.
  // By which a table has its units, see chain_units().
  std::uint32_t first_servers() const { return static_cast<std::uint32_t>(servers.size()) - late_servers; }
};

// A request that waits: which data shards have not arrived (some of them).
struct Waiting {
  std::uint64_t progress = 0;  // Grows while others get on; as long as it does, waiting is no stall.
  std::vector<ShardId> missing;
};

// Server to scheduler: ranges whose chains it was to join, of which it has all that those before it have.
struct Joined {
  struct Run {
    TableId table;
    RangeSpan ranges;
    std::uint32_t joining = 0;  // As PlacedRun has it.
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> runs;
};

// A heartbeat carries what the scheduler shows to people.
struct Heartbeat {
  Counters counters;
};

// Scheduler to server: the rows of its ranges are to be stored as they are when all steps before `step`, and
// no other, are in them. A later order takes the place of an earlier one.
struct CheckpointOrder {
  std::uint64_t number = 0;
  Step step;
  std::string place;  // Where; the driver's words.
  // Which earlier order's rows need not be stored again where they have not changed since; 0: none's. Not
  // there: no later order will name this one.
  std::optional<std::uint64_t> since{};
};

// What has become of an order at one server.
struct CheckpointReport {
  enum class State : std::uint8_t { kOpen, kPassed, kStored, kFailed };
  std::uint64_t number = 0;
  State state = State::kOpen;
  Step clock;        // Steps before this one are closed there.
  std::string text;  // Stored: what there is now, the driver's words. Failed: why.
};

Bytes encode(const Join& message);
Bytes encode(const Welcome& message);
Bytes encode(const Map& message);
Bytes encode(const Waiting& message);
Bytes encode(const Reached& message);
Bytes encode(const Joined& message);
Bytes encode(const Heartbeat& message);
Bytes encode(const CheckpointOrder& message);
Bytes encode(const CheckpointReport& message);

// Empty when the bytes are not exactly one message within its limits.
std::optional<Join> decode_join(const Bytes& bytes);
std::optional<Welcome> decode_welcome(const Bytes& bytes);
std::optional<Map> decode_map(const Bytes& bytes);
std::optional<Waiting> decode_waiting(const Bytes& bytes);
std::optional<Reached> decode_marks(const Bytes& bytes);
std::optional<Joined> decode_joined(const Bytes& bytes);
std::optional<Heartbeat> decode_heartbeat(const Bytes& bytes);
std::optional<CheckpointOrder> decode_checkpoint_order(const Bytes& bytes);
std::optional<CheckpointReport> decode_checkpoint_report(const Bytes& bytes);

}  // namespace thalweg::wire
