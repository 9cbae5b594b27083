#include "train/saved/learnt_rows.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/model.h"
#include "model/model_kind.h"
#include "train/batch_source.h"
#include "train/held_out_summary.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kLearntBytes = std::uint64_t{8} << 20;  // Of files, roughly.
constexpr std::uint64_t kLearntRowsMax = 65536;
constexpr std::size_t kLearntRowsAtOnce = 4096;

// One data shard of as many as make each that small.
Result<std::unique_ptr<RowReader>> open_some_rows(const ReadOptions& options) {
  auto data = DataSet::open(options);
  if (!data) return data.status();
  const std::uint64_t parts = (*data)->has_random_access() ? (*data)->total_bytes() / kLearntBytes : 1;
  return (*data)->reader(ShardId{0}, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts, 1, ~0u)));
}

}  // namespace

Task<Status> measure_learnt_rows(Store& store, const TrainInputs& inputs, std::optional<Measured>& out) {
  const TrainSpec& spec = inputs.spec;
  if (inputs.train == nullptr || !inputs.train->seekable() || !is_of_score(spec.model.loss))
    co_return ok_status();
  auto model = make_model(spec.model);
  if (!model) co_return model.status();
  auto reader = open_some_rows(spec.train);
  if (!reader) co_return reader.status();
  const auto kind = find_kind(spec.model);
  const bool dense = kind.ok() && (*kind)->dense != nullptr;
  BatchSource source(std::move(reader).value(), **model, dense, nullptr,
                     RowStages::of_held_out(inputs.counting.get()));
  const std::vector<TableSpec> tables = (*model)->tables();
  HeldOutSummary summary(spec.model.loss, HeldOutSummary::kShardCellsMax);
  std::vector<float> scores;
  Workbench bench;
  PreparedRef batch;
  for (std::uint64_t rows = 0; rows < kLearntRowsMax; rows += batch->rows) {
    if (Status status = source.next(kLearntRowsAtOnce, bench, batch); !status.ok()) co_return status;
    if (batch->rows == 0) break;
    std::vector<Rows> read(tables.size());
    std::vector<std::span<const float>> spans(tables.size());
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const bool whole = tables[t].kind == TableSpec::Kind::kDense;
      Keys keys = whole ? Keys::block(0, tables[t].rows) : batch->keys;
      Answer answer = co_await store.read(TableId{static_cast<std::uint16_t>(t)}, std::move(keys));
      if (!answer.status.ok()) co_return answer.status;
      read[t] = std::move(answer.rows);
      spans[t] = read[t].span();
    }
    scores.resize(batch->rows);
    (void)(*model)->forward(batch->batch, spans, scores);
    if (Status failed = (*model)->failure(); !failed.ok()) co_return failed;
    summary.add(scores, batch->batch.rows().labels, batch->batch.rows().weights);
  }
  AucCounts auc = summary.auc();
  const double area = auc.value();
  out = Measured{summary.metrics().sums(), area, auc.average_precision()};
  co_return ok_status();
}

}  // namespace thalweg
