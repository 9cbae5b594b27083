// Where a simulated cluster's schedulers keep their state, and what is known of those who have led.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mix.h"
#include "scheduler/key_watch.h"
#include "scheduler/lead_lease.h"
#include "sim/cluster/cluster.h"
#include "sim/disk.h"
#include "sim/sim_etcd.h"
#include "state/state_log.h"

namespace thalweg::sim {

// Where an etcd has not answered, or another scheduler leads.
inline constexpr Duration kLooksAgain = std::chrono::milliseconds(100);

class NoClock final : public Clock {
 public:
  Instant now() const override { return {}; }  // Nobody has a lease of a log.
};

// What a map says of who has what.
struct Owners {
  std::vector<wire::ShardOwner> shards;
  std::vector<Placement> placement;
  bool operator==(const Owners&) const = default;
};

struct Cluster::SchedulerHome {
  explicit SchedulerHome(std::uint64_t seed) : random(Random(seed).split(22)), disk(random.next()) {}
  Random random;
  NoClock clock;
  SimDisk disk;
  std::unique_ptr<state::StateLog> log;  // Of the scheduler that runs.
  std::unique_ptr<SimEtcd> etcd;         // Null: its state is on the disk.
  KeyWatch lead{kLeadKey};               // Of who stands by,
  std::shared_ptr<EtcdWay> way;          // and how that reaches etcd;
  std::optional<LeadLease> lease;        // what it has taken,
  KeptState kept;                        // and the state as it found it.
  std::uint64_t life = 0;                // Counts those who came.
  std::map<ShardId, ReportId> answered;  // The newest report of each shard that was.
  std::map<std::uint32_t, Owners> told;  // By map epoch.
  std::map<ShardId, ReportId> received;  // Of what was answered, what has come there.
  bool went_back = false;
  bool older = false;          // What was taken up lacks what nodes know.
  std::uint64_t refused = 0;   // Schedulers that ended because it went back.
  std::uint64_t replaced = 0;  // That lived when another one took the job up.
  std::uint64_t moved = 0;     // Nodes that left one of those for who leads.
  std::uint64_t drawn = 0;     // Numbers of those who lead.

  StateStore* store() { return etcd ? static_cast<StateStore*>(etcd.get()) : log.get(); }
  std::uint32_t number(std::uint64_t seed) {
    return static_cast<std::uint32_t>(splitmix(seed ^ ++drawn << 40)) | 1;
  }
};

}  // namespace thalweg::sim
