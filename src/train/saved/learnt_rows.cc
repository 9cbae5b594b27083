#include "train/saved/learnt_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "client/replica/replica.h"
#include "model/model.h"
#include "model/model_kind.h"
#include "train/batch_source.h"
#include "train/held_out_summary.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kLearntBytes = std::uint64_t{8} << 20;  // Of files, roughly.

// How many rows are measured, and how many in one turn, in which the node does nothing else.
struct RowsMeasured {
  std::uint64_t all = 65536;
  std::size_t at_once = 4096;
};
constexpr RowsMeasured kOfDense{8192, 64}, kOfText{512, 64};

RowsMeasured rows_measured(const ModelSpec& model, bool is_dense) {
  if (!is_dense) return {};
  return model.loss == Loss::kBytes ? kOfText : kOfDense;
}

// One data shard of as many as make each that small.
Result<std::unique_ptr<RowReader>> open_some_rows(const ReadOptions& options) {
  auto data = DataSet::open(options);
  if (!data) return data.status();
  const std::uint64_t parts = (*data)->has_random_access() ? (*data)->total_bytes() / kLearntBytes : 1;
  const auto shards = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts, 1, ~0u));
  return (*data)->reader(ShardId{0}, shards, 0, Reads::kBegin);
}

// What batches are scored by, of a model that nobody changes any more.
class ModelRows {
 public:
  ModelRows(Store& store, std::vector<TableSpec> tables)
      : store_(store), tables_(std::move(tables)), rows_(tables_.size()), spans_(tables_.size()) {}

  // Whole tables are read for the first batch alone.
  Task<Status> read(const Prepared& batch) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const bool whole = tables_[t].kind == TableSpec::Kind::kDense;
      if (whole && rows_[t].size() > 0) continue;
      Keys keys = whole ? Keys::block(0, tables_[t].rows) : batch.keys;
      const std::size_t count = keys.size();
      Answer answer = co_await store_.read(TableId{static_cast<std::uint16_t>(t)}, std::move(keys));
      if (!answer.status.ok()) co_return answer.status;
      rows_[t] = without_state(answer.rows, count, tables_[t].dim);  // Which those that replicas show have.
      spans_[t] = rows_[t].span();
    }
    co_return ok_status();
  }
  std::span<const std::span<const float>> spans() const { return spans_; }

 private:
  Store& store_;
  const std::vector<TableSpec> tables_;
  std::vector<Rows> rows_;
  std::vector<std::span<const float>> spans_;
};

}  // namespace

Task<Status> measure_learnt_rows(Store& store, const TrainInputs& inputs, std::optional<Measured>& out) {
  const TrainSpec& spec = inputs.spec;
  if (inputs.train == nullptr || !inputs.train->seekable()) co_return ok_status();
  auto model = make_model(spec.model);
  if (!model) co_return model.status();
  auto reader = open_some_rows(spec.train);
  if (!reader) co_return reader.status();
  const auto kind = find_kind(spec.model);
  const bool is_dense = kind.ok() && (*kind)->dense != nullptr;
  BatchSource source(std::move(reader).value(), **model, is_dense, nullptr,
                     RowStages::of_held_out(inputs.counting.get()));
  const RowsMeasured most = rows_measured(spec.model, is_dense);
  ModelRows model_rows(store, (*model)->tables());
  HeldOutSummary summary(spec.model.loss, HeldOutSummary::kShardCellsMax);
  std::vector<float> scores;
  Workbench bench;
  PreparedRef batch;
  for (std::uint64_t rows = 0; rows < most.all; rows += batch->rows) {
    if (Status status = source.next(most.at_once, bench, batch); !status.ok()) co_return status;
    if (batch->rows == 0) break;
    if (Status status = co_await model_rows.read(*batch); !status.ok()) co_return status;
    scores.resize(batch->rows);
    const LossSum sum = (*model)->forward(batch->batch, model_rows.spans(), scores);
    if (Status failed = (*model)->failure(); !failed.ok()) co_return failed;
    summary.add_batch(sum, scores, batch->batch.rows());
    if (const Status status = (co_await store.yield()).status; !status.ok()) co_return status;
  }
  AucCounts auc = summary.auc();
  const double area = auc.value();
  out = Measured{summary.metrics().sums(), area, auc.average_precision()};
  co_return ok_status();
}

}  // namespace thalweg
