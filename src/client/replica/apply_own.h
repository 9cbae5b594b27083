// A shard's own gradients as an update of its own replica.
#pragma once

#include <vector>

#include "client/replica/replica_algorithm.h"

namespace thalweg {

// Times `scale`.
inline void apply_own(const ReplicaWork& work, float scale = 1) {
  std::vector<float> scaled;
  for (std::uint16_t t = 0; t < work.pushes.size(); ++t) {
    const StepPush& push = work.pushes[t];
    if (!push.pushed) continue;
    std::span<const float> grads = push.grads.span();
    if (scale != 1) {
      scaled.assign(grads.begin(), grads.end());
      for (float& grad : scaled) grad *= scale;
      grads = scaled;
    }
    work.replica.apply(TableId{t}, push.keys, grads);
  }
}

}  // namespace thalweg
