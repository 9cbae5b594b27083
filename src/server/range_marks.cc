#include "server/range_marks.h"

#include <algorithm>
#include <utility>

namespace thalweg {

void RangeMarks::own(const RangeSet& owned) {
  RangeMarks next(static_cast<std::uint16_t>(slots_.size()), shards_, none_.low());
  next.owned_ = owned;
  for (const RangeSpan run : owned.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range)
      next.slots_[range] = static_cast<std::uint16_t>(next.width_++);
  }
  next.marks_.assign(next.width_ * shards_, none_);
  for (const RangeSpan run : owned.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      if (!owned_.contains(RangeId{range})) continue;
      for (std::uint32_t s = 0; s < shards_; ++s) next.at(ShardId{s}, range) = at(ShardId{s}, range);
    }
  }
  *this = std::move(next);
}

void RangeMarks::record(ShardId shard, const PushEntry& entry) {
  const RangeSet marked = entry.ended.empty() ? entry.fresh : entry.fresh + entry.ended;
  for (const RangeSpan run : marked.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      Mark& known = at(shard, range);
      const bool fresh = known.classify(entry.step) == Arrival::kNew;
      if (fresh) known.record(entry.step, entry.ends);
      if (!fresh && entry.ends == LastOf::kWork) known.end_work_after(entry.step);
    }
  }
}

Step RangeMarks::low(ShardId shard) const {
  Step low = kEndOfWork;
  for (std::size_t i = shard.value * width_; i < (shard.value + 1) * width_; ++i)
    low = std::min(low, marks_[i].low());
  return low;
}

}  // namespace thalweg
