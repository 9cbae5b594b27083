// How a model does on held-out rows, added up over parts of them: what a data shard reports instead of
// scores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "model/metric/auc_counts.h"
#include "model/metric/metric_sums.h"
#include "thalweg/batch.h"

namespace thalweg {

class HeldOutSummary {
 public:
  // Different scores that the AUC tells apart, see AucCounts: in one shard, so that a report is of at most
  // 2.7 MB, and in all.
  static constexpr std::size_t kShardCellsMax = std::size_t{1} << 17;
  static constexpr std::size_t kCellsMax = std::size_t{1} << 20;

  HeldOutSummary(Loss loss, std::size_t cells_max) : loss_(loss), metrics_(loss), auc_(cells_max) {}
  // As MetricSums::add().
  void add(std::span<const float> scores, std::span<const float> labels, std::span<const float> weights);
  // What Model::forward() says of these rows, whatever the loss.
  void add_batch(const LossSum& sum, std::span<const float> scores, const Batch& rows);
  const MetricSums& metrics() const { return metrics_; }
  const AucCounts& auc() const { return auc_; }  // Empty for squared loss.

  // rows:u64 sums:f64*9 nan:u8 bits_dropped:u8 cells:u32 (place:u32 positive:f64 negative:f64)*cells
  void put(Writer& out) const;
  // Nothing, and `in` has failed, where a shard of this loss says no such thing.
  static std::optional<HeldOutSummary> get(Reader& in, Loss loss);

 private:
  Loss loss_;
  MetricSums metrics_;
  AucCounts auc_;
};

}  // namespace thalweg
