#include "sim/quorum/quorum_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

struct Quorum {
  std::uint32_t replicas, read, write;
};
constexpr Quorum kQuorums[] = {{3, 2, 2}, {3, 2, 2}, {3, 2, 2}, {3, 1, 1},
                               {3, 1, 3}, {3, 3, 1}, {2, 1, 2}, {5, 3, 3}};

std::uint32_t up_to(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random.below(high - low + 1));
}

void draw_frame_faults(Random& random, FrameFaults& faults) {
  if (random.chance(0.5)) faults.drop = 0.4 * random.unit();
  if (random.chance(0.5)) faults.repeat = 0.2 * random.unit();
  if (random.chance(0.5)) {
    faults.delay = 0.2 * random.unit();
    faults.delay_max = scaled(2s, random.unit());
  }
  if (random.chance(0.3)) faults.flip = 0.02 * random.unit();
}

}  // namespace

Duration QuorumPlan::settle_time() const {
  // Each server is compared with all others several times, after what is open has ended.
  return scaled(4 * server.deadline + server.compare_every * (8 * servers + 10), 1 / (1 - clock_rate_off));
}

QuorumPlan draw_quorum_plan(std::uint64_t seed) {
  QuorumPlan plan;
  plan.seed = seed;
  Random random = Random(seed).split(40);
  const Quorum quorum = kQuorums[random.below(std::size(kQuorums))];
  plan.replicas = quorum.replicas;
  plan.servers = random.chance(0.4) ? quorum.replicas : quorum.replicas + up_to(random, 1, 3);
  plan.server.read = quorum.read;
  plan.server.write = quorum.write;
  plan.server.sloppy = random.chance(0.3);
  plan.server.deadline = random.chance(0.5) ? 500ms : 2s;
  plan.server.patience = random.chance(0.5) ? 50ms : 200ms;
  plan.server.compare_every = random.chance(0.3) ? 10s : random.chance(0.5) ? 250ms : 1s;
  plan.clients = up_to(random, 1, 4);
  plan.requests = up_to(random, 20, 100);
  plan.keys = random.chance(0.5) ? up_to(random, 1, 2) : up_to(random, 3, 12);
  plan.put_chance = 0.3 + 0.4 * random.unit();
  plan.blind_chance = random.chance(0.5) ? 0.3 : 0;
  plan.old_ring_chance = plan.servers > quorum.replicas && random.chance(0.3) ? 0.5 : 0;
  plan.network.seed = seed;
  plan.network.latency = scaled(5ms, random.unit());
  plan.network.jitter = scaled(20ms, random.unit());
  draw_frame_faults(random, plan.network.frame_faults);
  plan.partition = random.chance(0.5);
  plan.pause = random.chance(0.5);
  plan.crash = random.chance(0.6);
  plan.every = scaled(1s, 0.1 + random.unit());
  plan.until = scaled(20s, 0.2 + random.unit());
  // Most requests come while things go wrong.
  plan.think = scaled(plan.until / plan.requests, random.chance(0.5) ? random.unit() : 0.1);
  if (plan.crash && random.chance(0.6)) plan.disk_losses = plan.server.write - 1;
  if (random.chance(0.5)) {
    plan.clock_begin_max = 1h;
    plan.clock_rate_off = 0.2;
  }
  if (random.chance(0.3)) plan.hints = random.below(3);
  if (random.chance(0.5)) plan.away_for = Duration{};
  return plan;
}

std::string describe(const QuorumPlan& plan) {
  const FrameFaults& frames = plan.network.frame_faults;
  return fmt::format(
      "{} servers, ({},{},{}){}, {} clients, {} requests each of {} keys, deadline {} ms, drop {:.2f} repeat "
      "{:.2f} delay {:.2f} flip {:.3f}{}{}{}, {} disks, until {:.1f} s",
      plan.servers, plan.replicas, plan.server.read, plan.server.write, plan.server.sloppy ? " sloppy" : "",
      plan.clients, plan.requests, plan.keys, plan.server.deadline / 1ms, frames.drop, frames.repeat,
      frames.delay, frames.flip, plan.partition ? ", partitions" : "", plan.pause ? ", pauses" : "",
      plan.crash ? ", crashes" : "", plan.disk_losses, static_cast<double>(plan.until.count()) * 1e-9);
}

}  // namespace thalweg::sim
