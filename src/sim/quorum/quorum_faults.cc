// What goes wrong with servers of versioned values, until all is mended.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/quorum/quorum_world.h"
#include "sim/trace_line.h"

namespace thalweg::sim {

using namespace std::chrono_literals;

void QuorumWorld::start() {
  at(Instant{plan_.until.count()}, [this] { heal(); });
  if (plan_.partition || plan_.pause || plan_.crash) next_fault();
}

void QuorumWorld::next_fault() {
  at(now_ + scaled(plan_.every, -std::log(1 - random_.unit())), [this] {
    if (healed_) return;
    strike();
    next_fault();
  });
}

// Short as a rule, at times longer than several deadlines.
Duration QuorumWorld::some_time() {
  return scaled(1ms, std::exp(random_.unit() * std::log(scaled(plan_.server.deadline, 5) / 1ms)));
}

void QuorumWorld::strike() {
  const std::uint64_t kind = random_.below(3);
  const auto victim = static_cast<std::uint32_t>(random_.below(plan_.servers));
  if (kind == 0 && plan_.partition) return partition();
  if (kind == 1 && plan_.crash && processes_[victim].server != nullptr) return crash(victim);
  if (kind != 2 || !plan_.pause || processes_[victim].server == nullptr) return;
  const Duration lasts = some_time();
  ++counts_.pauses;
  note(fmt::format("pause {} for {} ms", who(processes_[victim].id), lasts / 1ms));
  processes_[victim].paused_until = std::max(processes_[victim].paused_until, now_ + lasts);
}

// Some processes hear no others, or are not heard by them, or neither.
void QuorumWorld::partition() {
  ++counts_.partitions;
  std::vector<bool> inside(processes_.size());
  for (std::size_t p = 0; p < inside.size(); ++p) inside[p] = random_.chance(0.4);
  const std::uint64_t ways = 1 + random_.below(3);
  std::vector<Link> cut;
  for (std::uint32_t a = 0; a < inside.size(); ++a) {
    for (std::uint32_t b = 0; b < inside.size(); ++b) {
      if (inside[a] && !inside[b] && (ways & 1) != 0) cut.push_back({a, b});
      if (!inside[a] && inside[b] && (ways & 2) != 0) cut.push_back({a, b});
    }
  }
  note(fmt::format("{} links are cut", cut.size()));
  for (const Link link : cut) network_.block(link);
  at(now_ + some_time(), [this, cut] {
    for (const Link link : cut) network_.unblock(link);
  });
}

void QuorumWorld::crash(std::uint32_t victim) {
  ++counts_.crashes;
  Process& process = processes_[victim];
  count(process.server->counts());
  process.server.reset();
  process.paused_until = Instant{0};
  const bool noticed = random_.chance(0.5);
  const bool disk = disks_lost_ < plan_.disk_losses && random_.chance(0.5);
  note(fmt::format("{} crashes{}", who(process.id), disk ? " and loses its disk" : ""));
  if (disk) {
    ++disks_lost_;
    ++counts_.disks;
    stores_[victim] = std::make_unique<quorum::VersionStore>(ring_, victim, plan_.replicas, ++lives_[victim],
                                                             quorum::StoreLimits{plan_.hints});
  }
  if (noticed) {
    at(now_ + 10ms, [this, victim] {
      for (std::uint32_t p = 0; p < processes_.size(); ++p) {
        if (p == victim || processes_[p].node() == nullptr || now_ < processes_[p].paused_until) continue;
        Outgoing out(*this, p);
        processes_[p].node()->on_peer_lost(processes_[p].clock.local(now_), server_node(victim), out);
        after_turn(p);
      }
    });
  }
  at(now_ + some_time(), [this, victim] { restart(victim); });
}

void QuorumWorld::restart(std::uint32_t server) {
  if (processes_[server].server != nullptr) return;
  note(fmt::format("{} starts again", who(processes_[server].id)));
  start_server(server);
}

void QuorumWorld::heal() {
  note("faults end");
  healed_ = true;
  network_.heal();
  for (std::uint32_t s = 0; s < plan_.servers; ++s) {
    Process& process = processes_[s];
    restart(s);
    process.paused_until = std::min(process.paused_until, now_);
    process.armed = now_;
    queue_.push(now_, {Event::Kind::kTimer, s});
  }
}

}  // namespace thalweg::sim
