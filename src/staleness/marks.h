// Which steps of one data shard have arrived for one key range: a low mark and a window above it, so that any
// repeat is recognised with a few bytes a (shard, range).
#pragma once

#include <cstdint>
#include <limits>

#include "base/bytes.h"
#include "base/limits.h"
#include "thalweg/ids.h"

namespace thalweg {

enum class Arrival : std::uint8_t { kNew, kRepeat, kTooEarly };
// A step may be the last of its epoch, or of all that the shard will ever do.
enum class LastOf : std::uint8_t { kNothing, kEpoch, kWork };

class Mark {
 public:
  Mark() = default;
  // Of a shard whose work begins with this step.
  explicit Mark(Step first) : low_(first) {}
  // Every step before low() has arrived.
  Step low() const { return low_; }
  Arrival classify(Step step) const;
  // Whether `step` and what it ends cannot be true together with what has arrived: a step behind the last, or
  // a last one before another. Precondition: classify(step) == kNew.
  bool contradicts(Step step, LastOf ends) const;
  // Precondition: classify(step) == kNew, and no contradiction. `ends`: what the step is the last of.
  void record(Step step, LastOf ends);
  // Whether `step`, which has arrived, was the last of its epoch and nothing has come since, so that it may
  // be the last of all: an heir may end the work where its predecessor had ended an epoch.
  bool may_end_with(Step step) const;
  // Whether the last of all steps has arrived.
  bool ends_work() const { return end_of_work_ || low_ == kEndOfWork; }
  // `step` is the last of all. Nothing changes unless may_end_with(step).
  void end_work_after(Step step);

  void encode(Writer& out) const;  // mark := low:step end:u32 end_of_work:u8 seen:u64
  static Mark decode(Reader& in);  // Fails on what no pushes lead to.

  bool operator==(const Mark&) const = default;

 private:
  static constexpr std::uint32_t kNoEnd = std::numeric_limits<std::uint32_t>::max();
  Step low_;
  std::uint32_t end_ = kNoEnd;  // One past the epoch's last step, once known.
  bool end_of_work_ = false;    // That step is the last of all.
  std::uint64_t seen_ = 0;      // Bit i: step low_.index + i has arrived. Bit 0 is never set.
};
static_assert(limits::kStepWindow == 64, "the window is one word");

}  // namespace thalweg
