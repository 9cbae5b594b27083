// The part of Scheduler that lets a server go from a job that goes on: others get what it has, behind it in
// its chains, and once all have it the next map is without it.
#include <fmt/format.h>

#include <algorithm>

#include "base/coverage/reached.h"
#include "base/planted.h"
#include "scheduler/scheduler.h"
#include "staleness/step_policy.h"
#include "wire/drain.h"

namespace thalweg {
namespace {

Status cannot_leave(std::uint32_t server, const std::string& why) {
  return {Code::kRefused, fmt::format("{} cannot leave: {}", node_name(server_node(server)), why)};
}

double seconds_between(Instant begin, Instant end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

// A question may come again, as its answer may be lost: it is the same where its asker and number are.
void Scheduler::on_drain(Instant now, NodeId from, const Frame& frame, Transport& out) {
  const auto asked = wire::decode_drain(frame.first);
  if (!asked) return;
  const auto known = drains_.find(asked->server);
  const bool again =
      known != drains_.end() && known->second.asker == from && known->second.request == frame.head.request;
  if (!again) {
    if (const Status may = may_leave(asked->server); !may.ok()) {
      THALWEG_REACHED(kDrainRefused);
      return answer(from, frame.head, Op::kDrainReply, may, out);
    }
    begin_drain(now, from, frame.head.request, asked->server, out);
  }
  tell_drain(now, from, frame.head, asked->server, out);
}

Status Scheduler::may_leave(std::uint32_t server) const {
  if (stopped_) return cannot_leave(server, "the job is over");
  if (!started()) return cannot_leave(server, "the job has yet to begin, without " + missing());
  const auto member = members_.find(server_node(server));
  if (member == members_.end()) {
    return cannot_leave(server, fmt::format("there is no such server, expected one of server-0 to server-{}",
                                            map_.servers.size() - 1));
  }
  if (member->second.lost) return cannot_leave(server, "it was lost");
  if (member->second.left) return cannot_leave(server, "it has left already");
  if (leaving_ == server) return cannot_leave(server, "it is leaving already, see thalweg status");
  if (leaving_) {
    return cannot_leave(server, fmt::format("{} is leaving, expected one server at a time",
                                            node_name(server_node(*leaving_))));
  }
  if (growing()) return cannot_leave(server, "others are joining, expected one change at a time");
  return may_be_spared(server);
}

// Whether others can have what it has.
Status Scheduler::may_be_spared(std::uint32_t server) const {
  const std::uint32_t others = servers_that_stay() - 1;
  if (others == 0)
    return cannot_leave(server, "it is the last server, expected another to take its key ranges");
  if (others < copies_wanted()) {
    return cannot_leave(server,
                        fmt::format("{} server{} would be left for {} copies of each key range, expected "
                                    "at least {}",
                                    others, others == 1 ? "" : "s", copies_wanted(), copies_wanted()));
  }
  if (!keeps_copies(options_.consistency)) {
    return cannot_leave(server,
                        "which pushes make an update depends on who gets them, expected a job in sync, "
                        "bounded or async mode");
  }
  if (placed_)
    return cannot_leave(server, "key ranges have been placed by hand, expected them as a job begins");
  return ok_status();
}

std::uint32_t Scheduler::copies_wanted() const { return std::min(options_.replicas, options_.servers); }

std::uint32_t Scheduler::servers_that_stay() const {
  const auto counts = [this](const auto& entry) { return stays(entry.first, entry.second); };
  return static_cast<std::uint32_t>(std::ranges::count_if(members_, counts));
}

bool Scheduler::stays(NodeId id, const Member& member) const {
  return id.role == Role::kServer && member.named && !member.gone() && leaving_ != id.index;
}

void Scheduler::begin_drain(Instant now, NodeId from, std::uint32_t request, std::uint32_t server,
                            Transport& out) {
  Drain drain;
  drain.asker = from;
  drain.request = request;
  drain.begun = now;
  for (const Placement& placement : map_.placement) {
    drain.uncopied.push_back(placement.owned_by(server) + placement.copied_by(server));
    drain.ranges += static_cast<std::uint32_t>(drain.uncopied.back().size());
  }
  const NodeId node = server_node(server);
  const std::string what = fmt::format("its {} key ranges go to others first", drain.ranges);
  timeline_.add(now, JobEvent::Kind::kDraining, node, what);
  tell_event(fmt::format("{} is to leave; {}", describe_member(node), what));
  drains_.insert_or_assign(server, std::move(drain));
  leaving_ = server;
  plan_copies();
  let_go(now, out);
  publish(out);
}

void Scheduler::note_copied(std::uint32_t by, std::size_t table, const RangeSet& joined) {
  if (!leaving_) return;
  Drain& drain = drains_.at(*leaving_);
  const RangeSet left = drain.uncopied[table] - joined, made = drain.uncopied[table] - left;
  if (made.empty()) return;
  drain.uncopied[table] = left;
  drain.copied += static_cast<std::uint32_t>(made.size());
  drain.to.insert(by);
}

bool Scheduler::others_have_all(std::uint32_t server) const {
  const std::size_t wanted = THALWEG_BUG(kLeavesEarly) ? 1 : copies_wanted();
  return std::ranges::all_of(map_.placement, [&](const Placement& placement) {
    return std::ranges::all_of(placement.runs(), [&](const PlacedRun& run) {
      if (std::ranges::count(run.chain, server) == 0) return true;
      const auto in_sync = run.in_sync();
      const std::size_t others =
          in_sync.size() - static_cast<std::size_t>(std::ranges::count(in_sync, server));
      return others >= wanted && (run.joining == 0 || THALWEG_BUG(kLeavesEarly));
    });
  });
}

// From all chains at once, as a loss takes it out, so that nobody meets a server that is in some of them. It
// has nothing that others lack, so that it may end before they know.
void Scheduler::let_go(Instant now, Transport& out) {
  if (!leaving_ || !others_have_all(*leaving_)) return;
  const std::uint32_t server = *leaving_;
  leaving_.reset();
  drains_.at(server).phase = Drain::Phase::kTold;
  members_.at(server_node(server)).left = true;
  take_out(now, server);
  grow(now);
  note_acting(now, server, map_.epoch + 1);  // No loss waits for its word any more.
  tell(checkpoints_.on_moved());
  send(server_node(server), Op::kStop, ok_status(), {}, out);
}

// It has said that it ends, or its connection or silence says so.
void Scheduler::note_left(Instant now, NodeId server) {
  Drain& drain = drains_.at(server.index);
  if (drain.phase != Drain::Phase::kTold) return;
  THALWEG_REACHED(kDrainedLeft);
  drain.phase = Drain::Phase::kLeft;
  drain.ended = now;
  members_.at(server).stop_seen = true;
  const std::string names = (drain.to.empty() ? "" : " at ") + names_of(drain.to);
  const std::string what = fmt::format("{} of its {} key ranges were copied{}, in {:.3f} s", drain.copied,
                                       drain.ranges, names, seconds_between(drain.begun, now));
  timeline_.add(now, JobEvent::Kind::kLeft, server, what);
  tell_event(fmt::format("{} has left; {}", describe_member(server), what));
}

// Once `lost` is taken for lost: who was to leave is that, or is needed.
void Scheduler::keep_leaving(Instant now, NodeId lost) {
  if (!leaving_) return;
  const NodeId server = server_node(*leaving_);
  Drain& drain = drains_.at(server.index);
  if (lost == server) {
    THALWEG_REACHED(kDrainedLost);
    drain.why = {Code::kPeerLost, node_name(server) + " was lost before it had left"};
  } else if (servers_that_stay() < copies_wanted()) {
    THALWEG_REACHED(kDrainedStays);
    const std::string why =
        fmt::format("{} was lost meanwhile, and without {} there would be too few servers", node_name(lost),
                    node_name(server));
    drain.why = {Code::kRefused, fmt::format("{} stays: {}", node_name(server), why)};
    timeline_.add(now, JobEvent::Kind::kStays, server, why);
    tell_event(fmt::format("{} stays: {}", describe_member(server), why));
  } else {
    return;
  }
  drain.phase = Drain::Phase::kFailed;
  leaving_.reset();
}

void Scheduler::tell_drain(Instant now, NodeId to, const FrameHeader& request, std::uint32_t server,
                           Transport& out) const {
  const Drain& drain = drains_.at(server);
  if (drain.phase == Drain::Phase::kFailed) return answer(to, request, Op::kDrainReply, drain.why, out);
  if (drain.phase == Drain::Phase::kCopying && stopped_) {
    return answer(to, request, Op::kDrainReply, cannot_leave(server, "the job has ended before it had left"),
                  out);
  }
  const bool left = drain.phase == Drain::Phase::kLeft;
  const ServerDrain told{server,
                         left,
                         drain.ranges,
                         drain.copied,
                         {drain.to.begin(), drain.to.end()},
                         (left ? drain.ended : now) - drain.begun};
  answer(to, request, Op::kDrainReply, ok_status(), out, wire::encode(told));
}

}  // namespace thalweg
