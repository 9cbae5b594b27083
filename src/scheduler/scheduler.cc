#include "scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/barriers.h"
#include "base/coverage/reached.h"
#include "base/limits.h"
#include "base/planted.h"
#include "cluster/pace.h"

namespace thalweg {
namespace {

// Servers are told to stop after the workers, who would take them for lost otherwise; or after this.
constexpr Duration kStopWorkersFirst = std::chrono::seconds(1);
// Before the job begins, nobody is missing who has not been silent for longer.
constexpr Duration kSilenceBeforeStart = 3 * limits::kHeartbeatEvery;
constexpr std::size_t kNamedMax = 16;

}  // namespace

Scheduler::Scheduler(SchedulerOptions options)
    : options_(std::move(options)),
      checkpoints_(options_.checkpoint, std::max(options_.first, options_.checkpoint.newest)) {}

void Scheduler::send(NodeId to, Op op, const Status& status, Bytes first, Transport& out) const {
  Frame frame;
  frame.head.op = op;
  frame.head.cluster = options_.cluster;
  frame.head.map_epoch = map_.epoch;
  frame.first = std::move(first);
  put_status(frame, status);
  out.send(to, std::move(frame));
}

void Scheduler::answer(NodeId to, const FrameHeader& request, Op op, const Status& status, Transport& out,
                       Bytes told) const {
  Frame frame;
  frame.head = request;
  frame.head.op = op;
  frame.head.cluster = options_.cluster;
  frame.head.map_epoch = map_.epoch;
  put_status(frame, status);
  if (!told.empty()) frame.first = std::move(told);
  out.send(to, std::move(frame));
}

void Scheduler::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  timeline_.begin(now);
  if (frame.head.op == Op::kJoin) return on_join(now, from, frame, out);
  if (frame.head.op == Op::kStatus) return on_status(now, from, frame.head, out);
  if (frame.head.op == Op::kDrain) return on_drain(now, from, frame, out);
  const auto found = members_.find(from);
  if (found == members_.end())
    return;  // Strangers may ask to join, how the job is, and for a server to leave.
  Member& member = found->second;
  member.heard = now;
  switch (frame.head.op) {
    case Op::kHeartbeat:
      return on_heartbeat(now, from, frame, out);
    case Op::kGetMap:
      if (map_.epoch != 0) send(from, Op::kMap, ok_status(), encode(map_), out);
      return;
    case Op::kBarrier:
      return on_barrier(from, frame, out);
    case Op::kReport:
      return on_report(from, frame, out);
    case Op::kCheckpointReply:
      return on_checkpoint_report(now, from, frame);
    case Op::kJoined:
      return on_joined(now, from, frame, out);
    case Op::kEnded:
      return on_ended(now, from, frame, out);
    case Op::kStop:
      if (member.left) return note_left(now, from);
      if (!stopped_) return;
      member.stop_seen = true;
      wake_ = now;
      return;
    default:
      return;  // Nothing else is for a scheduler.
  }
}

void Scheduler::on_ended(Instant now, NodeId from, const Frame& frame, Transport& out) {
  Member& member = members_.at(from);
  if (member.turned_away) return send(from, Op::kStop, *member.turned_away, {}, out);
  if (member.gone()) return;
  member.stop_seen = from.role == Role::kServer;  // A server that says so has stopped.
  const Status how = status_of(frame);
  if (how.ok()) return member.observer ? stop(now, ok_status(), out) : void();
  if (may_turn_away(from, how.code())) return turn_away(now, from, how, out);
  stop(now, {how.code(), (member.observer ? "" : node_name(from) + ": ") + how.message()}, out);
}

void Scheduler::on_join(Instant now, NodeId from, const Frame& frame, Transport& out) {
  const auto join = wire::decode_join(frame.first);
  if (!join || join->role == Role::kScheduler) return;
  for (auto& [id, member] : members_) {
    if (member.temporary != from) continue;
    member.heard = now;  // Its welcome was lost on the way.
    return send(from, Op::kWelcome, ok_status(), encode(wire::Welcome{id, options_.cluster}), out);
  }
  if (join->observer && (from != options_.observer || join->role != Role::kWorker)) {
    return send(from, Op::kStop,
                {Code::kRefused, "a job is observed by one worker, that of its scheduler's process"}, {},
                out);
  }
  Status refused = join->role == Role::kServer && !has_free_seat() ? may_come() : ok_status();
  if (members_.size() >= limits::kNodesMax)
    refused = {Code::kRefused,
               fmt::format("the job has {} nodes, expected at most {}", members_.size(), limits::kNodesMax)};
  if (stopped_) refused = {Code::kRefused, "the job is over"};
  if (!refused.ok()) return send(from, Op::kStop, refused, {}, out);
  if (join->role == Role::kServer) free_seat();
  std::uint32_t index = join->observer ? wire::kFirstObserver + options_.before : 0;
  while (members_.count({join->role, index}) != 0) ++index;
  const NodeId id{join->role, index};
  Member member;
  member.temporary = from;
  member.observer = join->observer;
  member.address = join->address;
  member.name = join->name;
  member.machine = join->machine;
  member.pid = join->pid;
  member.heard = now;
  members_[id] = member;
  timeline_.add(now, JobEvent::Kind::kJoined, id, join->name);
  send(from, Op::kWelcome, ok_status(), encode(wire::Welcome{id, options_.cluster}), out);
  if (!started()) return;
  if (id.role == Role::kServer) return list_server(id.index);
  send(id, Op::kMap, ok_status(), encode(map_), out);
}

std::uint32_t Scheduler::count(Role role, bool alive_only) const {
  return static_cast<std::uint32_t>(std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.first.role == role && !entry.second.observer && !(alive_only && entry.second.gone());
  }));
}

std::string Scheduler::missing() const {
  std::string out;
  const auto is_here = [](const Member& member) { return member.named && !member.lost; };
  const auto name = [&](Role role, std::uint32_t wanted) {
    auto here = std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
      return entry.first.role == role && !entry.second.observer && is_here(entry.second);
    });
    for (std::uint32_t i = 0; here < wanted; ++i) {
      const auto member = members_.find({role, i});
      if (member != members_.end() && is_here(member->second)) continue;
      out += (out.empty() ? "" : ", ") + node_name({role, i});
      ++here;
    }
  };
  name(Role::kServer, options_.servers);
  name(Role::kWorker, options_.workers);
  for (const auto& [id, member] : members_) {  // A job without its observer would not end.
    if (!member.observer || is_here(member) || (member.lost && THALWEG_BUG(kBegunUnobserved))) continue;
    out += out.empty() ? "the observer" : ", the observer";
  }
  return out;
}

// A map that overtook its receiver's welcome would be lost, and whoever had one would ask that receiver in
// vain.
void Scheduler::begin_if_complete(Instant now, Transport& out) {
  const bool all_named = std::all_of(members_.begin(), members_.end(), [](const auto& entry) {
    return entry.second.named || entry.second.lost;
  });
  if (!all_named || !missing().empty()) return;
  for (auto& [id, member] : members_) {
    member.heard = now;  // From now on they speak as often as the map says.
    member.proven = true;
  }
  wake_ = now;
  begin(out);
  checkpoints_.begin(now);
  timeline_.add(now, JobEvent::Kind::kBegan, kScheduler, "all nodes are there");
}

void Scheduler::on_heartbeat(Instant now, NodeId from, const Frame& frame, Transport& out) {
  const auto member = members_.find(from);
  const auto beat = wire::decode_heartbeat(frame.first);
  if (member == members_.end() || !beat) return;
  if (!started() && !stopped_ && (!member->second.dead || THALWEG_BUG(kDeadComeBack))) {
    member->second.lost = false;
    member->second.named = true;
    begin_if_complete(now, out);
  }
  const auto places = [&](const Placement& placement) { return placement.places(from.index); };
  const bool replaced =
      from.role == Role::kServer ? std::ranges::none_of(map_.placement, places) : !member->second.observer;
  if (member->second.left) return send(from, Op::kStop, ok_status(), {}, out);
  if (member->second.lost) {  // The others are the reason why the job has stopped.
    if (member->second.turned_away) return send(from, Op::kStop, *member->second.turned_away, {}, out);
    if (stopped_ && !replaced) return send(from, Op::kStop, *stopped_, {}, out);
    THALWEG_REACHED(kReplacedHeard);
    return send(from, Op::kStop,
                {Code::kPeerLost, node_name(from) + " was silent too long and has been replaced: others have "
                                                    "its part; started again it joins anew"},
                {}, out);
  }
  if (!member->second.named && !stopped_) share_with(now, from, out);
  // While servers are at work, nobody waits at a barrier in vain.
  Counters& counted = member->second.counters;
  const auto has_grown = [&](CounterId id) { return beat->counters[id] > counted[id]; };
  if (has_grown(CounterId::kPulls) || has_grown(CounterId::kPushes) || has_grown(CounterId::kRows))
    ++progress_;
  counted = beat->counters;
  member->second.map_epoch = frame.head.map_epoch;
  if (from.role == Role::kServer) note_acting(now, from.index, frame.head.map_epoch);
  if (stopped_) {
    const bool its_turn = from.role == Role::kWorker || servers_told_;
    if (its_turn && !member->second.stop_seen) send(from, Op::kStop, *stopped_, {}, out);
    return;
  }
  if (frame.head.map_epoch < map_.epoch) return send(from, Op::kMap, ok_status(), encode(map_), out);
  send(from, Op::kHeartbeat, ok_status(), {}, out);
}

// While this node's process was stopped, as by Ctrl-Z, it heard nobody.
void Scheduler::forgive_own_pause(Instant now) {
  const Duration late = now - wake_;
  if (late < cluster::heartbeat_every(map_) || THALWEG_BUG(kOwnPauseBlamed)) return;
  THALWEG_REACHED(kOwnPauseForgiven);
  for (auto& [id, member] : members_) member.heard = std::min(now, member.heard + late);
}

void Scheduler::on_time(Instant now, Transport& out) {
  timeline_.begin(now);
  forgive_own_pause(now);
  wake_ = now + cluster::heartbeat_every(map_);
  if (stopped_) {
    const auto seen_by = [&](Role role) {
      return std::all_of(members_.begin(), members_.end(), [&](const auto& entry) {
        const Member& member = entry.second;
        return entry.first.role != role || member.stop_seen || member.gone() || member.dead;
      });
    };
    const bool workers_know = seen_by(Role::kWorker);
    if (!servers_told_ && (workers_know || now >= stop_servers_at_)) {
      servers_told_ = true;
      tell_to_stop(Role::kServer, out);
    }
    if ((workers_know && seen_by(Role::kServer)) || now >= stop_until_) {
      finished_ = true;
      wake_ = kNever;
    }
    return;
  }
  const Duration silence =
      started() ? options_.suspect_after : std::max(options_.suspect_after, kSilenceBeforeStart);
  std::vector<NodeId> silent;
  for (auto& [id, member] : members_) {
    if (member.lost || (member.left && member.stop_seen) || now - member.heard <= silence) continue;
    if (THALWEG_BUG(kDeadServerUnsaid) && id.role == Role::kServer) continue;
    if (started()) {
      silent.push_back(id);
    } else {
      member.lost = true;  // Until it is heard again.
    }
  }
  for (const NodeId node : silent) lose(now, node, "was silent too long", out);
  if (now >= checkpoint_due()) order_checkpoint(now, out);
}

void Scheduler::on_peer_lost(Instant now, NodeId peer, Transport& out) {
  NodeId node = peer;
  for (const auto& [id, member] : members_) {
    if (member.temporary == peer && !member.named) node = id;
  }
  lose(now, node, "closed its connection", out);
}

bool Scheduler::on_node_dead(Instant now, std::string_view name, const std::string& how, Transport& out) {
  std::vector<NodeId> dead;
  for (auto& [id, member] : members_) {
    if ((member.name != name) != THALWEG_BUG(kOthersBuried) || member.observer) continue;
    THALWEG_REACHED(kDeathTold);
    member.dead = true;
    dead.push_back(id);
  }
  for (const NodeId node : dead) lose(now, node, how, out);
  if (stopped_) wake_ = now;
  return !dead.empty() && std::ranges::all_of(dead, [&](NodeId node) { return has_left(node); });
}

std::string Scheduler::describe_member(NodeId node) const {
  const Member& member = members_.at(node);
  const bool by_name = member.address.empty() || node.role == Role::kWorker;
  const std::string& where = by_name ? member.name : member.address;
  return where.empty() ? node_name(node) : fmt::format("{} ({})", node_name(node), where);
}

void Scheduler::lose(Instant now, NodeId node, const std::string& why, Transport& out) {
  const auto found = members_.find(node);
  if (found == members_.end()) return;
  if (found->second.left) return note_left(now, node);
  if (stopped_ || (started() && found->second.lost)) return;
  const bool said = std::exchange(found->second.lost, true);
  if (!said) timeline_.add(now, JobEvent::Kind::kLost, node, why);
  if (found->second.observer) return stop(now, {Code::kPeerLost, describe_member(node) + " " + why}, out);
  if (!started()) {  // Another one may take its place, or it comes back; never two under one name.
    THALWEG_REACHED(kLostBeforeBegin);
    const std::string what = describe_member(node) + " " + why + " before the job began";
    if (THALWEG_BUG(kEarlyDeathEnds)) return stop(now, {Code::kPeerLost, what}, out);
    return said ? void() : tell_event(what + "; another may take its place");
  }
  if (node.role == Role::kServer) {
    const std::string ranges = lost_ranges(node);
    if (!ranges.empty() || count(Role::kServer, true) == 0) {
      THALWEG_REACHED(kRangesLost);
      return stop(now,
                  {Code::kPeerLost, fmt::format("{} {}; lost key ranges: {}", describe_member(node), why,
                                                ranges.empty() ? "none" : ranges)},
                  out);
    }
    THALWEG_REACHED(kServerLost);
    keep_leaving(now, node);
    keep_growing(node.index);
    const std::string heirs = fail_over(now, node.index);
    tell(checkpoints_.on_moved());
    tell_event(fmt::format("{} {}; {}", describe_member(node), why, heirs));
    let_go(now, out);
    return publish(out);
  }
  if (count(Role::kWorker, true) == 0) {
    THALWEG_REACHED(kLastWorkerLost);
    return stop(now, {Code::kPeerLost, fmt::format("{} {}; no worker is left", describe_member(node), why)},
                out);
  }
  THALWEG_REACHED(kWorkerLost);
  tell_event(fmt::format("{} {}; {}", describe_member(node), why, reassign(now, node.index)));
  publish(out);
}

// Whether a shard's message comes from its present owner.
bool Scheduler::owns(NodeId from, const FrameHeader& head) const {
  if (head.shard.value >= map_.shards.size()) return false;
  const wire::ShardOwner& owner = map_.shards[head.shard.value];
  return (owner.owner_epoch == head.owner_epoch && from == worker_node(owner.worker)) ||
         THALWEG_BUG(kNoFence);
}

// Why another than the shard's present owner is not heard. Who lives and has yet to get the map does not
// fail: by that the shard is none of its.
Status Scheduler::disowned(const FrameHeader& head) const {
  THALWEG_REACHED(kFormerOwnerStale);
  if (head.map_epoch < map_.epoch && !THALWEG_BUG(kFormerOwnerFails))
    return {Code::kStale, "the shard was given to another worker by a newer map"};
  return {Code::kAborted, "the shard was given to another worker"};
}

void Scheduler::on_barrier(NodeId from, const Frame& frame, Transport& out) {
  const FrameHeader& head = frame.head;
  if (!started()) return;
  const auto id = numbered<BarrierId>(head);
  const bool watches = head.shard == kNoShard;
  if (!watches && !owns(from, head)) {
    return answer(from, head, Op::kBarrierReply, disowned(head), out);
  }
  if (barriers_.size() >= limits::kBarriersMax && barriers_.count(id) == 0) {
    return answer(from, head, Op::kBarrierReply,
                  {Code::kRefused, fmt::format("the job has had {} different barriers", barriers_.size())},
                  out);
  }
  Barrier& barrier = barriers_[id];
  if (!watches && barrier.arrived.insert(head.shard).second) ++progress_;
  const std::size_t wanted =
      map_.shards.size() - (THALWEG_BUG(kBarrierEarly) && map_.shards.size() > 1 ? 1 : 0);
  const bool held_by_none = map_.closing && id != kLastBarrier && id != kLoadedBarrier;
  const bool waits_for_observer = opens_by_observer(id) &&
                                  !(id == kLoadedBarrier && THALWEG_BUG(kLoadAwaitedByNone)) &&
                                  !(id != kLoadedBarrier && THALWEG_BUG(kLookAwaitedByNone));
  barrier.open = barrier.open || (waits_for_observer ? watches : barrier.arrived.size() >= wanted);
  if (held_by_none) THALWEG_REACHED(kEndAsked);
  if (barrier.open || held_by_none) {
    barrier.open = true;
    answer(from, head, Op::kBarrierReply, ok_status(), out);
    return release(id, out);
  }
  auto& waiting = barrier.waiting[from];
  std::erase_if(waiting, [&](const FrameHeader& old) { return old.shard == head.shard; });
  waiting.push_back(head);
  wire::Waiting message{progress_, {}};
  for (std::uint32_t d = 0; d < map_.shards.size() && message.missing.size() < kNamedMax; ++d) {
    if (barrier.arrived.count(ShardId{d}) == 0) message.missing.push_back(ShardId{d});
  }
  Frame reply;
  reply.head = head;
  reply.head.op = Op::kWaiting;
  reply.head.cluster = options_.cluster;
  reply.first = encode(message);
  out.send(from, std::move(reply));
}

void Scheduler::release(BarrierId id, Transport& out) {
  Barrier& barrier = barriers_[id];
  for (const auto& [node, heads] : std::exchange(barrier.waiting, {})) {
    for (const FrameHeader& head : heads) answer(node, head, Op::kBarrierReply, ok_status(), out);
  }
}

void Scheduler::on_report(NodeId from, const Frame& frame, Transport& out) {
  const FrameHeader& head = frame.head;
  if (!started()) return;
  if (!owns(from, head)) {
    return answer(from, head, Op::kReportReply, disowned(head), out);
  }
  members_.at(from).proven = true;
  const auto id = numbered<ReportId>(head);
  const auto newest = reported_.find(head.shard);
  if ((head.flags & frame_flags::kEndOfWork) != 0) {
    ++progress_;
    ended_.insert(head.shard);
    if (options_.on_program_end) options_.on_program_end(head.shard);
  } else if (newest == reported_.end() || newest->second < id || THALWEG_BUG(kReportTwice)) {
    reported_[head.shard] = id;
    ++progress_;
    if (options_.kept) kept_reports_.push_back({head.shard, id, std::string(frame.first.text())});
    if (options_.on_report) options_.on_report(head.shard, id, frame.first.text());
  } else {
    THALWEG_REACHED(kReportRepeated);
  }
  answer(from, head, Op::kReportReply, ok_status(), out);
}

void Scheduler::stop(Instant now, const Status& status, Transport& out) {
  if (stopped_) return;
  stopped_ = status;
  stop_until_ = now + kStopPatience;
  stop_servers_at_ = now + kStopWorkersFirst;
  timeline_.add(now, JobEvent::Kind::kEnded, kScheduler, status.ok() ? "well" : status.message());
  wake_ = now;
  tell_to_stop(Role::kWorker, out);
}

void Scheduler::tell_to_stop(Role role, Transport& out) {
  for (const auto& [id, member] : members_) {
    if (id.role != role || member.gone()) continue;
    send(id, Op::kStop, THALWEG_BUG(kErrorKept) ? ok_status() : *stopped_, {}, out);
  }
}

void Scheduler::close(Transport& out) {
  if (stopped_ || map_.closing) return;
  map_.closing = true;
  if (!started()) return;  // The first map will say so.
  publish(out);
  std::vector<BarrierId> held;
  for (auto& [id, barrier] : barriers_) {
    if (id == kLastBarrier || id == kLoadedBarrier) continue;
    barrier.open = true;
    held.push_back(id);
  }
  for (const BarrierId id : held) release(id, out);
}

void Scheduler::end_soon(Transport& out) {
  if (stopped_ || map_.ending) return;
  map_.ending = true;
  if (started()) publish(out);
}

ClusterView Scheduler::view() const {
  ClusterView view;
  view.servers = count(Role::kServer, true);
  for (const auto& [id, member] : members_) view.servers_left += member.left ? 1 : 0;
  view.workers = count(Role::kWorker, true);
  view.map_epoch = map_.epoch;
  for (const auto& [id, member] : members_) view.counters.count(member.counters);
  view.failovers = failovers_.told();
  view.last_checkpoint = last_checkpoint();
  return view;
}

}  // namespace thalweg
