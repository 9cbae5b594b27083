#include "sim/sim_etcd.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg::sim {
namespace {

constexpr Duration kAnswerTakesMax = std::chrono::milliseconds(4);
constexpr Duration kGivenUpAfterMax = std::chrono::milliseconds(500);

}  // namespace

SimEtcd::SimEtcd(const Plan& plan, StateStore& held, Findings& findings, World world)
    : faults_(plan.state_faults),
      held_(held),
      findings_(findings),
      world_(std::move(world)),
      random_(Random(plan.seed).split(25)) {}

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
  if (draw() == Fate::kAnswered) return held_.get(prefix);
  ++counts_.unanswered;
  return gives_up();
}

Result<std::uint64_t> SimEtcd::make(std::uint64_t number, std::span<const StateGuard> guards,
                                    std::span<const StateChange> changes) {
  auto made = held_.swap(guards, changes);
  if (!made) return made;
  if (number < counted_)
    findings_.add(Checker::kTakeOver,
                  "a change counts that was asked for before another one that has counted");
  counted_ = std::max(counted_, number);
  return made;
}

Result<std::uint64_t> SimEtcd::swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                                    StateLease /*lease*/) {
  given_up_ = false;
  const std::uint64_t number = ++asked_;
  switch (draw()) {
    case Fate::kAnswered:
      return make(number, guards, changes);
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
            [this, number, its_guards = std::vector(guards.begin(), guards.end()),
             its_changes = std::vector(changes.begin(), changes.end())] {
              counts_.late_refused += make(number, its_guards, its_changes) ? 0 : 1;
            });
  return gives_up();
}

}  // namespace thalweg::sim
