// Everything that one seed decides before a run of servers of versioned values.
#pragma once

#include <cstdint>
#include <string>

#include "base/instant.h"
#include "quorum/server.h"
#include "sim/cluster/plan.h"

namespace thalweg::sim {

struct QuorumPlan {
  std::uint64_t seed = 0;
  std::uint32_t servers = 3;
  std::uint32_t replicas = 3;
  quorum::ServerOptions server;
  std::size_t hints = quorum::kHintsMax;  // That a server keeps: where they are few, comparing does the rest.
  Duration away_for = std::chrono::seconds(1);  // See ClientOptions.
  std::uint32_t clients = 1;
  std::uint32_t requests = 20;  // Of each client.
  std::uint32_t keys = 1;
  double put_chance = 0.5;
  double blind_chance = 0;     // Of puts: that have seen nothing.
  double old_ring_chance = 0;  // Of clients: that know a ring of fewer servers.
  Duration think{};            // Between two requests, on average.

  Plan network;  // Its seed, latency, jitter and faults of frames.
  bool partition = false;
  bool pause = false;
  bool crash = false;
  std::uint32_t disk_losses = 0;  // At most so many, of servers that crash.
  Duration every{};               // Between two faults, on average.
  Duration until{};               // All faults.
  Duration clock_begin_max{};
  double clock_rate_off = 0;

  // Whether each get meets each put that was acknowledged before.
  bool fresh() const { return !server.sloppy && server.read + server.write > replicas; }
  bool any_fault() const { return partition || pause || crash || network.frame_faults.drop > 0; }
  // After the last fault, until servers are whole and alike.
  Duration settle_time() const;
};

QuorumPlan draw_quorum_plan(std::uint64_t seed);
std::string describe(const QuorumPlan& plan);

}  // namespace thalweg::sim
