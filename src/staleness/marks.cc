#include "staleness/marks.h"

#include "base/check.h"
#include "base/planted.h"

namespace thalweg {

Arrival Mark::classify(Step step) const {
  if (THALWEG_BUG(kNoDedup)) return Arrival::kNew;
  if (step < low_ || low_ == kEndOfWork) return Arrival::kRepeat;
  if (step.epoch > low_.epoch) return Arrival::kTooEarly;
  const std::uint32_t ahead = step.index - low_.index;
  if (ahead >= limits::kStepWindow) return Arrival::kTooEarly;
  if (THALWEG_BUG(kWindowForgotten)) return Arrival::kNew;
  return ((seen_ >> ahead) & 1) != 0 ? Arrival::kRepeat : Arrival::kNew;
}

bool Mark::contradicts(Step step, LastOf ends) const {
  if (THALWEG_BUG(kNoDedup)) return false;
  if (end_ != kNoEnd && (step.index >= end_ || ends != LastOf::kNothing)) return true;
  return ends != LastOf::kNothing && (seen_ >> (step.index - low_.index)) != 0;
}

void Mark::record(Step step, LastOf ends) {
  if (THALWEG_BUG(kNoDedup) && classify(step) == Arrival::kNew && step < low_) return;
  if (ends != LastOf::kNothing) end_ = step.index + 1;
  if (ends == LastOf::kWork) end_of_work_ = true;
  seen_ |= std::uint64_t{1} << (step.index - low_.index);
  while ((seen_ & 1) != 0) {
    seen_ >>= 1;
    ++low_.index;
  }
  if (low_.index == end_) {
    low_ = end_of_work_ ? kEndOfWork : low_.next_epoch();
    end_ = kNoEnd;
    seen_ = 0;
  }
}

bool Mark::may_end_with(Step step) const { return low_ == step.next_epoch() && seen_ == 0 && end_ == kNoEnd; }

void Mark::end_work_after(Step step) {
  if (may_end_with(step)) low_ = kEndOfWork;
}

void Mark::encode(Writer& out) const {
  out.put(low_.epoch).put(low_.index).put(end_).put(static_cast<std::uint8_t>(end_of_work_)).put(seen_);
}

Mark Mark::decode(Reader& in) {
  Mark mark;
  mark.low_.epoch = in.get<std::uint32_t>();
  mark.low_.index = in.get<std::uint32_t>();
  mark.end_ = in.get<std::uint32_t>();
  const auto end_of_work = in.get<std::uint8_t>();
  mark.end_of_work_ = end_of_work == 1;
  mark.seen_ = in.get<std::uint64_t>();
  const bool over = mark.low_ == kEndOfWork;
  const std::uint64_t steps_left = std::uint64_t{mark.end_} - mark.low_.index;
  const bool ends = mark.end_ != kNoEnd;
  const bool beyond = ends && steps_left < limits::kStepWindow && (mark.seen_ >> steps_left) != 0;
  if (end_of_work > 1 || (mark.seen_ & 1) != 0 || (over && (ends || mark.seen_ != 0)) ||
      (!over && mark.low_.epoch == kEndOfWork.epoch) || (ends && mark.end_ <= mark.low_.index) || beyond ||
      (mark.end_of_work_ && !ends && !over)) {
    in.fail();
  }
  return mark;
}

}  // namespace thalweg
