// What goes wrong with nodes and links, at random moments, until the plan's faults end and all is mended.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/random.h"
#include "sim/cluster/cluster.h"

namespace thalweg::sim {

class Faults {
 public:
  // `plan` and `cluster` outlive this.
  Faults(const Plan& plan, Cluster& cluster);
  // Sets the first fault and the end of all.
  void start();
  // Kills a server if the job can go on without it; whether it did.
  bool kill_server(std::uint32_t victim, bool noticed);

 private:
  enum class Kind : std::uint8_t { kPartition, kClog, kPause, kCrash, kDisconnect };

  void next();
  void strike();
  void partition();
  void clog();
  void pause(std::uint32_t victim);
  void crash(std::uint32_t victim);
  void strike_core(const CoreFault& fault);
  bool may_lose(std::uint32_t server) const;
  bool is_one_too_many(std::uint32_t server) const;
  void kill(std::uint32_t victim, bool noticed);
  void disconnect(std::uint32_t victim);
  void replace(Duration after);
  void replace_server(Duration after);
  Duration some_time();
  bool ended() const { return cluster_.now() >= Instant{plan_.node_faults.until.count()}; }

  const Plan& plan_;
  Cluster& cluster_;
  Random random_;
  std::set<std::uint32_t> gone_;  // Servers that have copies elsewhere: killed, or stopped for long.
  std::optional<std::uint32_t> replacement_;  // The newest server that is to take the place of a killed one.
  Random starter_;  // Of what was drawn later, so that seeds of old keep their course.
  std::vector<Kind> kinds_;
};

}  // namespace thalweg::sim
