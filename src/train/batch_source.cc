#include "train/batch_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hint.h"
#include "base/placed_keys.h"
#include "train/plan/dense_plan.h"

namespace thalweg {

std::uint64_t Prepared::bytes() const {
  const Batch& all = batch.rows();
  constexpr std::uint64_t kBookkeeping = 512;
  return kBookkeeping +
         sizeof(float) * (all.labels.capacity() + all.weights.capacity() + all.values.capacity()) +
         sizeof(std::uint32_t) * (all.row_begin.capacity() + all.fields.capacity() + batch.local().size()) +
         sizeof(Key) * (all.keys.capacity() + 2 * batch.keys().size());
}

BatchSource::BatchSource(std::unique_ptr<RowReader> reader, Model& model, bool is_dense, StepMemory* room,
                         std::unique_ptr<RowStages> stages)
    : reader_(std::move(reader)),
      stages_(std::move(stages)),
      model_(model),
      is_dense_(is_dense),
      room_(room) {}

BatchSource::BatchSource(std::unique_ptr<KeptPass> pass, Model& model, bool is_dense)
    : model_(model), is_dense_(is_dense), room_(nullptr), kept_(std::move(*pass)), whole_(true) {}

// One that nobody else has any more.
std::shared_ptr<Prepared> BatchSource::spare() {
  for (const auto& spare : spares_) {
    if (spare.use_count() == 1) return spare;
  }
  return spares_.emplace_back(std::make_shared<Prepared>());
}

Status BatchSource::next(std::size_t rows_max, Workbench& bench, PreparedRef& out) {
  if (!is_kept()) return read(rows_max, bench, out);
  const KeptBatch& kept = kept_[next_kept_];
  if (next_kept_ + 1 < kept_.size()) ++next_kept_;  // The last is the end, which comes again.
  out = kept.batch;
  place_ = kept.place;
  return ok_status();
}

Status BatchSource::read(std::size_t rows_max, Workbench& bench, PreparedRef& out) {
  const auto rows =
      stages_ != nullptr ? stages_->next(*reader_, rows_max, bench.raw) : reader_->next(rows_max, bench.raw);
  if (!rows) return rows.status();
  const auto made = room_ != nullptr ? std::make_shared<Prepared>() : spare();
  made->rows = *rows;
  place_ = {reader_->text_hash(), reader_->text_end(),    reader_->fraction_done(),
            reader_->at_end(),    reader_->hash_of_all(), reader_->rows_skipped()};
  if (stages_ != nullptr) place_.fraction_done *= stages_->fraction_out();
  if (*rows > 0) {
    if (Status status = model_.validate(bench.raw); !status.ok()) return refused_row(std::move(status));
    if (is_dense_) {
      made->batch.keep(bench.raw);
    } else {
      made->batch.assign(bench.raw, bench.index);
      const auto keys = made->batch.keys();
      made->keys = placed_keys({keys.begin(), keys.end()});
    }
  }
  out = made;
  if (room_ != nullptr) keep(out);
  return ok_status();
}

Status BatchSource::refused_row(Status why) {
  if (!is_dense_ || !reader_->rewind().ok()) return why;
  Batch row;
  for (;;) {
    const auto rows = reader_->next(1, row);
    if (!rows || *rows == 0) return why;
    const Status status = model_.validate(row);
    if (status.ok()) continue;
    const Status placed(status.code(), reader_->place_of_last_row() + ": " + status.message());
    if (row.keys.empty()) return placed;
    const Key largest = *std::max_element(row.keys.begin(), row.keys.end());
    return with_hint(
        placed, fmt::format("train with {}; a model that --init goes on with keeps the inputs that it has",
                            largest < kInputsMax ? fmt::format("--inputs {} or more", largest + 1)
                                                 : std::string(kHashesInputs)));
  }
}

void BatchSource::keep(const PreparedRef& batch) {
  StepMemory::Share share = room_->take(batch->bytes());
  if (share == nullptr) {
    room_ = nullptr;
    kept_.clear();
    return;
  }
  kept_.push_back({batch, place_, std::move(share)});
  whole_ = batch->rows == 0;
}

Status BatchSource::rewind() {
  next_kept_ = 0;
  if (whole_) {
    reader_.reset();  // Others who unpack the same files do not wait for it.
    return ok_status();
  }
  kept_.clear();
  if (stages_ != nullptr) stages_->next_pass();
  return reader_->rewind();
}

}  // namespace thalweg
