#include "scheduler/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kMarginMin = 4, kMarginMax = 1u << 16;

}  // namespace

void Checkpoints::begin(Instant now) {
  if (policy_.place.empty()) return;
  if (first_ != Step{}) newest_ = first_;
  clock_ = first_;
  rest(now);
}

void Checkpoints::resume(Instant now, std::uint64_t number, std::optional<Step> newest) {
  begin(now);
  number_ = number;
  if (newest) newest_ = newest;
}

// By steps the order is given long before its step comes.
void Checkpoints::rest(Instant now) {
  phase_ = Phase::kIdle;
  margin_ = kMarginMin;
  parts_.clear();
  if (policy_.every_steps > 0) {
    aim_ = {clock_.epoch, (clock_.index / policy_.every_steps + 1) * policy_.every_steps};
    due_ = now;
  } else {
    aim_ = clock_;
    due_ = now + policy_.every;
  }
  if (asked_) ask(now);
}

void Checkpoints::ask(Instant now) {
  if (policy_.place.empty() || over_) return;
  asked_ = true;
  if (phase_ == Phase::kCompleting) return;
  phase_ = Phase::kIdle;
  aim_ = clock_;
  due_ = now;
}

Instant Checkpoints::next_deadline() const {
  return policy_.place.empty() || over_ || phase_ == Phase::kCompleting ? kNever : due_;
}

// One that a later attempt at the same step takes the place of is no base for it.
std::uint64_t Checkpoints::since_of_next() const {
  const bool may = newest_ && *newest_ < aim_ && increments_ + 1 < policy_.whole_every;
  return may ? base_ : 0;
}

std::string Checkpoints::place() const { return fmt::format("{}{}", policy_.place, number_); }

std::optional<Checkpoints::Order> Checkpoints::next_order(Instant now,
                                                          const std::set<std::uint32_t>& servers) {
  if (now < next_deadline()) return {};
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kTaking;
    ++number_;
    aim_ = std::max(aim_, first_.next());
    since_ = since_of_next();
    open_ = servers;
    parts_.clear();
  }
  due_ = now + limits::kRetryFirst;
  wire::CheckpointOrder order;
  order.number = number_;
  order.step = aim_;
  order.place = place();
  if (policy_.whole_every > 1) order.since = since_;
  return Order{std::move(order), open_};
}

Checkpoints::Outcome Checkpoints::on_report(Instant now, std::uint32_t server,
                                            const wire::CheckpointReport& report) {
  using State = wire::CheckpointReport::State;
  if (phase_ != Phase::kTaking || report.number != number_ || !open_.contains(server)) return {};
  clock_ = std::max(clock_, report.clock);
  switch (report.state) {
    case State::kOpen:
      return {};
    case State::kPassed: {
      FailedCheckpoint late{place(), {Code::kRetry, "a server was past its step"}};
      over_ = clock_ == kEndOfWork;
      aim_ = {clock_.epoch, clock_.index + margin_};
      margin_ = std::min(2 * margin_, kMarginMax);
      phase_ = Phase::kIdle;
      due_ = now;
      return late;
    }
    case State::kFailed:
      return fail(now, {Code::kIo, report.text});
    case State::kStored:
      break;
  }
  parts_[server] = report.text;
  open_.erase(server);
  if (!open_.empty()) return {};
  phase_ = Phase::kCompleting;
  return TakenCheckpoint{number_, aim_, place(), parts_, since_};
}

Checkpoints::Outcome Checkpoints::fail(Instant now, Status why) {
  FailedCheckpoint failed{place(), std::move(why)};
  asked_ = false;
  rest(now);
  return failed;
}

Checkpoints::Outcome Checkpoints::on_moved() {
  if (phase_ != Phase::kTaking) return {};
  FailedCheckpoint moved{place(), {Code::kRetry, "key ranges have moved"}};
  phase_ = Phase::kIdle;
  due_ = Instant{0};
  return moved;
}

void Checkpoints::on_completed(Instant now, std::uint64_t number, const Status& status, bool whole_next) {
  if (phase_ != Phase::kCompleting || number != number_) return;
  if (status.ok()) {
    newest_ = aim_;
    increments_ = since_ > 0 ? increments_ + 1 : 0;
  }
  // What the driver could not complete may be for want of what it refers to.
  base_ = status.ok() && !whole_next ? number : 0;
  asked_ = false;
  rest(now);
}

}  // namespace thalweg
