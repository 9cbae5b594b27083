// Gradients that are corrected for what changed since their rows were read, each an update as it comes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "client/replica/fetch.h"

namespace thalweg {

// A shard's push to one table, and how far the servers' rows have moved since the shard read them.
struct StaleGradients {
  TableId table;
  const Keys& keys;
  std::span<const float> moved;  // As many as `grads`.
  float examples;                // That `grads` are sums over.
  std::span<float> grads;
};

class CompensatedGradients : public ReplicaAlgorithm {
 public:
  Task<Status> before_pull(ReplicaWork work, TableId table, Keys keys) final {
    co_return co_await fetch(work, table, std::move(keys));
  }

  Task<Status> end_step(ReplicaWork work) final {
    for (std::uint16_t t = 0; t < work.pushes.size(); ++t) {
      const StepPush& push = work.pushes[t];
      if (!push.pushed || push.keys.size() == 0) continue;
      const Answer now = co_await work.shared.pull(TableId{t}, push.keys);
      if (!now.status.ok()) co_return now.status;
      const Rows read = work.replica.read(TableId{t}, push.keys);
      std::vector<float> grads(push.grads.span().begin(), push.grads.span().end()), moved(read.size());
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = now.rows[i] - read[i];
      correct({TableId{t}, push.keys, moved, static_cast<float>(work.rows > 0 ? work.rows : 1), grads});
      work.shared.push(TableId{t}, push.keys, Rows(std::move(grads))).forget();
    }
    co_return (co_await work.shared.advance()).status;
  }

  Task<Status> end_pass(ReplicaWork) final { co_return ok_status(); }

 private:
  // Makes of the gradients what they would be where the servers' rows have come to meanwhile.
  virtual void correct(const StaleGradients& stale) = 0;
};

}  // namespace thalweg
