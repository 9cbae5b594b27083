#include "worker/shard_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "base/frame.h"
#include "base/limits.h"
#include "base/placed_keys.h"
#include "base/planted.h"

namespace thalweg {
namespace {

Pending completed(Status status) { return Completion::ended({std::move(status), {}, {}}); }

Status work_ended() { return {Code::kUsage, "this shard has ended its work"}; }

}  // namespace

ShardStore::ShardStore(const wire::Map& job, ShardId shard, std::uint32_t owner_epoch, const Reached& marks)
    : job_(job),
      shard_(shard),
      owner_epoch_(owner_epoch),
      step_(marks.low),
      marks_(marks),
      pushed_(job.tables.size()),
      read_(job.tables.size()) {}

Status ShardStore::check(TableId table, const Keys& keys) const {
  if (!failure_.ok()) return failure_;
  if (table.value >= pushed_.size()) {
    return {Code::kUsage, fmt::format("no table {}; the job has {}", table.value, pushed_.size())};
  }
  const TableSpec& spec = job_.tables[table.value];
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
  return ok_status();
}

Pending ShardStore::push(TableId table, Keys keys, Rows grads) {
  if (Status status = check(table, keys); !status.ok()) return refusals_.refuse(std::move(status));
  if (step_ == kEndOfWork) return refusals_.refuse(work_ended());
  const TableSpec& spec = job_.tables[table.value];
  if (keys.size() * spec.dim != grads.size()) {
    return refusals_.refuse(
        {Code::kUsage, fmt::format("push to {}: {} keys of {} floats need {} values, got {}", spec.name,
                                   keys.size(), spec.dim, keys.size() * spec.dim, grads.size())});
  }
  if (pushed_[table.value]) {
    return refusals_.refuse(
        {Code::kUsage, fmt::format("second push to {} in step {}.{}; call advance() between them", spec.name,
                                   step_.epoch, step_.index)});
  }
  pushed_[table.value] = true;
  count_push();
  StoreCall push{StoreCall::Kind::kPush, table, step_, std::move(keys), std::move(grads)};
  push.version = std::exchange(read_[table.value], 0);
  return call(std::move(push));
}

Pending ShardStore::pull(TableId table, Keys keys) {
  if (Status status = check(table, keys); !status.ok()) return completed(std::move(status));
  // In lockstep, whether the rows showed this step would depend on who else has pushed.
  if (job_.consistency.kind == Consistency::Kind::kSync && pushed_[table.value]) {
    return completed(
        {Code::kUsage, fmt::format("pull from {} after the push of step {}.{}; pull first, or call "
                                   "advance() between them",
                                   job_.tables[table.value].name, step_.epoch, step_.index)});
  }
  if (keys.size() == 0) return completed(ok_status());
  return call({StoreCall::Kind::kPull, table, step_, std::move(keys)});
}

Pending ShardStore::read(TableId table, Keys keys) {
  if (Status status = check(table, keys); !status.ok()) return completed(std::move(status));
  if (keys.size() == 0) return completed(ok_status());
  return call({StoreCall::Kind::kPull, table, step_, std::move(keys), {}, frame_flags::kReadOnly});
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
    const bool dense = job_.tables[t].kind == TableSpec::Kind::kDense;
    Keys none = dense ? Keys::block(0, 0) : placed_keys({});
    call({StoreCall::Kind::kPush, TableId{t}, step_, std::move(none), {}, flags}).forget();
  }
  pushed_.assign(pushed_.size(), false);
}

Pending ShardStore::advance() {
  if (const Status& why = stopped(); !why.ok()) return completed(why);
  if (step_ == kEndOfWork) return completed(work_ended());
  THALWEG_CHECK(advancing_ == nullptr, "advance() is awaited before it is called again");
  push_empty(0);
  step_ = step_.next();
  ++ordinal_;
  advancing_ = std::make_shared<Completion>();
  Pending pending = Completion::pending(advancing_);
  if (job_.consistency.kind == Consistency::Kind::kFreeSoftsync) release_advance();
  return pending;
}

Pending ShardStore::end_epoch() {
  if (const Status& why = stopped(); !why.ok()) return completed(why);
  if (step_ == kEndOfWork) return completed(work_ended());
  if (step_has_push()) {
    return completed({Code::kUsage, "end_epoch() within a step; call advance() first"});
  }
  return end(frame_flags::kEndOfEpoch, step_.next_epoch());
}

Pending ShardStore::end_work() {
  if (const Status& why = stopped(); !why.ok()) return completed(why);
  if (step_ == kEndOfWork) return completed(ok_status());
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
  Pending pending = Completion::pending(ending_);
  release_advance();
  return pending;
}

// Where a pull waits for the shard's own pushes, a server knows what its next one is computed on.
void ShardStore::note_read(TableId table, std::uint32_t version) {
  if (job_.consistency.kind != Consistency::Kind::kFreeSoftsync) return;
  read_[table.value] = older_version(read_[table.value], version);
}

void ShardStore::push_done(Step step, const Status& status) {
  if (!status.ok() && failure_.ok()) failure_ = status;
  const auto found = in_flight_.find(step);
  if (found != in_flight_.end() && --found->second.pushes == 0) in_flight_.erase(found);
  release_advance();
}

void ShardStore::release_advance() {
  const bool sync = job_.consistency.kind == Consistency::Kind::kSync;
  const bool free = job_.consistency.kind == Consistency::Kind::kFreeSoftsync;
  std::size_t window =
      sync && !THALWEG_BUG(kHeirTooFarBehind) ? limits::kStepsInFlightSync : limits::kStepsInFlightMax;
  if (free) window = limits::kStepsInFlightFree;
  if (THALWEG_BUG(kNoWindow)) window = ~std::size_t{0};
  if (advancing_ && (!failure_.ok() || steps_behind() < window)) {
    answer(*std::exchange(advancing_, nullptr), {failure_, {}, {}});
  } else if (advancing_) {
    THALWEG_REACHED(kWindowFull);
  }
  if (ending_ && (!failure_.ok() || in_flight_.empty()))
    answer(*std::exchange(ending_, nullptr), {failure_, {}, {}});
}

void ShardStore::abort(const Status& status) {
  if (failure_.ok()) failure_ = status;
  release_advance();
}

void ShardStore::answer(Completion& completion, Answer answer) {
  if (completion.done) return;
  completion.done = true;
  completion.answer = std::move(answer);
  if (completion.waiter) ready_.push_back(completion.shared_from_this());
}

void ShardStore::begin_with(const Reached& begun) {
  THALWEG_CHECK(step_ == marks_.low && ordinal_ == 0, "a shard begins once");
  if (marks_.reach > begun.reach) return;
  marks_ = begun;
  step_ = THALWEG_BUG(kResumedAhead) ? begun.reach : begun.low;
}

Pending ShardStore::call(StoreCall call) {
  calls_.push_back(std::move(call));
  return Completion::pending(calls_.back().completion);
}

Pending ShardStore::barrier(BarrierId id) {
  if (!failure_.ok()) return completed(failure_);
  return call({.kind = StoreCall::Kind::kBarrier, .step = in_place_of_step(id)});
}

Pending ShardStore::report(ReportId id, std::string text) {
  if (!failure_.ok()) return completed(failure_);
  return call({.kind = StoreCall::Kind::kReport, .step = in_place_of_step(id), .text = std::move(text)});
}

Pending ShardStore::end_program() {
  if (!failure_.ok()) return completed(failure_);
  return call({.kind = StoreCall::Kind::kReport, .flags = frame_flags::kEndOfWork});
}

// An heir does all that servers know of its predecessor, and ends an epoch where that one ended it.
bool ShardStore::closing() const {
  if (!job_closes_) return false;
  const bool ends_here = marks_.ended && step_.next() == marks_.reach;
  return step_ >= marks_.reach || ends_here || THALWEG_BUG(kHeirEndsEarly);
}

Pending ShardStore::yield() { return call({.kind = StoreCall::Kind::kYield}); }

Pending ShardStore::count(TableId table) { return call({.kind = StoreCall::Kind::kCount, .table = table}); }

Pending ShardStore::scan(TableId table, RangeId range) {
  return call({.kind = StoreCall::Kind::kScan, .table = table, .range = range});
}

Pending ShardStore::load(TableId table, RangeId range, std::vector<std::uint64_t> keys, Rows rows) {
  return call({.kind = StoreCall::Kind::kLoad,
               .table = table,
               .keys = placed_keys(std::move(keys)),
               .grads = std::move(rows),
               .range = range});
}

Pending ShardStore::begin(TableId table, RangeId range, std::string state) {
  return call({.kind = StoreCall::Kind::kLoad,
               .table = table,
               .keys = placed_keys({}),
               .flags = frame_flags::kState,
               .text = std::move(state),
               .range = range});
}

}  // namespace thalweg
