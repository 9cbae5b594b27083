#include "sim/sim_etcd.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/kept_state.h"

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

std::uint64_t SimEtcd::change(std::span<const StateChange> changes) {
  if (changes.empty()) return revision_;
  ++revision_;
  for (const StateChange& one : changes) {
    events_.push_back({one, revision_});
    if (one.value) {
      entries_[one.key] = {*one.value, revision_};
    } else {
      entries_.erase(one.key);
    }
  }
  return revision_;
}

Result<std::uint64_t> SimEtcd::make(std::uint64_t number, std::span<const StateGuard> guards,
                                    std::span<const StateChange> changes) {
  for (const StateGuard& guard : guards) {
    const auto at = entries_.find(guard.key);
    if ((at == entries_.end() ? 0 : at->second.revision) != guard.revision)
      return Status(Code::kStale, guard.key + " is of another revision");
  }
  if (number < counted_)
    findings_.add(Checker::kTakeOver,
                  "a change counts that was asked for before another one that has counted");
  for (const StateChange& one : changes) {
    const auto told = told_.find(one.key);
    const auto is = entries_.find(one.key);
    if (told != told_.end() && (is == entries_.end() || is->second.revision < told->second))
      findings_.add(Checker::kTakeOver,
                    "a scheduler writes on in a state that has gone back behind its own writes");
  }
  counted_ = std::max(counted_, number);
  const std::uint64_t revision = change(changes);
  back_up();
  return revision;
}

Result<std::uint64_t> SimEtcd::swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                                    StateLease /*lease*/) {
  given_up_ = false;
  forget();
  const std::uint64_t number = ++asked_;
  switch (draw()) {
    case Fate::kAnswered: {
      const auto made = make(number, guards, changes);
      for (const StateChange& one : changes) {
        if (made && one.key.starts_with(kLeadsPrefix)) told_[one.key] = *made;
      }
      return made;
    }
    case Fate::kUnheard:
      ++counts_.unheard;
      return gives_up();
    case Fate::kUnanswered:
      ++counts_.unanswered;
      (void)make(number, guards, changes);
      return gives_up();
    case Fate::kHeardLate:
      break;
  }
  ++counts_.late;
  const Instant back = away() ? away_until_ : world_.now();
  world_.at(back + scaled(faults_.late_max, random_.unit()),
            [this, number, times_back = times_back_, its_guards = std::vector(guards.begin(), guards.end()),
             its_changes = std::vector(changes.begin(), changes.end())] {
              if (times_back != times_back_) return;
              counts_.late_refused += make(number, its_guards, its_changes) ? 0 : 1;
            });
  return gives_up();
}

}  // namespace thalweg::sim
