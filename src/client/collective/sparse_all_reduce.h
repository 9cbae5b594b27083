// Sums of rows by key over the ranks of a group.
#pragma once

#include <cstdint>
#include <span>

#include "client/collective/group_steps.h"
#include "thalweg/sparse_rows.h"
#include "thalweg/task.h"

namespace thalweg {

struct SparseCall {
  std::span<const std::uint64_t> keys;
  std::span<const float> rows;
  std::size_t dim = 1;
  SparseOptions options{};
  bool last_wins = false;  // The row of the last rank that brings a key, instead of the sum.
  SparseRows* out = nullptr;
};

// OK, or which key or number is wrong, as kUsage.
Status check_sparse(const SparseCall& call);
// The union of all ranks' keys with the sum of each, by a binary tree over the ranks as table/reduce.h has
// it: the same bits whichever way, and those of a sum of data shards. Precondition: check_sparse() is OK.
Task<Status> all_reduce_sparse(GroupSteps& steps, SparseCall call);
// The same, checked, on the caller's thread.
Status all_reduce_sparse(Group& group, const SparseCall& call);

}  // namespace thalweg
