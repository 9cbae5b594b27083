// What policies have in common under which a push is applied as it comes.
#pragma once

#include "staleness/step_policy.h"

namespace thalweg {

class AsTheyCome : public StepPolicy {
 public:
  Step closed(const Clocks&) const override { return kEndOfWork; }
  bool keeps_steps() const override { return false; }
  bool takes(const Clocks&, Step) const override { return true; }
  bool combines() const override { return false; }
  std::size_t steps_replayed() const override { return 0; }
};

}  // namespace thalweg
