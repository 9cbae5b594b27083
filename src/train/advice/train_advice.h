// What a job's numbers mean when they are bad.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_set.h"
#include "model/model.h"
#include "train/train_report.h"

namespace thalweg {

// The pass with the lowest held-out loss, from 0; nothing without held-out rows.
std::optional<std::uint32_t> best_epoch(Loss loss, const std::vector<EpochNumbers>& epochs);

// Passes with held-out rows behind the best one, or behind the first where none is best yet.
std::size_t scored_since_best(Loss loss, const std::vector<EpochNumbers>& epochs);

// What losses are compared by.
struct JudgedBy {
  JudgedBy(Loss of, std::uint32_t of_classes = 0) : loss(of), classes(of_classes) {}
  // A user's module may have a loss of its own, of any scale.
  explicit JudgedBy(const ModelSpec& model)
      : JudgedBy(model.loss, model.script.empty() ? model.classes : 0) {}

  Loss loss;
  std::uint32_t classes;  // 0: no such loss, or not known.
};

// How a model does on some rows, beside what takes no training.
struct Standing {
  std::string rows;            // "held-out"
  std::string_view loss_name;  // Of the judging metric.
  double loss = 0;
  // Loss of the mean label for every row, of classes and bytes that of all being as likely; 0: not known.
  double constant = 0;
  double untrained = 0;  // Loss of a model whose weights are all 0; 0: not known.
  double auc = std::numeric_limits<double>::quiet_NaN();
  bool is_of_text = false;  // Whose bytes are no values that could be too large.
};
Standing standing_on(std::string rows, JudgedBy by, const Measured& measured);
// After the last pass; nothing where no row was measured.
std::optional<Standing> on_held_out_rows(JudgedBy by, const std::vector<EpochNumbers>& epochs);
// On EpochNumbers::sampled.
std::optional<Standing> on_trained_rows(JudgedBy by, const std::vector<EpochNumbers>& epochs);

// Sentences for people, empty where they would not be true.
// The model is worse than the constant, by more than `slack` times.
std::string worse_than_none(const Standing& standing, double slack = 1);
// The same of the numbers after a job's last pass.
std::string worse_than_none(JudgedBy by, const std::vector<EpochNumbers>& epochs);
// The same, and by more than chance, which is 1 / sqrt(rows) of the loss: nothing to keep.
std::string worse_than_chance(JudgedBy by, const std::vector<EpochNumbers>& epochs);
std::string worse_than_chance(std::string rows, JudgedBy by, const Measured& measured, double slack = 1);
// It was worse on rows before they were learnt, in the last pass; `learnt`: the model on such rows.
std::string worse_before_learnt(JudgedBy by, const std::vector<EpochNumbers>& epochs, const Measured& learnt);
// The one that holds; `learnt`: where that was measured.
std::string worse_by(JudgedBy by, const std::vector<EpochNumbers>& epochs,
                     const std::optional<Measured>& learnt);
// No row of the last pass counts.
std::string nothing_weighed(const std::vector<EpochNumbers>& epochs);
// The loss is not finite, or more than 1,000 times that of a model whose weights are all 0.
std::string diverged(const Standing& standing);
// That is so of the training rows in the last pass, and the rows held out do not tell otherwise.
std::string training_diverged(JudgedBy by, const std::vector<EpochNumbers>& epochs);
// It was clearly better after fewer passes.
std::string overfitted(Loss loss, const std::vector<EpochNumbers>& epochs);
// The rows that it was measured on have one label only, for which there is no AUC, or no weight at all.
std::string one_label(Loss loss, const Measured& rows);

// Of a job that was asked to end, and has: whether the model that it came to, in words `what`, is saved at
// `out`; `not_kept` as TrainResult has it.
Status interrupted(std::string_view what, const std::string& not_kept, const std::string& out);

// A kNonFinite with the most extreme value of the training data, where it stands and what to do about it;
// any other status as it is. `data` may be null: other processes have it.
Status with_cause(const Status& status, const DataSet* data);

}  // namespace thalweg
