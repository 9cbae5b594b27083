#include "sim/change/joins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thalweg::sim {

Joins::Joins(const Plan& plan, Cluster& cluster, Faults& faults)
    : plan_(plan),
      cluster_(cluster),
      faults_(faults),
      random_(Random(plan.seed).split(20)),
      left_(plan.joins) {}

void Joins::start() {
  if (left_ > 0) next();
}

void Joins::next() {
  const Duration wait = scaled(plan_.join_every, -std::log(1 - random_.unit()));
  cluster_.at(cluster_.now() + wait, [this] {
    if (over() || cluster_.work().all_done()) return;
    if (!cluster_.scheduler().started()) return next();  // It would be turned away.
    --left_;
    join();
    if (left_ > 0) next();
  });
}

void Joins::join() {
  const std::uint32_t place = cluster_.start_server();
  started_.push_back(place);
  expect_part(cluster_.now());
  if (!random_.chance(plan_.late_deaths)) return;
  const Duration wait = scaled(plan_.join_every, -std::log(1 - random_.unit()));
  const bool noticed = random_.chance(0.6);
  cluster_.at(cluster_.now() + wait, [this, place, noticed] {
    if (!over() && faults_.kill_server(place, noticed)) ++deaths_;
  });
}

void Joins::expect_part(Instant asked) {
  const Instant calm = std::max(Instant{plan_.node_faults.until.count()}, asked);
  cluster_.at(calm + 3 * recovery_time(plan_), [this, place = started_.back()] {
    const Process& process = *cluster_.processes()[place];
    if (over() || !process.runs() || !cluster_.scheduler().growing()) return;
    cluster_.findings().add(
        Checker::kProgress,
        fmt::format("{} or another one that came late has no part yet", node_name(process.id)));
  });
}

JoinCounts Joins::counts() const {
  JoinCounts counts;
  counts.started = started_.size();
  counts.deaths = deaths_;
  for (const std::uint32_t place : started_) {
    const NodeId id = cluster_.processes()[place]->id;
    counts.listed += id.index < wire::kFirstTemporary;
    std::size_t owned = 0;
    for (const Placement& placement : cluster_.scheduler().map().placement)
      owned += placement.owned_by(id.index).size();
    counts.owners += owned > 0;
    counts.ranges += owned;
  }
  return counts;
}

// Nobody owns so much more of a table that a unit less would be fairer. Losses and those who left have left
// theirs to others.
std::string Joins::check_shares() const {
  const Scheduler& scheduler = cluster_.scheduler();
  const ClusterView view = scheduler.view();
  const bool others = !view.failovers.empty() || view.servers_left > 0 || scheduler.leaving();
  if (started_.empty() || others || scheduler.growing() || view.servers <= plan_.replicas) return {};
  const NodeId newest = cluster_.processes()[started_.back()]->id;
  if (started_.size() > 1 || newest.index >= wire::kFirstTemporary) return {};
  for (const JobNode& node : scheduler.status(cluster_.now()).nodes) {
    if (node.id == newest && node.state != NodeState::kAlive) return {};  // It has yet to say its first word.
  }
  for (std::size_t t = 0; t < plan_.tables.size(); ++t) {
    const Placement& placement = scheduler.map().placement[t];
    std::size_t most = 0, unit_most = 0;
    for (const RangeSpan unit : chain_units(plan_.tables[t].ranges, plan_.servers))
      unit_most = std::max<std::size_t>(unit_most, unit.size());
    for (std::uint32_t s = 0; s < scheduler.map().servers.size(); ++s)
      most = std::max(most, placement.owned_by(s).size());
    const std::size_t own = placement.owned_by(newest.index).size();
    const bool joined = scheduler.map().servers.size() > newest.index;
    if (!joined || own + unit_most >= most) continue;
    return violation(Checker::kCopies, fmt::format("{} owns {} ranges of table {}, others up to {}",
                                                   node_name(newest), own, t, most));
  }
  return {};
}

}  // namespace thalweg::sim
