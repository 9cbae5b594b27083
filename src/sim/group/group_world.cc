#include "sim/group/group_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace thalweg::sim {

GroupWorld::GroupWorld(const GroupPlan& plan, Trace trace)
    : plan_(plan),
      trace_(std::move(trace)),
      random_(Random(plan.seed).split(22)),
      processes_(plan.ranks),
      pairs_(std::size_t{plan.ranks} * plan.ranks) {}

void GroupWorld::start() {
  for (const GroupFault& fault : plan_.faults) push(fault.at, [this, &fault] { strike(fault); });
  for (std::uint32_t process = 0; process < plan_.ranks; ++process) wake(process, now_);
}

void GroupWorld::push(Instant at, std::function<void()> what) {
  queue_.push(at, {Event::Kind::kAction, actions_.put(std::move(what))});
}

bool GroupWorld::step() {
  if (queue_.empty() || !findings_.none()) return false;
  now_ = queue_.next_at();
  ++events_;
  trace_hash_ = splitmix(trace_hash_ ^ static_cast<std::uint64_t>(now_.ns));
  actions_.take(queue_.pop().place)();
  return true;
}

void GroupWorld::note(std::uint32_t process, const std::string& what) {
  for (const char c : what) trace_hash_ = splitmix(trace_hash_ ^ static_cast<unsigned char>(c));
  if (trace_) trace_(fmt::format("{:12.6f} rank {}: {}", static_cast<double>(now_.ns) * 1e-9, process, what));
}

void GroupWorld::wake(std::uint32_t process, Instant at) {
  Process& it = processes_[process];
  if (at >= it.armed || it.dead) return;
  it.armed = at;
  push(at, [this, process, at] {
    if (processes_[process].armed != at) return;
    processes_[process].armed = kNever;
    if (!is_paused(process)) turn(process);
  });
}

void GroupWorld::turn(std::uint32_t process) {
  if (!processes_[process].dead) processes_[process].driver.turn();
}

void GroupWorld::come(std::uint32_t process, std::function<void()> what) {
  Process& it = processes_[process];
  if (it.dead) return;
  if (is_paused(process)) {
    it.held.push_back(std::move(what));
    return;
  }
  what();
  turn(process);
}

Instant GroupWorld::arrival(std::uint32_t from, std::uint32_t to) {
  Pair& both = pair(from, to);
  const std::size_t way = from < to ? 0 : 1;
  Duration takes = plan_.latency;
  if (plan_.jitter.count() > 0)
    takes +=
        Duration(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(plan_.jitter.count()))));
  Instant at = now_ + takes;
  if (now_ < both.parted_until[way]) at = both.parted_until[way] + takes;
  return both.last[way] = std::max(at, both.last[way]);
}

void GroupWorld::post(std::uint32_t from, std::uint32_t to, std::uint32_t connection,
                      std::function<void()> arrive) {
  push(arrival(from, to), [this, from, to, connection, arrive = std::move(arrive)] {
    if (connection == this->connection(from, to)) come(to, arrive);
  });
}

// Whoever is connected with it finds out.
void GroupWorld::end(std::uint32_t process) {
  processes_[process].dead = true;
  for (std::uint32_t peer = 0; peer < plan_.ranks; ++peer) {
    if (peer == process || processes_[peer].dead) continue;
    push(arrival(process, peer), [this, process, peer] {
      come(peer, [this, process, peer] { processes_[peer].driver.lost(process, true); });
    });
  }
}

void GroupWorld::exit(std::uint32_t process) { end(process); }

void GroupWorld::strike(const GroupFault& fault) {
  if (processes_[fault.rank].dead) return;
  Process& victim = processes_[fault.rank];
  switch (fault.kind) {
    case GroupFault::Kind::kKill:
      note(fault.rank, "is killed");
      end(fault.rank);
      break;
    case GroupFault::Kind::kPause: {
      note(fault.rank, "is paused");
      const Instant begin = std::max(now_, victim.paused_until);
      victim.paused_until = std::max(begin, now_ + fault.lasts);
      victim.paused += victim.paused_until - begin;
      push(victim.paused_until, [this, rank = fault.rank] {
        Process& it = processes_[rank];
        if (it.dead || is_paused(rank)) return;
        note(rank, "goes on");
        for (auto& what : std::exchange(it.held, {})) what();
        turn(rank);
      });
      break;
    }
    case GroupFault::Kind::kDisconnect:
      if (processes_[fault.other].dead) return;
      note(fault.rank, fmt::format("is cut off from rank {}", fault.other));
      ++pair(fault.rank, fault.other).number;
      for (const auto& [a, b] : {std::pair(fault.rank, fault.other), std::pair(fault.other, fault.rank)}) {
        push(arrival(a, b), [this, from = a, to = b] {
          come(to, [this, from, to] { processes_[to].driver.lost(from, false); });
        });
      }
      break;
    case GroupFault::Kind::kPartition:
      note(fault.rank, "is parted from others");
      for (std::uint32_t a = 0; a < plan_.ranks; ++a) {
        for (std::uint32_t b = a + 1; b < plan_.ranks; ++b) {
          if ((a >= fault.other) == (b >= fault.other)) continue;
          for (Instant& until : pair(a, b).parted_until) until = std::max(until, now_ + fault.lasts);
        }
      }
      break;
  }
}

}  // namespace thalweg::sim
