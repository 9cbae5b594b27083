// The batches of a data shard, pass after pass: read from its files, or kept from the first pass where there
// is room for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "model/key_index.h"
#include "model/local_batch.h"
#include "model/model.h"
#include "thalweg/store.h"
#include "train/rows/row_stages.h"
#include "train/step_memory.h"

namespace thalweg {

// What preparing a batch needs only while it lasts.
struct Workbench {
  Batch raw;
  KeyIndex index;
};

// One batch with the keys that its rows are pulled and pushed by.
struct Prepared {
  LocalBatch batch;
  Keys keys;
  std::size_t rows = 0;  // 0: the shard's pass is over.
  std::uint64_t bytes() const;
};
using PreparedRef = std::shared_ptr<const Prepared>;

// How far a pass had been read when a batch had come.
struct ReadPlace {
  std::uint64_t text_hash = 0;
  std::string text_end;
  double fraction_done = 0;
  bool at_end = false;
  std::uint64_t hash_of_all = 0;
  std::uint64_t rows_skipped = 0;
};

// One batch of a pass that is kept.
struct KeptBatch {
  PreparedRef batch;
  ReadPlace place;
  StepMemory::Share room;
};
using KeptPass = std::vector<KeptBatch>;  // Whole: the last has no rows.

// One thread at a time.
class BatchSource {
 public:
  // `is_dense`: keys are places of a row's numbers. `room`: for batches that are kept; null: none is.
  // `stages`: what rows go through; null: they come as they are read.
  BatchSource(std::unique_ptr<RowReader> reader, Model& model, bool is_dense, StepMemory* room,
              std::unique_ptr<RowStages> stages = nullptr);

  // From the begin of a pass that another has kept.
  BatchSource(std::unique_ptr<KeptPass> pass, Model& model, bool is_dense);

  // The next batch of exactly `rows_max` rows, fewer at the end. Errors as RowReader::next(), kRetry among
  // them.
  Status next(std::size_t rows_max, Workbench& bench, PreparedRef& out);
  // Of the newest batch.
  const ReadPlace& place() const { return place_; }
  // Of this pass no batch is wanted.
  void pass_over() {
    if (reader_) reader_->pass_over();
  }
  // To the begin of the pass. Precondition: the one before has come to its end, or nothing is kept.
  Status rewind();
  // Whether a pass has been kept, which rewind() then goes back to;
  bool has_whole_pass() const { return whole_; }
  // and has, so that no file is read any more.
  bool is_kept() const { return reader_ == nullptr; }
  RowReader& reader() { return *reader_; }  // Precondition: !is_kept().
  // The pass that has been kept, for another. Precondition: has_whole_pass(); nothing is asked for any more.
  std::unique_ptr<KeptPass> take_pass() { return std::make_unique<KeptPass>(std::move(kept_)); }

 private:
  Status read(std::size_t rows_max, Workbench& bench, PreparedRef& out);
  // `why`, with the place of the row: the pass is read again for it.
  Status refused_row(Status why);
  void keep(const PreparedRef& batch);
  std::shared_ptr<Prepared> spare();

  std::unique_ptr<RowReader> reader_;
  std::unique_ptr<RowStages> stages_;
  Model& model_;
  const bool is_dense_;
  StepMemory* room_;
  ReadPlace place_;
  KeptPass kept_;
  bool whole_ = false;  // kept_ is a whole pass.
  std::size_t next_kept_ = 0;
  std::vector<std::shared_ptr<Prepared>> spares_;  // Whose memory is used again.
};

}  // namespace thalweg
