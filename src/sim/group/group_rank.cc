#include "sim/group/group_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAnswerWait = 2s;   // Of a caller, after the deadline.
constexpr Duration kConnectWait = 5s;  // After the meeting's.
constexpr Duration kSlack = 1s;        // Of what must end in time.

}  // namespace

struct GroupRank::Membership {
  Membership(GroupRank& owner, const GroupTable& its, std::uint32_t its_rank)
      : table(its),
        rank(its_rank),
        control(its_rank, static_cast<std::uint32_t>(its.processes.size()), owner.world_.plan().patience),
        streams(owner, its_rank, static_cast<std::uint32_t>(its.processes.size()), owner.world_.plan().room) {
    for (const std::uint32_t process : its.processes)
      connections.push_back(owner.world_.connection(owner.process_, process));
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(table.processes.size()); }

  GroupTable table;
  std::uint32_t rank;
  Control control;
  GroupStreams streams;
  std::vector<std::uint32_t> connections;  // By rank.
  std::set<std::uint32_t> greeted;         // Ranks that have connected.
  Activity activity;
  Instant connect_by{};
  bool left = false;
};

struct GroupRank::Work {
  Work(const GroupOperation& operation, std::uint32_t rank, std::uint32_t ranks, std::uint64_t number)
      : payload(operation.demand, operation.layout, operation.count, rank),
        plan(operation.layout.plan),
        exchange(payload.call(rank), plan, rank, ranks, number) {}
  CheckedPayload payload;
  thalweg::Plan plan;
  Exchange exchange;
  bool waits = false;
  Instant since{};  // It waits.
  Instant tell_at{};
  bool asks = false;  // For a verdict, with which it ends.
};

class GroupRank::News final : public GroupNews {
 public:
  explicit News(const Membership& group) : group_(group) {}
  Status verdict() override {
    const auto& verdict = group_.control.verdict();
    return verdict ? verdict->status : ok_status();
  }
  Status peer_status(std::uint32_t rank) override { return group_.streams.status(rank); }

 private:
  const Membership& group_;
};

GroupRank::GroupRank(GroupWorld& world, GroupWatch& watch, const All& all, std::uint32_t process)
    : world_(world),
      watch_(watch),
      all_(all),
      process_(process),
      random_(Random(world.plan().seed).split(1000 + process)) {
  world.drive(process, {[this] { turn(); }, [this](std::uint32_t peer, bool dead) { on_lost(peer, dead); }});
  Applicant self{
      process, process, world.plan().ranks, "simulated", false, {}, fmt::format("rank {}", process)};
  meet(Rendezvous::first(std::move(self), world.now() + world.plan().timeout));
}

GroupRank::~GroupRank() = default;

GroupRank::Membership* GroupRank::membership(std::uint64_t group) {
  for (const auto& one : groups_) {
    if (one->table.id == group) return one.get();
  }
  return nullptr;
}

void GroupRank::carry(std::uint32_t, thalweg::Link to, std::vector<std::byte> bytes) {
  const Membership& group = *groups_.back();
  GroupRank& peer = *all_[group.table.processes[to.peer]];
  world_.post(
      process_, peer.process_, group.connections[to.peer],
      [&peer, id = group.table.id, from = thalweg::Link{group.rank, to.channel}, bytes = std::move(bytes)] {
        if (Membership* its = peer.membership(id)) its->streams.arrive(from, bytes);
      });
}

void GroupRank::made_room(std::uint32_t, thalweg::Link from) {
  Membership& group = *groups_.back();
  GroupRank& peer = *all_[group.table.processes[from.peer]];
  // The bytes are counted when this turn is over.
  world_.post(process_, peer.process_, group.connections[from.peer],
              [&peer, &group, id = group.table.id, from, to = thalweg::Link{group.rank, from.channel}] {
                const std::size_t freed = group.streams.take_freed(from);
                if (Membership* its = peer.membership(id)) its->streams.freed(to, freed);
              });
}

void GroupRank::on_lost(std::uint32_t process, bool dead) {
  const std::string why = dead ? "its process has ended" : "the connection was reset";
  if (dead) dead_.insert(process);
  for (const auto& group : groups_) {
    for (std::uint32_t rank = 0; rank < group->size(); ++rank) {
      if (group->table.processes[rank] != process) continue;
      if (!dead && group->connections[rank] == world_.connection(process_, process)) continue;
      group->streams.lose(rank, Status(Code::kPeerLost, fmt::format("rank {}: {}", rank, why)));
      group->control.on_lost(rank, why);
    }
  }
  std::erase_if(visitors_, [process](const Visitor& visitor) { return visitor.process == process; });
  std::erase_if(guests_, [&](const auto& guest) {
    if (guest.second.process != process) return false;
    rendezvous_->hung_up(guest.first);
    return true;
  });
  if (calling_ && called_ == process) on_answer(call_, Status(Code::kPeerLost, "the other side hung up"), {});
}

void GroupRank::turn() {
  if (over()) return;
  for (const auto& group : groups_) group->control.on_time(world_.now());
  for (const auto& group : groups_) speak(*group);
  advance();
  for (const auto& group : groups_) speak(*group);
  if (over()) {
    world_.exit(process_);
  } else {
    arm();
  }
}

void GroupRank::advance() {
  for (bool goes_on = true; goes_on && !over();) {
    goes_on = phase_ == Phase::kMeeting      ? advance_meeting()
              : phase_ == Phase::kConnecting ? advance_connecting()
                                             : advance_work();
  }
}

void GroupRank::speak(Membership& group) {
  for (auto& out : group.control.take_outgoing()) {
    GroupRank& peer = *all_[group.table.processes[out.to]];
    world_.post(process_, peer.process_, group.connections[out.to],
                [&peer, this, id = group.table.id, from = group.rank, message = std::move(out.message)] {
                  Membership* its = peer.membership(id);
                  if (!its || !its->streams.status(from).ok()) return;
                  its->control.on_message(world_.now(), from, message.span(), its->activity);
                });
  }
}

void GroupRank::arm() {
  const Instant now = world_.now();
  Instant next = kNever;
  for (const auto& group : groups_) next = std::min(next, group->control.next_deadline());
  if (phase_ == Phase::kMeeting) {
    next = std::min(next, calling_ ? now + 100ms : std::min(rendezvous_->due(), now + 1s));
  } else if (phase_ == Phase::kConnecting) {
    next = std::min(next, groups_.back()->connect_by);
  } else if (!work_) {
    next = std::min(next, thinks_until_);
  } else {
    next = std::min(next, now + Control::kTellEvery);
  }
  world_.wake(process_, std::max(next, now + 10us));
}

// Whether what has waited since then does so for longer, pauses of its own apart.
bool GroupRank::late(Instant since, Duration allowed) const {
  return world_.now() - since > allowed + kSlack + (world_.paused(process_) - paused_before_);
}

void GroupRank::meet(Rendezvous rendezvous) {
  rendezvous_.emplace(std::move(rendezvous));
  phase_ = Phase::kMeeting;
  since_ = world_.now();
  paused_before_ = world_.paused(process_);
  guests_.clear();
  calling_ = false;
}

void GroupRank::learn() {
  if (groups_.empty()) return;
  const Control& control = groups_.back()->control;
  for (std::uint32_t rank = 0; rank < groups_.back()->size(); ++rank) {
    if (control.is_out(rank)) rendezvous_->set_out(rank);
  }
  if (control.was_left_out()) rendezvous_->set_left_out();
}

bool GroupRank::advance_meeting() {
  const Instant now = world_.now();
  const Duration allowed = world_.plan().timeout + kAnswerWait;
  if (late(since_, allowed)) {
    watch_.waits_too_long(process_, "a meeting");
    return false;
  }
  learn();
  if (rendezvous_->leads()) admit_visitors();
  if (calling_) {
    if (rendezvous_->in_vain()) {
      on_answer(call_, Status(Code::kPeerLost, "it is not waited for any more"), {});
    } else if (now >= since_ + allowed) {
      on_answer(call_, Status(Code::kTimeout, "the other side said nothing in time"), {});
    }
    if (calling_) return false;
  }
  const bool led = rendezvous_->leads();
  const Rendezvous::Next next = rendezvous_->next(now);
  if (rendezvous_->leads() && !led) return true;
  switch (next) {
    case Rendezvous::Next::kWait:
      return false;
    case Rendezvous::Next::kCall:
      call_leader();
      return false;
    case Rendezvous::Next::kForm:
      form();
      return true;
    case Rendezvous::Next::kFail:
      for (const auto& [guest, visitor] : guests_) answer(visitor, rendezvous_->failure(), {});
      finish(rendezvous_->failure());
      return false;
  }
  return false;
}

std::uint32_t GroupRank::process_of(std::uint32_t rank) const {
  return groups_.empty() ? rank : groups_.back()->table.processes[rank];
}

void GroupRank::call_leader() {
  called_ = process_of(rendezvous_->leader());
  calling_ = true;
  ++call_;
  Visitor visitor{process_, call_, {}};
  const std::uint32_t rank = groups_.empty() ? process_ : groups_.back()->rank;
  const std::uint32_t size = groups_.empty() ? world_.plan().ranks : groups_.back()->size();
  const std::uint64_t group = groups_.empty() ? 0 : groups_.back()->table.id + 1;
  visitor.applicant = {rank, rank, size, "simulated", false, {group, 0}, fmt::format("rank {}", rank)};
  if (world_.is_dead(called_)) {
    on_answer(call_, Status(Code::kRetry, "nobody listens"), {});
    return;
  }
  GroupRank& leader = *all_[called_];
  world_.post(process_, called_, world_.connection(process_, called_),
              [&leader, visitor] { leader.visitors_.push_back(visitor); });
}

void GroupRank::admit_visitors() {
  for (; !visitors_.empty(); visitors_.pop_front()) {
    const Visitor& visitor = visitors_.front();
    std::erase_if(guests_, [&](const auto& guest) {  // It calls again.
      if (guest.second.process != visitor.process) return false;
      rendezvous_->hung_up(guest.first);
      return true;
    });
    const Status fits = rendezvous_->admit(next_guest_, visitor.applicant);
    if (fits.ok()) {
      guests_.emplace_back(next_guest_++, visitor);
      last_came_ = world_.now();
    } else {
      answer(visitor, fits, {});
    }
  }
}

void GroupRank::answer(const Visitor& visitor, const Status& refusal, const GroupTable& table) {
  GroupRank& caller = *all_[visitor.process];
  world_.post(process_, visitor.process, world_.connection(process_, visitor.process),
              [&caller, call = visitor.call, refusal, table] { caller.on_answer(call, refusal, table); });
}

void GroupRank::on_answer(std::uint64_t call, const Status& refusal, const GroupTable& table) {
  if (!calling_ || call != call_ || phase_ != Phase::kMeeting) return;
  calling_ = false;
  if (refusal.ok()) {
    join(table);
  } else {
    rendezvous_->call_failed(world_.now(), fmt::format("rank {}", rendezvous_->leader()), refusal);
  }
}

void GroupRank::form() {
  GroupTable table{watch_.groups(), {}};
  for (const Rendezvous::Guest guest : rendezvous_->guests()) {
    const auto is = [guest](const auto& one) { return one.first == guest; };
    table.processes.push_back(std::find_if(guests_.begin(), guests_.end(), is)->second.process);
  }
  table.processes.insert(table.processes.begin() + rendezvous_->place(), process_);
  watch_.formed(table.id, table.processes, std::max(last_came_, since_));
  for (const auto& [guest, visitor] : guests_) answer(visitor, ok_status(), table);
  join(table);
}

void GroupRank::join(const GroupTable& table) {
  if (!groups_.empty()) {
    Membership& old = *groups_.back();
    for (std::uint32_t rank = 0; rank < old.size(); ++rank) {
      const auto& now = table.processes;
      if (std::find(now.begin(), now.end(), old.table.processes[rank]) == now.end())
        old.control.leave_out(rank);
    }
  }
  const auto me =
      std::find(table.processes.begin(), table.processes.end(), process_) - table.processes.begin();
  groups_.push_back(std::make_unique<Membership>(*this, table, static_cast<std::uint32_t>(me)));
  Membership& group = *groups_.back();
  group.connect_by = since_ + world_.plan().timeout + kConnectWait;
  group.greeted.insert(group.rank);
  phase_ = Phase::kConnecting;
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank) continue;
    GroupRank& peer = *all_[table.processes[rank]];
    if (world_.is_dead(peer.process_)) continue;
    world_.post(process_, peer.process_, group.connections[rank],
                [&peer, id = table.id, from = group.rank] { peer.on_greeting(id, from); });
  }
  for (const auto& [id, from] : std::exchange(greetings_, {})) on_greeting(id, from);
  for (const std::uint32_t process : std::set<std::uint32_t>(dead_)) on_lost(process, true);
}

// One may come before this rank has heard of the group.
void GroupRank::on_greeting(std::uint64_t group, std::uint32_t from) {
  Membership* its = membership(group);
  if (its) {
    its->greeted.insert(from);
  } else {
    greetings_.emplace_back(group, from);
  }
}

bool GroupRank::advance_connecting() {
  Membership& group = *groups_.back();
  if (group.greeted.size() == group.size()) {
    phase_ = Phase::kWorking;
    number_ = 0;
    thinks_until_ = world_.now();
    watch_.entered(process_, group.table.id, group.table.processes);
    if (groups_.size() > 1 && world_.plan().drops_old) groups_[groups_.size() - 2]->control.leave();
    return true;
  }
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (group.greeted.count(rank) > 0) continue;
    if (!group.streams.status(rank).ok()) {
      finish(Status(Code::kPeerLost, fmt::format("rank {} left while the group formed", rank)));
      return false;
    }
  }
  if (world_.now() < group.connect_by) return false;
  finish(Status(Code::kTimeout, "a rank did not connect in time"));
  return false;
}

bool GroupRank::advance_work() {
  if (work_) return advance_operation();
  if (number_ == world_.plan().operations) {
    finish(ok_status());
    return false;
  }
  if (world_.now() < thinks_until_) return false;
  begin_work();
  return true;
}

void GroupRank::begin_work() {
  Membership& group = *groups_.back();
  const std::uint32_t which = world_.plan().repeats ? 0 : number_;
  const GroupOperation operation = draw_group_operation(world_.plan(), group.table.id, which, group.size());
  work_ = std::make_unique<Work>(operation, group.rank, group.size(), number_);
  ++group.activity.entered;
  world_.note(process_, "begins " + work_->exchange.name());
}

bool GroupRank::advance_operation() {
  Membership& group = *groups_.back();
  Work& work = *work_;
  const Instant now = world_.now();
  const Duration allowed = world_.plan().timeout + world_.plan().inquiry();
  if (work.waits && late(work.since, allowed)) {
    watch_.waits_too_long(process_, work.exchange.name() + ", " + work.exchange.waits_in());
    return false;
  }
  if (work.asks) {
    if (!group.control.verdict()) return false;
    work.exchange.fail(ended_for(work.exchange, group.control.verdict()->status));
    end_operation(work.exchange.status());
    return true;
  }
  News news(group);
  Advance advance;
  if (group.streams.any_lost() || group.control.verdict()) {
    advance = advance_among(work.exchange, group.streams, news);
  } else if (work.exchange.advance(group.streams)) {
    advance.how = Advance::How::kOver;
  }
  if (advance.how == Advance::How::kOver) {
    end_operation(outcome_of(work.exchange, news, true));
    return true;
  }
  if (advance.how == Advance::How::kLost) {
    work.asks = true;
    if (!advance.by_verdict) group.control.explain_loss(now, advance.peer, advance.why);
    return true;
  }
  if (!work.waits) {
    work.waits = true;
    work.since = now;
    paused_before_ = world_.paused(process_);
    work.tell_at = now + Control::kTellEvery;
  }
  const auto waits = [&work] { return work.exchange.name() + ", " + work.exchange.waits_in(); };
  if (now >= work.since + world_.plan().timeout) {
    work.asks = true;
    group.control.accuse(now, work.exchange.waits_for(), waits());
    return true;
  }
  if (now >= work.tell_at) {
    work.tell_at = now + Control::kTellEvery;
    group.control.tell(now, work.exchange.waits_for(), waits());
    group.activity.told = true;
  }
  return false;
}

void GroupRank::end_operation(const Status& how) {
  Membership& group = *groups_.back();
  ++group.activity.left;
  group.activity.told = false;
  if (how.ok()) {
    watch_.succeeded(process_, work_->exchange.name(), work_->payload.right(group.rank));
    work_.reset();
    ++number_;
    const auto thinking = static_cast<std::uint64_t>(world_.plan().thinking.count());
    thinks_until_ = world_.now() + Duration(static_cast<std::int64_t>(random_.below(thinking + 1)));
    return;
  }
  const std::uint32_t guilty = group.control.verdict() ? group.control.verdict()->guilty : group.rank;
  watch_.failed(process_, group.table.id, group.table.processes[guilty], how);
  work_.reset();
  form_anew();
}

void GroupRank::form_anew() {
  const Membership& group = *groups_.back();
  const auto& verdict = group.control.verdict();
  if (verdict && verdict->guilty == group.rank) {
    finish(Status(Code::kRefused, "this rank was given up by the others: " + verdict->status.message()));
    return;
  }
  Applicant self{group.rank,
                 group.rank,
                 group.size(),
                 "simulated",
                 false,
                 {group.table.id + 1, 0},
                 fmt::format("rank {}", group.rank)};
  meet(Rendezvous::anew(std::move(self), world_.now() + world_.plan().timeout));
}

void GroupRank::finish(const Status& how) {
  phase_ = Phase::kOver;
  work_.reset();
  for (const auto& group : groups_) group->control.leave();
  watch_.finished(process_, how);
}

}  // namespace thalweg::sim
