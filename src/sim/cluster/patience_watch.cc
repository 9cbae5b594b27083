#include "sim/cluster/patience_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

Duration heartbeat_every(const Plan& plan) {
  return std::min<Duration>(limits::kHeartbeatEvery, plan.timeout / 8);
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void PatienceWatch::on_sent(Instant now, NodeId to, const Frame& frame) {
  if (frame.head.op != Op::kWelcome) return;
  const auto welcome = wire::decode_welcome(frame.first);
  if (!welcome) return;
  members_[welcome->id].temporary = to;
  on_heard(now, welcome->id);
  // Patience began when the node came, and what is said to it may have waited for a disk since.
  members_[welcome->id].unsure = plan_.restarts > 0;
}

// It hears everybody from then on, and knows what was kept.
void PatienceWatch::on_restart(Instant now, const Scheduler& scheduler) {
  std::map<NodeId, Member> known;
  for (const JobNode& node : scheduler.status(now).nodes) {
    Member member = members_[node.id];
    member.unsure = member.temporary == NodeId{};  // It has never been told its name.
    member.heard = now;
    member.paused = member.forgiven = {};
    member.given_up = false;
    member.lost = scheduler.lost(node.id);
    member.left = scheduler.has_left(node.id);
    member.dead = member.dead && (member.lost || member.left);
    known[node.id] = member;
  }
  members_ = std::move(known);
  before_.clear();
}

void PatienceWatch::on_heard(Instant now, NodeId from) {
  for (auto& [id, member] : members_) {  // Who asks again to join, and has yet to get its name.
    if (member.temporary != from) continue;
    member.heard = now;
    member.paused = member.forgiven = {};
  }
  const auto member = members_.find(from);
  if (member == members_.end()) return;
  member->second.heard = now;
  member->second.paused = member->second.forgiven = {};
  member->second.unsure = false;
}

void PatienceWatch::on_given_up(NodeId node) {
  for (auto& [id, member] : members_) {
    if (id == node || member.temporary == node) member.given_up = true;
  }
}

void PatienceWatch::on_dead(NodeId node) {
  on_given_up(node);
  for (auto& [id, member] : members_) {
    if (id == node || member.temporary == node) member.dead = true;
  }
}

bool PatienceWatch::dead(NodeId node) const {
  const auto member = members_.find(node);
  return member != members_.end() && member->second.dead;
}

void PatienceWatch::expect_dead_lost(const Scheduler& scheduler) {
  if (scheduler.stopped()) return;
  for (const auto& [id, member] : members_) {
    if (member.dead && !scheduler.lost(id) && !scheduler.has_left(id))
      findings_.add(Checker::kPatience,
                    fmt::format("{} is known to be dead, and is not taken for lost", who(id)));
  }
}

void PatienceWatch::on_own_pause(Duration length) {
  const Duration every = heartbeat_every(plan_);
  for (auto& [id, member] : members_) {
    member.paused += length;
    // It sees how late its clock woke it, and forgives no less than one heartbeat.
    if (length >= 2 * every) member.forgiven += length - every;
  }
}

void PatienceWatch::begin(Instant now, const Scheduler& scheduler) {
  started_ = true;
  for (auto& [id, member] : members_) {
    on_heard(now, id);
    member.lost = scheduler.lost(id);  // It was silent while others gathered.
    member.given_up = false;
  }
}

void PatienceWatch::after_turn(Instant now, const Scheduler& scheduler, bool timer) {
  expect_dead_lost(scheduler);
  if (!scheduler.started()) return;
  if (!started_) return begin(now, scheduler);
  const Duration every = heartbeat_every(plan_);
  for (auto& [id, member] : members_) {
    if (member.lost || member.left) continue;
    member.left = scheduler.has_left(id);
    if (member.left) {
      expect_spared(id, scheduler);
      continue;
    }
    const Duration silence = now - member.heard;
    member.lost = scheduler.lost(id);
    if (member.unsure || scheduler.turned_away(id)) continue;
    if (member.lost && !member.given_up && silence - member.forgiven <= plan_.suspect_after) {
      findings_.add(
          Checker::kPatience,
          fmt::format("{} was taken for lost after {:.3f} s of silence, {:.3f} s of which the scheduler "
                      "itself was stopped; its patience is {:.3f} s",
                      who(id), seconds(silence), seconds(member.paused), seconds(plan_.suspect_after)));
    }
    if (member.lost || scheduler.stopped()) continue;
    const bool late = timer && silence - member.paused > plan_.suspect_after + every;
    if (!member.given_up && !late) continue;
    findings_.add(
        Checker::kPatience,
        fmt::format("{} {}, and is not taken for lost", who(id),
                    member.given_up ? "was given up by the driver"
                                    : fmt::format("has been silent for {:.3f} s", seconds(silence))));
  }
  if (!scheduler.leaving()) {
    before_.clear();
  } else if (before_.empty() || before_ != scheduler.map().placement) {
    before_ = scheduler.map().placement;
  }
}

// Once a server has left, each range that it had is in sync on as many as are to have it.
void PatienceWatch::expect_spared(NodeId server, const Scheduler& scheduler) {
  const std::size_t wanted = std::min(plan_.replicas, plan_.servers);
  for (const ServerFailover& failover : scheduler.view().failovers) {
    if (server_node(failover.server) == server)
      findings_.add(Checker::kPatience, fmt::format("{} has left, and is told of as lost", who(server)));
  }
  for (std::size_t t = 0; t < before_.size(); ++t) {
    const RangeSet had = before_[t].owned_by(server.index) + before_[t].copied_by(server.index);
    for (const PlacedRun& run : scheduler.map().placement[t].runs()) {
      const bool short_of = run.in_sync().size() < wanted && had.intersects(run.ranges);
      if (!short_of && std::ranges::count(run.chain, server.index) == 0) continue;
      findings_.add(
          Checker::kCopies,
          fmt::format("{} has left table {} ranges [{},{}) to {} servers in sync, not to {}", who(server), t,
                      run.ranges.begin, run.ranges.end, run.in_sync().size(), wanted));
    }
  }
}

}  // namespace thalweg::sim
