// Rows of the servers into a shard's replica.
#pragma once

#include <unordered_set>
#include <utility>
#include <vector>

#include "base/placed_keys.h"
#include "client/replica/replica_algorithm.h"

namespace thalweg {

inline Task<Status> fetch(ReplicaWork work, TableId table, Keys keys) {
  if (keys.size() == 0) co_return ok_status();
  Answer answer = co_await work.shared.pull(table, keys);
  if (answer.status.ok()) work.replica.write(table, keys, answer.rows.span());
  co_return answer.status;
}

// Those of `keys`, of a sparse table, that are not among `known` yet; then they are.
inline Keys unknown_keys(const Keys& keys, std::unordered_set<std::uint64_t>& known) {
  std::vector<std::uint64_t> unknown;
  for (const std::uint64_t key : *keys.values()) {
    if (known.insert(key).second) unknown.push_back(key);
  }
  return placed_keys(std::move(unknown));
}

}  // namespace thalweg
