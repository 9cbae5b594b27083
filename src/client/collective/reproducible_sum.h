// Reduction::kReproducibleSum of f32 and f64, which takes a group two operations.
#pragma once

#include "thalweg/group.h"

namespace thalweg {

bool is_reproducible_sum(const GroupCall& asked);
// Precondition: is_reproducible_sum(asked).
Status run_reproducible_sum(Group& group, const GroupCall& asked);
GroupWork start_reproducible_sum(Group& group, const GroupCall& asked);

}  // namespace thalweg
