// The part of Scheduler that tells how the job is, to people and to whoever asks.
#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "scheduler/scheduler.h"

namespace thalweg {

// Whoever asks need not be a member and is none afterwards: nothing of the job depends on it.
void Scheduler::on_status(Instant now, NodeId from, const FrameHeader& request, Transport& out) const {
  answer(from, request, Op::kStatusReply, ok_status(), out, wire::encode(status(now)));
}

JobStatus Scheduler::status(Instant now) const {
  JobStatus told;
  told.age = timeline_.age(now);
  told.epoch = map_.epoch;
  if (!started()) told.waits_for = missing().substr(0, limits::kTextOfStatusMax);
  told.replicas = copies_wanted();
  for (const TableSpec& table : options_.tables) told.ranges += table.ranges;
  told.ranges_in_sync = ranges_in_sync();
  for (const auto& [id, member] : members_) {
    const bool leaves = member.left || (id.role == Role::kServer && leaving_ == id.index);
    const bool comes = id.role == Role::kServer && growth_.concerns(id.index);
    const NodeState state = member.lost                       ? NodeState::kLost
                            : member.left && member.stop_seen ? NodeState::kLeft
                            : leaves                          ? NodeState::kLeaving
                            : member.named && !comes          ? NodeState::kAlive
                                                              : NodeState::kJoining;
    told.nodes.push_back({id, member.observer, state, member.pid, member.address});
  }
  add_shards(told);
  if (const auto& newest = last_checkpoint())
    told.last_checkpoint = fmt::format("step-{}.{}", newest->epoch, newest->index);
  told.failovers = failovers_.told();
  told.events_forgotten = timeline_.forgotten();
  told.events = timeline_.events();
  return told;
}

void Scheduler::add_shards(JobStatus& told) const {
  std::vector<Straggler> shards;
  for (std::uint32_t d = 0; d < map_.shards.size(); ++d) {
    const auto newest = reported_.find(ShardId{d});
    shards.push_back(
        {ShardId{d}, map_.shards[d].worker, newest == reported_.end() ? ReportId{} : newest->second});
  }
  if (shards.empty()) return;
  const auto [slowest, fastest] = std::ranges::minmax(shards, {}, &Straggler::reported);
  told.slowest = slowest.reported;
  told.fastest = fastest.reported;
  if (told.slowest == told.fastest) return;
  std::erase_if(shards, [&](const Straggler& shard) { return shard.reported != told.slowest; });
  shards.resize(std::min<std::size_t>(shards.size(), wire::kStragglersMax));
  told.stragglers = std::move(shards);
}

std::string Scheduler::names_of(const std::set<std::uint32_t>& servers) {
  std::string names;
  for (const std::uint32_t server : servers)
    names += (names.empty() ? "" : ", ") + node_name(server_node(server));
  return names;
}

void Scheduler::tell_event(const std::string& text) const {
  if (options_.on_event) options_.on_event(text);
}

// A server says by which map it acts; it has taken over by then what that map gives it.
void Scheduler::note_acting(Instant now, std::uint32_t server, std::uint32_t epoch) {
  for (const auto& [lost, after, others] : failovers_.on_acting(now, server, epoch)) {
    const std::string text =
        fmt::format("{} {} without {}, {:.1f} ms after it was taken for lost", names_of(others),
                    others.size() == 1 ? "goes on" : "go on", node_name(server_node(lost)),
                    std::chrono::duration<double, std::milli>(after).count());
    timeline_.add(now, JobEvent::Kind::kRecovered, server_node(lost), text);
    tell_event(text);
  }
}

}  // namespace thalweg
