#include "sim/sim_etcd.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/kept_state.h"
#include "scheduler/lead_lease.h"

namespace thalweg::sim {
namespace {

constexpr Duration kAnswerTakesMax = std::chrono::milliseconds(4);
constexpr Duration kGivenUpAfterMax = std::chrono::milliseconds(500);
constexpr Duration kGoesBackWithin = std::chrono::milliseconds(50);

}  // namespace

SimEtcd::SimEtcd(const Plan& plan, Findings& findings, World world)
    : faults_(plan.state_faults),
      findings_(findings),
      world_(std::move(world)),
      random_(Random(plan.seed).split(25)) {}

void SimEtcd::back_up() {
  if (faults_.back_after == 0 || times_back_ > 0 || !entries_.contains(kJobKey)) return;
  backups_.push_back({entries_, revision_, counted_});
  if (backups_.size() > faults_.back_by + std::size_t{1}) backups_.pop_front();
  if (++changes_ != faults_.back_after) return;
  world_.at(world_.now() + scaled(kGoesBackWithin, random_.unit()), [this] { go_back(); });
}

void SimEtcd::go_back() {
  const Backup& backup = backups_.front();
  entries_ = backup.entries;
  revision_ = forgotten_ = backup.revision;
  counted_ = backup.counted;
  events_.clear();
  ++times_back_;
  ++counts_.went_back;
  world_.on_back();
}

// Not for the first scheduler, which would not begin.
bool SimEtcd::faulty() const {
  const Instant now = world_.now();
  return now > Instant{0} && now < Instant{faults_.until.count()};
}

bool SimEtcd::away() {
  if (faults_.away_every == Duration{} || !faulty()) return false;
  while (world_.now() >= away_until_) {
    if (away_until_ > Instant{0}) ++counts_.away;
    away_from_ = away_until_ + scaled(faults_.away_every, -std::log(1 - random_.unit()));
    away_until_ = away_from_ + scaled(faults_.away_max, random_.unit()) + std::chrono::milliseconds(1);
  }
  return world_.now() >= away_from_;
}

SimEtcd::Fate SimEtcd::draw() {
  if (away()) return random_.chance(0.5) ? Fate::kUnheard : Fate::kHeardLate;
  if (!faulty()) return Fate::kAnswered;
  if (random_.chance(faults_.unheard)) return Fate::kUnheard;
  if (random_.chance(faults_.late)) return Fate::kHeardLate;
  return random_.chance(faults_.unanswered) ? Fate::kUnanswered : Fate::kAnswered;
}

Status SimEtcd::gives_up() {
  given_up_ = true;
  return {Code::kTimeout, "etcd has not answered"};
}

Duration SimEtcd::answer_takes() {
  return scaled(
      given_up_ ? kGivenUpAfterMax : std::max(faulty() ? faults_.slow : Duration{}, kAnswerTakesMax),
      random_.unit());
}

Result<StateView> SimEtcd::get(std::string_view prefix) {
  given_up_ = false;
  // As a store says that reads of one revision piece by piece.
  if (forget() && random_.chance(0.5)) return Status(Code::kRetry, "its revision is forgotten");
  if (draw() != Fate::kAnswered) {
    ++counts_.unanswered;
    return gives_up();
  }
  StateView view{{}, revision_};
  for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at)
    view.entries.insert(*at);
  return view;
}

Result<std::vector<StateEvent>> SimEtcd::watch(std::string_view prefix, std::uint64_t after,
                                               Duration /*wait*/) {
  given_up_ = false;
  forget();
  if (draw() != Fate::kAnswered) {
    ++counts_.unanswered;
    return gives_up();
  }
  if (after < forgotten_) {
    ++counts_.stale_watches;
    return Status(Code::kStale, "that is forgotten");
  }
  std::vector<StateEvent> told;
  for (const StateEvent& event : events_) {
    if (event.revision > after && event.change.key.starts_with(prefix)) told.push_back(event);
  }
  return told;
}

// Whether it has forgotten since the last call what was before the newest revision.
bool SimEtcd::forget() {
  if (faults_.forget_every == Duration{} || !faulty() || world_.now() < forgets_at_) return false;
  forgets_at_ = world_.now() + scaled(faults_.forget_every, -std::log(1 - random_.unit()));
  if (forgotten_ == revision_) return false;
  forgotten_ = revision_;
  events_.clear();
  ++counts_.compacted;
  return true;
}

std::uint64_t SimEtcd::change(std::span<const StateChange> changes, StateLease lease) {
  if (changes.empty()) return revision_;
  ++revision_;
  for (const StateChange& one : changes) {
    events_.push_back({one, revision_});
    bound_.erase(one.key);
    if (one.value && lease != 0) bound_[one.key] = lease;
    if (one.value) {
      entries_[one.key] = {*one.value, revision_};
    } else {
      entries_.erase(one.key);
    }
  }
  return revision_;
}

Result<std::uint64_t> SimEtcd::make(std::uint64_t number, std::span<const StateGuard> guards,
                                    std::span<const StateChange> changes, StateLease lease) {
  if (lease != 0 && !leases_.contains(lease)) return Status(Code::kRefused, "that lease has ended");
  for (const StateGuard& guard : guards) {
    const auto at = entries_.find(guard.key);
    if ((at == entries_.end() ? 0 : at->second.revision) != guard.revision)
      return Status(Code::kStale, guard.key + " is of another revision");
  }
  const auto sets = [&](std::string_view key) {
    return std::ranges::any_of(changes, [key](const StateChange& one) { return one.key == key; });
  };
  // Who has a lease makes no difference to those who write, and whoever takes the term late ends their lead.
  const bool of_lead = sets(kLeadKey);
  if (!of_lead && !sets(kTermKey) && number < counted_)
    findings_.add(Checker::kTakeOver,
                  "a change counts that was asked for before another one that has counted");
  for (const StateChange& one : changes) {
    const auto told = told_.find(one.key);
    const auto is = entries_.find(one.key);
    if (one.value && told != told_.end() && (is == entries_.end() || is->second.revision < told->second))
      findings_.add(Checker::kTakeOver,
                    "a scheduler writes on in a state that has gone back behind its own writes");
  }
  check_leader(changes);
  if (!of_lead) counted_ = std::max(counted_, number);
  const std::uint64_t revision = change(changes, lease);
  back_up();
  return revision;
}

Result<std::uint64_t> SimEtcd::swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                                    StateLease lease) {
  given_up_ = false;
  forget();
  const std::uint64_t number = ++asked_;
  switch (draw()) {
    case Fate::kAnswered: {
      const auto made = make(number, guards, changes, lease);
      for (const StateChange& one : changes) {
        if (made && one.value && one.key.starts_with(kLeadsPrefix)) told_[one.key] = *made;
      }
      return made;
    }
    case Fate::kUnheard:
      ++counts_.unheard;
      return gives_up();
    case Fate::kUnanswered:
      ++counts_.unanswered;
      (void)make(number, guards, changes, lease);
      return gives_up();
    case Fate::kHeardLate:
      break;
  }
  ++counts_.late;
  const Instant back = away() ? away_until_ : world_.now();
  world_.at(
      back + scaled(faults_.late_max, random_.unit()),
      [this, number, lease, times_back = times_back_, its_guards = std::vector(guards.begin(), guards.end()),
       its_changes = std::vector(changes.begin(), changes.end())] {
        if (times_back != times_back_) return;
        counts_.late_refused += make(number, its_guards, its_changes, lease) ? 0 : 1;
      });
  return gives_up();
}

// Whoever set the term last is the only one whose changes count.
void SimEtcd::check_leader(std::span<const StateChange> changes) {
  bool takes = false;
  for (const StateChange& one : changes) takes |= one.key == kTermKey;
  for (const StateChange& one : changes) {
    if (!one.key.starts_with(kLeadsPrefix) || !one.value) continue;
    if (takes) {
      leader_ = one.key;
    } else if (one.key != leader_) {
      findings_.add(Checker::kTakeOver, "a change counts of a scheduler in whose place another one leads");
    }
  }
}

Status SimEtcd::call() {
  given_up_ = false;
  if (draw() == Fate::kAnswered) return ok_status();
  ++counts_.unanswered;
  return gives_up();
}

Result<StateLease> SimEtcd::grant(Duration length) {
  if (Status heard = call(); !heard.ok()) return heard;
  Lease& lease = leases_[++granted_];
  lease.length = length;
  extend(lease);
  await_end(granted_);
  return granted_;
}

Status SimEtcd::renew(StateLease lease) {
  if (Status heard = call(); !heard.ok()) return heard;
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return {Code::kRefused, "that lease has ended"};
  extend(found->second);
  return ok_status();
}

Status SimEtcd::revoke(StateLease lease) {
  if (Status heard = call(); !heard.ok()) return heard;
  if (leases_.contains(lease)) end_lease(lease);
  return ok_status();
}

void SimEtcd::extend(Lease& lease) {
  const bool early = faulty() && random_.chance(faults_.lease_early);
  counts_.leases_early += early ? 1 : 0;
  lease.ends = world_.now() + scaled(lease.length, early ? random_.unit() : 1);
}

// A leader that has just come gives every lease its whole length anew, or has lost it.
void SimEtcd::await_end(StateLease id) {
  world_.at(leases_.at(id).ends, [this, id] {
    const auto found = leases_.find(id);
    if (found == leases_.end()) return;
    Lease& lease = found->second;
    if (lease.ends > world_.now()) return await_end(id);
    if (!faulty() || !random_.chance(faults_.lease_late)) return end_lease(id);
    ++counts_.leases_late;
    lease.ends = (away() ? away_until_ : world_.now()) + lease.length;
    await_end(id);
  });
}

void SimEtcd::end_lease(StateLease id) {
  std::vector<StateChange> ended;
  for (const auto& [key, lease] : bound_) {
    if (lease == id) ended.push_back({key, std::nullopt});
  }
  leases_.erase(id);
  change(ended);
}

bool EtcdWay::cut() {
  if (faults_.cut_every == Duration{} || !etcd_.faulty()) return false;
  const Instant now = etcd_.world_.now();
  while (now >= cut_until_) {
    cut_from_ = std::max(now, cut_until_) + scaled(faults_.cut_every, -std::log(1 - random_.unit()));
    cut_until_ = cut_from_ + scaled(faults_.cut_max, random_.unit()) + std::chrono::milliseconds(1);
  }
  if (now < cut_from_) return false;
  ++etcd_.counts_.cut;
  return true;
}

Result<StateView> EtcdWay::get(std::string_view prefix) {
  if (cut()) return etcd_.gives_up();
  return etcd_.get(prefix);
}

Result<std::uint64_t> EtcdWay::swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                                    StateLease lease) {
  if (cut()) return etcd_.gives_up();
  return etcd_.swap(guards, changes, lease);
}

Result<std::vector<StateEvent>> EtcdWay::watch(std::string_view prefix, std::uint64_t after, Duration wait) {
  if (cut()) return etcd_.gives_up();
  return etcd_.watch(prefix, after, wait);
}

Result<StateLease> EtcdWay::grant(Duration length) {
  if (cut()) return etcd_.gives_up();
  return etcd_.grant(length);
}

Status EtcdWay::renew(StateLease lease) { return cut() ? etcd_.gives_up() : etcd_.renew(lease); }

Status EtcdWay::revoke(StateLease lease) { return cut() ? etcd_.gives_up() : etcd_.revoke(lease); }

}  // namespace thalweg::sim
