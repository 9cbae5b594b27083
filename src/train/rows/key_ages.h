// When each key of a sparse model was last in a row that was learnt. Servers keep that in a table behind the
// model's own, whose rows shards assign at each step; a saved model has it too.
#pragma once

#include <span>
#include <vector>

#include "model/format/manifest.h"
#include "model/model.h"
#include "model/model_kind.h"
#include "thalweg/ids.h"
#include "thalweg/options.h"
#include "thalweg/trainer.h"
#include "train/train_report.h"
#include "train/train_spec.h"

namespace thalweg {

// kUsage where TrainerOptions::expire_after makes no sense. Precondition: the algorithm is planned.
Status plan_ages(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec);

// The model's tables, and that of ages where keys expire.
std::vector<TableSpec> job_tables(const TrainSpec& spec, const Model& model);
// Of its keys, which are counted as the model's rows.
inline bool has_model_keys(const TableSpec& table) {
  return table.kind == TableSpec::Kind::kSparse && !is_ages_table(table);
}

// A row of that table: the pass from 0 and the step in it; or -1, and how many steps before this training.
inline constexpr std::size_t kAgeFloats = 2;
std::vector<float> age_rows(std::size_t keys, Step step);

// Once passes have been learnt.
class KeyAges {
 public:
  static constexpr float kBefore = -1;  // In place of a pass.
  // `passes`: of this run, of which `first_pass` passes were learnt before, by a run that it goes on with.
  KeyAges(std::span<const EpochNumbers> passes, std::uint32_t first_pass)
      : passes_(passes), first_pass_(first_pass) {}
  // How many steps ago; of a key without a row, as many as this training has had.
  double age(std::span<const float> row) const;
  // Of these keys, of which `aged` have rows of the table; both ascend.
  std::vector<double> ages(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> aged,
                           std::span<const float> rows) const;

 private:
  double steps() const;

  std::span<const EpochNumbers> passes_;
  std::uint32_t first_pass_;
};

}  // namespace thalweg
