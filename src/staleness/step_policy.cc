#include "staleness/step_policy.h"

#include "base/limits.h"
#include "base/planted.h"
#include "thalweg/wait_limit.h"

namespace thalweg {

std::unique_ptr<const StepPolicy> step_policy(Consistency consistency) {
  switch (consistency.kind) {
    case Consistency::Kind::kSync:
      return lockstep();
    case Consistency::Kind::kBounded:
      return bounded(consistency.bound);
    case Consistency::Kind::kSoftsync:
      return softsync(consistency.bound);
    case Consistency::Kind::kFreeSoftsync:
      return free_softsync(consistency.bound);
    case Consistency::Kind::kBackup:
      return backup(consistency.bound);
    case Consistency::Kind::kMaxWait:
      return max_wait_policy(*wait_limit(consistency));
    case Consistency::Kind::kAsync:
      break;
  }
  return immediate();
}

bool is_within(Step clock, Step wanted, std::uint64_t bound) {
  if (clock >= wanted) return true;
  if (THALWEG_BUG(kGateOffByOne)) ++bound;
  if (THALWEG_BUG(kGateTooStrict) && bound > 0) --bound;
  if (THALWEG_BUG(kEpochsMixed) && clock.epoch < wanted.epoch) return true;
  return clock.epoch == wanted.epoch && clock.index + bound >= wanted.index;
}

bool is_near(Step open, Step step) {
  if (step <= open) return true;
  const std::uint32_t ahead = step.epoch == open.epoch ? step.index - open.index : step.index;
  return step.epoch <= open.epoch + 1 && ahead < limits::kStepWindow;
}

bool keeps_copies(Consistency consistency) {
  const auto policy = step_policy(consistency);
  return !policy->drops_late() && policy->pushes_an_update(1) == 0;
}

}  // namespace thalweg
