// Update rules of a training and their rates, where its user left them open. All errors are kUsage.
#pragma once

#include "data/order/label_spread.h"
#include "model/model_kind.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"
#include "train/rows/label_size.h"
#include "train/train_spec.h"

namespace thalweg {

// Those of a Criteo row stand for the entries of a row not seen.
inline constexpr double kUnknownEntries = 39;

// What rates are chosen for.
struct RowsSeen {
  double entries = kUnknownEntries;  // Mean number in a row.
  LabelSize size;
  LabelSpread labels;
};

// Of a sparse model, its bias and the layers above its factors.
Status plan_rules(const TrainerOptions& options, const ModelKind& kind, const RowsSeen& rows,
                  TrainSpec& spec);
// Of a dense model, whose batch and kind of rule are chosen.
Status plan_dense_rule(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec);

}  // namespace thalweg
