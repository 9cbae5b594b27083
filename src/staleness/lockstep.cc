#include "base/limits.h"
#include "base/planted.h"
#include "staleness/step_policy.h"

namespace thalweg {
namespace {

class Lockstep final : public StepPolicy {
 public:
  bool lets_read(Step clock, Step wanted) const override { return is_within(clock, wanted, 0); }
  Step closed(const Clocks& clocks) const override {
    return THALWEG_BUG(kEarlyClose) ? clocks.slowest().next() : clocks.slowest();
  }
  // Open steps stay few when shards push and never read.
  bool takes(const Clocks& clocks, Step step) const override {
    if (step <= clocks.slowest()) return true;
    return step.epoch <= clocks.slowest().epoch + 1 && clocks.lead(step) < limits::kStepWindow;
  }
  bool combines() const override { return true; }
  std::size_t steps_replayed() const override { return limits::kStepsInFlightSync; }
};

}  // namespace

std::unique_ptr<const StepPolicy> lockstep() { return std::make_unique<Lockstep>(); }

}  // namespace thalweg
