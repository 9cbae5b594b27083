#include "sim/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kProcessesForFaults = 30;

// Nothing of some processes reaches the others.
struct Parted {
  bool both_ways = false;
  std::vector<std::uint32_t> apart, others;

  template <class Use>
  void for_each_link(const Use& use) const {
    for (const std::uint32_t a : apart) {
      for (const std::uint32_t b : others) {
        use(Link{a, b});
        if (both_ways) use(Link{b, a});
      }
    }
  }
};

}  // namespace

Faults::Faults(const Plan& plan, Cluster& cluster)
    : plan_(plan),
      cluster_(cluster),
      random_(Random(plan.seed).split(2)),
      starter_(Random(plan.seed).split(10)) {
  const NodeFaults& faults = plan.node_faults;
  if (faults.partition) kinds_.push_back(Kind::kPartition);
  if (faults.clog) kinds_.push_back(Kind::kClog);
  if (faults.pause) kinds_.push_back(Kind::kPause);
  if (faults.crash) kinds_.push_back(Kind::kCrash);
  if (faults.disconnect) kinds_.push_back(Kind::kDisconnect);
}

void Faults::start() {
  cluster_.at(Instant{plan_.node_faults.until.count()}, [this] { cluster_.end_faults(); });
  if (plan_.stops()) cluster_.at(Instant{plan_.stop_at.count()}, [this] { cluster_.ask_to_stop(); });
  std::vector<CoreFault> core = plan_.core_faults;
  std::ranges::sort(core, {}, &CoreFault::event);
  for (const CoreFault& fault : core) cluster_.at_event(fault.event, [this, fault] { strike_core(fault); });
  if (!kinds_.empty()) next();
}

void Faults::next() {
  const Duration wait = scaled(plan_.node_faults.every, -std::log(1 - random_.unit()));
  cluster_.at(cluster_.now() + wait, [this] {
    if (ended() || cluster_.work().all_done() || cluster_.gone()) return;
    strike();
    next();
  });
}

// Short as a rule, at times longer than the scheduler's patience.
Duration Faults::some_time() {
  const double log_ms = random_.unit() * std::log(scaled(plan_.suspect_after, 2) / 1ms);
  return scaled(1ms, std::exp(log_ms));
}

void Faults::strike() {
  const Kind kind = kinds_[random_.below(kinds_.size())];
  if (kind == Kind::kPartition) return partition();
  if (kind == Kind::kClog) return clog();
  std::vector<std::uint32_t> victims;
  for (std::uint32_t p = 0; p < cluster_.processes().size(); ++p) {
    const Process& process = *cluster_.processes()[p];
    // Until the kept worker is there, the others are all that the job has.
    if (process.kept && process.worker != nullptr && process.worker->map().epoch == 0) return;
    if (process.worker != nullptr && process.runs() && !process.kept && !process.observer)
      victims.push_back(p);
  }
  if (victims.empty()) return;
  const std::uint32_t victim = victims[random_.below(victims.size())];
  if (kind == Kind::kPause) return pause(victim);
  if (kind == Kind::kCrash) return crash(victim);
  disconnect(victim);
}

void Faults::partition() {
  Parted parted;
  parted.both_ways = random_.chance(0.5);
  const auto count = static_cast<std::uint32_t>(cluster_.processes().size());
  for (std::uint32_t p = 0; p < count; ++p) (random_.chance(0.3) ? parted.apart : parted.others).push_back(p);
  parted.for_each_link([this](Link link) { cluster_.network().block(link); });
  cluster_.note([&] {
    std::string names;
    for (const std::uint32_t p : parted.apart) names += fmt::format(" {}", who(cluster_.processes()[p]->id));
    return fmt::format("partition: nothing leaves{}{}", parted.both_ways ? " nor reaches" : "",
                       names.empty() ? " nobody" : names);
  });
  cluster_.at(cluster_.now() + some_time(), [this, parted = std::move(parted)] {
    cluster_.note("partition heals");
    parted.for_each_link([this](Link link) { cluster_.network().unblock(link); });
  });
}

void Faults::clog() {
  const std::uint64_t count = cluster_.processes().size();
  const Link link{static_cast<std::uint32_t>(random_.below(count)),
                  static_cast<std::uint32_t>(random_.below(count))};
  const Instant until = cluster_.now() + std::min<Duration>(some_time(), 10 * limits::kRetryFirst);
  cluster_.note([&] {
    return fmt::format("clog of {} -> {} until {:.6f}", who(cluster_.processes()[link.from]->id),
                       who(cluster_.processes()[link.to]->id), static_cast<double>(until.ns) * 1e-9);
  });
  cluster_.network().clog(link, until);
}

void Faults::pause(std::uint32_t victim) { cluster_.pause(victim, cluster_.now() + some_time()); }

void Faults::crash(std::uint32_t victim) {
  if (cluster_.processes().size() >= kProcessesForFaults) return;
  kill(victim, random_.chance(0.7));
  replace(some_time());
}

// A closed connection is noticed after a grace; a machine that lost its power only by its silence. Whoever
// started a process may know sooner or later than either, or when another has long come in its place.
void Faults::kill(std::uint32_t victim, bool noticed) {
  const NodeId id = cluster_.processes()[victim]->id;
  cluster_.kill(victim);
  if (noticed) cluster_.at(cluster_.now() + limits::kPeerGrace, [this, id] { cluster_.tell_lost(0, id); });
  if (!starter_.chance(plan_.node_faults.told)) return;
  const double log_ms = starter_.unit() * std::log(2.0 * (limits::kPeerGrace / 1ms));
  cluster_.at(cluster_.now() + scaled(1ms, std::exp(log_ms)), [this, victim] { cluster_.tell_dead(victim); });
}

// Whether another server that is left, and stays, has each of its ranges in sync. Before the job begins none
// has any.
bool Faults::may_lose(std::uint32_t server) const {
  const auto is_left = [&](std::uint32_t other) {
    return other != server && !gone_.contains(other) && cluster_.scheduler().leaving() != other;
  };
  if (!cluster_.settled()) return false;  // Another scheduler may know less of who is in sync.
  return cluster_.scheduler().started() && !is_one_too_many(server) &&
         std::ranges::all_of(cluster_.scheduler().map().placement, [&](const Placement& placement) {
           return std::ranges::all_of(placement.runs(), [&](const PlacedRun& run) {
             return std::ranges::any_of(run.in_sync(), is_left);
           });
         });
}

// Where servers come, one that died unseen may still be taken for in sync, and others leave its chains.
bool Faults::is_one_too_many(std::uint32_t server) const {
  const Scheduler& scheduler = cluster_.scheduler();
  const auto places = [&](const Placement& placement) { return placement.places(server); };
  if (plan_.joins == 0 || std::ranges::none_of(scheduler.map().placement, places)) return false;
  const auto unseen = std::ranges::count_if(gone_, [&](std::uint32_t other) {
    return other != server && other < wire::kFirstTemporary && !scheduler.lost(server_node(other));
  });
  return unseen + 1 >= static_cast<std::ptrdiff_t>(plan_.replicas);
}

bool Faults::kill_server(std::uint32_t victim, bool noticed) {
  const Process& process = *cluster_.processes()[victim];
  const bool named = process.id.index < wire::kFirstTemporary;
  if (ended() || cluster_.gone() || !process.runs() || (named && !may_lose(process.id.index))) return false;
  gone_.insert(process.id.index);
  kill(victim, noticed);
  return true;
}

void Faults::strike_core(const CoreFault& fault) {
  const auto& processes = cluster_.processes();
  const std::uint32_t first_worker = 1 + plan_.servers, observer = first_worker + plan_.workers;
  const std::uint32_t victim = fault.role == Role::kScheduler ? 0
                               : fault.role == Role::kServer  ? 1 + fault.index
                                                              : first_worker;
  if (ended() || cluster_.gone() || !processes[victim]->runs()) return;
  if (plan_.copies() && fault.role == Role::kServer) {
    const std::uint32_t server = processes[victim]->id.index;
    if (!may_lose(server)) return cluster_.at(cluster_.now() + 1ms, [this, fault] { strike_core(fault); });
    gone_.insert(server);
  }
  // The observer is in the scheduler's process.
  const bool both = fault.role == Role::kScheduler && processes[observer]->runs();
  if (fault.pause > Duration{}) {
    cluster_.pause(victim, cluster_.now() + fault.pause);
    return both ? cluster_.pause(observer, cluster_.now() + fault.pause) : void();
  }
  if (both) cluster_.kill(observer);
  if (fault.role != Role::kScheduler) {
    // Before the job begins nodes that fall silent are waited for, as they may have yet to come.
    const bool begun = cluster_.scheduler().started();
    kill(victim, fault.noticed || !begun);
    if (fault.role == Role::kWorker) return replace(some_time());
    return begun ? void() : replace_server(limits::kPeerGrace + some_time());
  }
  cluster_.kill(victim);
  if (fault.noticed) cluster_.tell_all_of_scheduler(cluster_.now() + limits::kPeerGrace);
}

void Faults::disconnect(std::uint32_t victim) {
  if (cluster_.processes().size() >= kProcessesForFaults) return;
  cluster_.tell_lost(0, cluster_.processes()[victim]->id);
  if (random_.chance(0.5)) replace(some_time());
}

// Until the job begins: one that comes too soon is turned away.
void Faults::replace_server(Duration after) {
  cluster_.at(cluster_.now() + after, [this] {
    if (cluster_.gone() || cluster_.scheduler().started() || cluster_.scheduler().stopped()) return;
    const bool waits = replacement_ && cluster_.processes()[*replacement_]->runs();
    if (!waits) replacement_ = cluster_.start_server();
    replace_server(some_time());
  });
}

void Faults::replace(Duration after) {
  cluster_.at(cluster_.now() + after, [this] {
    if (!cluster_.work().all_done() && !cluster_.gone()) cluster_.start_worker(scaled(1ms, random_.unit()));
  });
}

}  // namespace thalweg::sim
