#include "worker/shard_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "base/planted.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

Pending completed(Status status) {
  auto completion = std::make_shared<Completion>();
  completion->done = true;
  completion->answer.status = std::move(status);
  return Pending(std::move(completion));
}

Status work_ended() { return {Code::kUsage, "this shard has ended its work"}; }

}  // namespace

ShardStore::ShardStore(Worker& worker, ShardId shard, std::uint32_t owner_epoch, const wire::Marks& marks)
    : worker_(worker),
      shard_(shard),
      owner_epoch_(owner_epoch),
      step_(marks.low),
      marks_(marks),
      pushed_(worker.map().tables.size()) {}

Status ShardStore::check(TableId table, const Keys& keys) const {
  if (!failure_) return failure_;
  if (table.value >= pushed_.size()) {
    return {Code::kUsage, fmt::format("no table {}; the job has {}", table.value, pushed_.size())};
  }
  const TableSpec& spec = worker_.map().tables[table.value];
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  if (!keys.values() || keys.dense() != dense) {
    return {Code::kUsage,
            fmt::format("table {} takes Keys from Keys::{}()", spec.name, dense ? "block" : "of")};
  }
  const auto& block = *keys.values();
  if (dense && (block[0] > spec.rows || block[1] > spec.rows - block[0])) {
    return {Code::kUsage, fmt::format("table {} has {} rows, asked for [{}, {})", spec.name, spec.rows,
                                      block[0], block[0] + block[1])};
  }
  return Status::ok();
}

Pending ShardStore::push(TableId table, Keys keys, Rows grads) {
  if (Status status = check(table, keys); !status) return completed(std::move(status));
  if (step_ == kEndOfWork) return completed(work_ended());
  const TableSpec& spec = worker_.map().tables[table.value];
  if (keys.size() * spec.dim != grads.size()) {
    return completed(
        {Code::kUsage, fmt::format("push to {}: {} keys of {} floats need {} values, got {}", spec.name,
                                   keys.size(), spec.dim, keys.size() * spec.dim, grads.size())});
  }
  if (pushed_[table.value]) {
    return completed(
        {Code::kUsage, fmt::format("second push to {} in step {}.{}; call advance() between them", spec.name,
                                   step_.epoch, step_.index)});
  }
  pushed_[table.value] = true;
  count_push();
  return worker_.push(*this, table, step_, keys, grads, 0);
}

Pending ShardStore::pull(TableId table, Keys keys) {
  if (Status status = check(table, keys); !status) return completed(std::move(status));
  // In lockstep, whether the rows showed this step would depend on who else has pushed.
  if (worker_.map().consistency.kind == Consistency::Kind::kSync && pushed_[table.value]) {
    return completed(
        {Code::kUsage, fmt::format("pull from {} after the push of step {}.{}; pull first, or call "
                                   "advance() between them",
                                   worker_.map().tables[table.value].name, step_.epoch, step_.index)});
  }
  return worker_.pull(*this, table, step_, keys, false);
}

Pending ShardStore::read(TableId table, Keys keys) {
  if (Status status = check(table, keys); !status) return completed(std::move(status));
  return worker_.pull(*this, table, step_, keys, true);
}

void ShardStore::count_push() {
  InFlight& step = in_flight_[step_];
  step.ordinal = ordinal_;
  ++step.pushes;
}

void ShardStore::push_empty(std::uint8_t flags) {
  for (std::uint16_t t = 0; t < pushed_.size(); ++t) {
    if (pushed_[t]) continue;
    count_push();
    const bool dense = worker_.map().tables[t].kind == TableSpec::Kind::kDense;
    const Keys none = dense ? Keys::block(0, 0) : Keys::placed({});
    worker_.push(*this, TableId{t}, step_, none, Rows(), flags).forget();
  }
  pushed_.assign(pushed_.size(), false);
}

Pending ShardStore::advance() {
  if (!failure_) return completed(failure_);
  if (step_ == kEndOfWork) return completed(work_ended());
  THALWEG_CHECK(advancing_ == nullptr, "advance() is awaited before it is called again");
  push_empty(0);
  step_ = step_.next();
  ++ordinal_;
  advancing_ = std::make_shared<Completion>();
  Pending pending(advancing_);
  release_advance();
  return pending;
}

Pending ShardStore::end_epoch() {
  if (!failure_) return completed(failure_);
  if (step_ == kEndOfWork) return completed(work_ended());
  if (step_has_push()) {
    return completed({Code::kUsage, "end_epoch() within a step; call advance() first"});
  }
  return end(frame_flags::kEndOfEpoch, step_.next_epoch());
}

Pending ShardStore::end_work() {
  if (!failure_) return completed(failure_);
  if (step_ == kEndOfWork) return completed(Status::ok());
  if (step_has_push()) {
    push_empty(0);
    step_ = step_.next();
    ++ordinal_;
  }
  return end(frame_flags::kEndOfWork, kEndOfWork);
}

bool ShardStore::step_has_push() const {
  return std::find(pushed_.begin(), pushed_.end(), true) != pushed_.end();
}

Pending ShardStore::end(std::uint8_t flags, Step next) {
  THALWEG_CHECK(ending_ == nullptr, "an end is awaited before the next");
  push_empty(flags);
  step_ = next;
  ++ordinal_;
  ending_ = std::make_shared<Completion>();
  Pending pending(ending_);
  release_advance();
  return pending;
}

void ShardStore::push_done(Step step, const Status& status) {
  if (!status && failure_) failure_ = status;
  const auto found = in_flight_.find(step);
  if (found != in_flight_.end() && --found->second.pushes == 0) in_flight_.erase(found);
  release_advance();
}

void ShardStore::release_advance() {
  const bool sync = worker_.map().consistency.kind == Consistency::Kind::kSync;
  std::size_t window =
      sync && !THALWEG_BUG(kHeirTooFarBehind) ? limits::kStepsInFlightSync : limits::kStepsInFlightMax;
  if (THALWEG_BUG(kNoWindow)) window = ~std::size_t{0};
  if (advancing_ && (!failure_ || steps_behind() < window)) {
    worker_.complete(*std::exchange(advancing_, nullptr), failure_);
  }
  if (ending_ && (!failure_ || in_flight_.empty()))
    worker_.complete(*std::exchange(ending_, nullptr), failure_);
}

void ShardStore::abort(const Status& status) {
  if (failure_) failure_ = status;
  release_advance();
}

Pending ShardStore::barrier(Step number) {
  return failure_ ? worker_.barrier(*this, number) : completed(failure_);
}

Pending ShardStore::report(Step number, std::string text) {
  return failure_ ? worker_.report(*this, number, text) : completed(failure_);
}

// An heir does all that servers know of its predecessor, and ends an epoch where that one ended it.
bool ShardStore::closing() const {
  if (!worker_.map().closing) return false;
  const bool ends_here = marks_.ended && step_.next() == marks_.reach;
  return step_ >= marks_.reach || ends_here || THALWEG_BUG(kHeirEndsEarly);
}

Pending ShardStore::yield() { return worker_.yield(); }

Pending ShardStore::count(TableId table) { return worker_.count(*this, table); }

Pending ShardStore::scan(TableId table, RangeId range) { return worker_.scan(*this, table, range); }

}  // namespace thalweg
