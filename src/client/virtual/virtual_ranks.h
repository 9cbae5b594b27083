// The group that the data shards of a simulated training form: production groups, routes and exchanges, whose
// bytes go along a machine room's links in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/completion.h"
#include "base/instant.h"
#include "client/replica/shard_group.h"
#include "exchange/plan/plan.h"
#include "thalweg/ids.h"
#include "topology/network/network.h"

namespace thalweg {

class SimulatedGroup;

// What the ranks need to know of the simulation whose programs use them.
struct VirtualWorld {
  // When the program that computes has come to where it is.
  std::function<Instant()> moment;
  // The request of that shard's program ends then; it is not before any moment told of so far.
  std::function<void(Instant at, ShardId shard, std::shared_ptr<Completion> completion, Status how)> end;
};

// One rank for each data shard, all on one thread. They share links with nothing else.
class VirtualRanks {
 public:
  // `endpoints`: where the ranks sit in the room, by rank: at its first ones.
  VirtualRanks(std::shared_ptr<const Topology> room, std::vector<std::uint32_t> endpoints,
               VirtualWorld world);
  ~VirtualRanks();
  VirtualRanks(const VirtualRanks&) = delete;
  VirtualRanks& operator=(const VirtualRanks&) = delete;

  // By shard, which use this; to be made once.
  std::vector<std::shared_ptr<ShardGroup>> groups(const RouteChoice& route);
  // Goes on to that moment, or to the first one in which some request ends, if that is earlier.
  void go_on(Instant until);
  // Which ranks wait for which, and in what operations; empty where none is under way.
  std::string waits() const;
  // Payload, of operations that have ended.
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  class Rank;
  class RankFabric;
  Picoseconds moment() const;
  // What an operation on so many bytes goes by: chosen for this room once, and the same for all ranks.
  const Plan& planned(Operation operation, std::uint64_t bytes);
  void end(ShardId shard, std::shared_ptr<Completion> completion, Status how);

  const std::shared_ptr<const Topology> room_;
  const std::vector<std::uint32_t> endpoints_;
  const VirtualWorld world_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<SimulatedGroup> streams_;  // The last of its ranks is no rank, but has alarms.
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<std::pair<Operation, std::uint64_t>, Plan> plans_;
  std::size_t running_ = 0;  // Operations, of all ranks.
  std::uint64_t bytes_sent_ = 0;
  bool goes_on_ = false;
  bool ended_ = false;  // Some request, since go_on() began.
};

// Ranks around one switch, a message between two of which takes `latency` and passes at that many bytes a
// second out of one and into the other; 0: without limit.
std::shared_ptr<const Topology> star_room(std::uint32_t ranks, Duration latency, double bytes_per_second);

}  // namespace thalweg
