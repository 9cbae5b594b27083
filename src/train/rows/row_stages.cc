#include "train/rows/row_stages.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kSampleConcern = 0x6e65676174697665;

void weigh_positives(float weight, Batch& batch) {
  if (batch.weights.empty()) batch.weights.assign(batch.rows(), 1.0f);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (batch.labels[row] > 0) batch.weights[row] *= weight;
  }
}

}  // namespace

std::unique_ptr<RowStages> RowStages::of_training(const TrainSpec& spec, ShardId shard, std::uint32_t epoch,
                                                  const KeyCounting* counting) {
  const RowShuffle& shuffle = spec.train.shuffle;
  const bool pool = shuffle.order == RowOrder::kRows;
  if (!pool && counting == nullptr && spec.positive_weight == 1 && spec.kept_negatives == 1) return nullptr;
  std::unique_ptr<RowStages> stages(new RowStages);
  stages->positive_weight_ = spec.positive_weight;
  stages->kept_negatives_ = static_cast<double>(spec.kept_negatives);
  stages->chance_ = splitmix(spec.model.seed ^ splitmix(kSampleConcern + shard.value));
  stages->counting_ = counting;
  if (pool) stages->pool_ = std::make_unique<RowPool>(shuffle, shard.value, epoch);
  return stages;
}

std::unique_ptr<RowStages> RowStages::of_held_out(const KeyCounting* counting) {
  if (counting == nullptr) return nullptr;
  std::unique_ptr<RowStages> stages(new RowStages);
  stages->counting_ = counting;
  return stages;
}

Result<std::size_t> RowStages::next(RowReader& reader, std::size_t rows_max, Batch& out) {
  if (!pool_) return read(reader, rows_max, out);
  return pool_->next([&](std::size_t rows, Batch& batch) { return read(reader, rows, batch); }, rows_max,
                     out);
}

Result<std::size_t> RowStages::read(RowReader& reader, std::size_t rows_max, Batch& out) {
  const auto rows = samples() ? read_sample(reader, rows_max, out) : reader.next(rows_max, out);
  if (!rows || *rows == 0) return rows;
  if (positive_weight_ != 1) weigh_positives(positive_weight_, out);
  if (counting_ != nullptr) counting_->drop_rare(out);
  return rows;
}

// Whether a row of label 0 is learnt follows from its place among the rows that the reader reads.
Result<std::size_t> RowStages::read_sample(RowReader& reader, std::size_t rows_max, Batch& out) {
  while (sample_.rows() < rows_max) {
    const auto rows = reader.next(rows_max, incoming_);
    if (!rows) return rows;
    if (*rows == 0) break;
    for (std::size_t row = 0; row < *rows; ++row) {
      const bool stays = Random(splitmix(chance_ + row_++)).chance(kept_negatives_);
      if (stays || incoming_.labels[row] > 0) append_row(incoming_, row, sample_);
    }
  }
  out.clear();
  const std::size_t count = std::min(rows_max, sample_.rows());
  for (std::size_t row = 0; row < count; ++row) append_row(sample_, row, out);
  Batch rest;
  for (std::size_t row = count; row < sample_.rows(); ++row) append_row(sample_, row, rest);
  sample_ = std::move(rest);
  return count;
}

void RowStages::next_pass() {
  row_ = 0;
  sample_.clear();
  if (pool_) pool_->next_pass();
}

}  // namespace thalweg
