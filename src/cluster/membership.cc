#include "cluster/membership.h"

#include <algorithm>
#include <utility>

#include "base/coverage/reached.h"
#include "base/limits.h"
#include "base/planted.h"
#include "cluster/fence.h"
#include "cluster/pace.h"

namespace thalweg::cluster {
namespace {

// A scheduler that has let more words pass may not be the one that leads, to which this node is silent: two
// of them are four fifths of what it allows (pace.h), and to call another one costs a connection at most.
constexpr std::uint32_t kUnheardMax = 1;

// Tables and the number of shards stay for a job's life. Who owns what may change.
bool same_job(const wire::Map& a, const wire::Map& b) {
  return a.tables == b.tables && a.shards.size() == b.shards.size() && a.consistency == b.consistency &&
         a.combine == b.combine && a.first_servers() == b.first_servers();
}

}  // namespace

Membership::Membership(Role role, MemberOptions options) : role_(role), options_(std::move(options)) {
  map_.timeout = options_.patience;
}

Membership::News Membership::hear(Instant now, NodeId from, const Frame& frame, Transport& out) {
  const Op op = frame.head.op;
  if (stopped_ && op != Op::kStop) return News::kNone;
  const bool order = op == Op::kWelcome || op == Op::kMap || op == Op::kStop;
  if (order && from != kScheduler) return News::kNone;
  if (from == kScheduler) scheduler_.heard(), unheard_ = 0;
  if (from == kScheduler && op == Op::kHeartbeat) hear_doubt(now, (frame.head.flags & wire::kInDoubt) != 0);
  if (from == kScheduler && !may_say(now, frame)) return News::kNone;
  switch (op) {
    case Op::kWelcome:
      return on_welcome(frame, out);
    case Op::kMap:
      return on_map(now, frame);
    case Op::kStop:
      told_to_stop_ = true;
      leave(status_of(frame));
      return News::kStop;
    default:
      return News::kOther;
  }
}

// Another scheduler than the one before is heard once it knows how far that one's state was, and has gone on:
// its own may be older. A sign of life without a mark says no more than that there is one.
bool Membership::may_say(Instant now, const Frame& frame) {
  const bool alive = frame.head.op == Op::kHeartbeat || frame.head.op == Op::kWaiting;
  if (frame.second.empty()) return told_.lead == 0 || alive;
  const auto said = wire::decode_said_mark(frame.second);
  if (!said || said->now.lead == 0) return false;
  if (told_.lead == said->now.lead) {
    told_.write = std::max(told_.write, said->now.write);
    return true;
  }
  if (told_.lead != 0 && said->heard != told_) {
    THALWEG_REACHED(kNextUnheard);
    speak_at_ = std::min(speak_at_, now);
    return false;
  }
  told_ = said->now;
  return true;
}

Membership::News Membership::on_welcome(const Frame& frame, Transport& out) {
  const auto welcome = wire::decode_welcome(frame.first);
  if (!welcome || id_ || welcome->id.role != role_) return News::kNone;
  id_ = welcome->id;
  cluster_ = welcome->cluster;
  out.rename_self(*id_, cluster_);
  return News::kWelcome;
}

Membership::News Membership::on_map(Instant now, const Frame& frame) {
  auto map = wire::decode_map(frame.first);
  if (!map || !id_ || map->epoch <= map_.epoch) return News::kNone;
  const bool first = map_.epoch == 0;
  if (!first && !same_job(*map, map_)) return News::kNone;
  if (role_ == Role::kServer && id_->index >= map->servers.size()) return News::kNone;
  ranges_moved_ = map->placement != map_.placement || map->servers.size() != map_.servers.size();
  map_ = std::move(*map);
  tree_ = CombineTree(map_);
  speak_at_ = std::min(speak_at_, now + heartbeat_every(map_));
  return first ? News::kFirstMap : News::kMap;
}

// Whoever leads by now may wait for this node for no longer than for any other.
void Membership::hear_doubt(Instant now, bool in_doubt) {
  doubted_ = in_doubt && options_.schedulers.size() > 1;
  if (doubted_) speak_at_ = std::min(speak_at_, now + heartbeat_every(map_) / 4);
}

bool Membership::looks_elsewhere() const { return options_.schedulers.size() > 1 && unheard_ > kUnheardMax; }

void Membership::look_for_scheduler(Transport& out) {
  const bool doubted = std::exchange(doubted_, false);
  ++unheard_;
  if (!doubted && !looks_elsewhere()) return;
  if (doubted) THALWEG_REACHED(kLeadDoubted);
  asked_ = (asked_ + 1) % options_.schedulers.size();
  out.introduce(kScheduler, options_.schedulers[asked_]);
}

void Membership::speak(Instant now, const Counters& counters, Transport& out) {
  look_for_scheduler(out);
  if (!id_) {
    speak_at_ = now + limits::kRetryFirst;
    const wire::Join join{role_,         options_.observer, options_.address,
                          options_.name, options_.machine,  options_.pid};
    return tell(Op::kJoin, ok_status(), encode(join), out);
  }
  // Those who have yet to be called once are called sooner, which is no time that the scheduler has had.
  const bool first_round = looks_elsewhere() && unheard_ <= kUnheardMax + options_.schedulers.size();
  speak_at_ = now + heartbeat_every(map_) / (first_round ? 4 : 1);
  if (!first_round) scheduler_.sent_heartbeat();
  tell(Op::kHeartbeat, ok_status(), encode(wire::Heartbeat{counters}), out);
  if (ended_ && !THALWEG_BUG(kEndSaidOnce)) tell(Op::kEnded, *ended_, {}, out);
}

void Membership::tell(Op op, const Status& status, Bytes body, Transport& out) const {
  Frame frame;
  frame.head.op = op;
  frame.first = std::move(body);
  stamp(frame.head);
  put_status(frame, status);
  if (told_.lead != 0) frame.second = encode(told_);
  out.send(kScheduler, std::move(frame));
}

void Membership::end(const Status& status, Transport& out) {
  if (stopped_ || ended_) return;
  ended_ = status;
  tell(Op::kEnded, status, {}, out);
}

void Membership::leave(Status why) {
  if (!stopped_) stopped_ = std::move(why);
}

void Membership::fail(Status why, Transport& out) {
  if (stopped_) return;
  leave(std::move(why));
  tell(Op::kEnded, *stopped_, {}, out);
}

void Membership::stamp(FrameHeader& head) const {
  head.cluster = cluster_;
  head.map_epoch = map_.epoch;
}

bool Membership::has_left(NodeId peer) const {
  if (peer.role != Role::kServer || peer.index >= map_.servers.size()) return false;
  return std::ranges::none_of(map_.placement,
                              [&](const Placement& placement) { return placement.places(peer.index); });
}

Status Membership::check_map_epoch(const FrameHeader& head) const {
  return cluster::check_map_epoch(head, map_);
}

Status Membership::check_owner(NodeId from, const FrameHeader& head) const {
  return cluster::check_owner(from, head, map_, tree_);
}

}  // namespace thalweg::cluster
