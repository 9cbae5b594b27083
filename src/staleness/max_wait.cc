#include <algorithm>

#include "staleness/step_policy.h"

namespace thalweg {
namespace {

// Steps close with the slowest shard, or where the clocks say that they have expired.
class MaxWait final : public StepPolicy {
 public:
  explicit MaxWait(Duration limit) : limit_(limit) {}
  bool lets_read(Step clock, Step wanted) const override { return is_within(clock, wanted, 0); }
  Step awaited(const Clocks& clocks) const override { return closed(clocks); }
  Step closed(const Clocks& clocks) const override { return std::max(clocks.slowest(), clocks.expired()); }
  bool drops_late() const override { return true; }
  // Open steps stay few when shards push and never read.
  bool takes(const Clocks& clocks, Step step) const override { return is_near(closed(clocks), step); }
  bool combines() const override { return false; }
  std::size_t steps_replayed() const override { return 0; }
  Duration waits_at_most() const override { return limit_; }

 private:
  Duration limit_;
};

}  // namespace

std::unique_ptr<const StepPolicy> max_wait_policy(Duration limit) { return std::make_unique<MaxWait>(limit); }

}  // namespace thalweg
