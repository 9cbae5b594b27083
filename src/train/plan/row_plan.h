// What is to become of training rows, once what their user left open is chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "model/model_kind.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"
#include "train/train_spec.h"

namespace thalweg {

// Order, weights and sample of rows. kUsage for what cannot be meant.
Status plan_rows(const TrainerOptions& options, const ModelKind& kind, TrainSpec& spec);
// Which keys are too rare; `data`: what is learnt from, null where only workers have it.
Status plan_rare_keys(const TrainerOptions& options, const ModelKind& kind, const DataSet* data,
                      TrainSpec& spec);
// That rows are sorted by what is to be learnt, or that all are clicks; empty where they are not, or nobody
// has looked.
std::string odd_labels(const DataSet& data);
// How many were looked at, if they are enough to tell of and none is a click; else 0.
std::uint64_t rows_without_click(const DataSet& data);
// kUsage where a label or weight is named by a column, and rows have none.
Status check_named_parts(const DataSet& data);
// One line each: what options name that no row that was looked at has.
std::vector<std::string> absent_names(const DataSet& data);

}  // namespace thalweg
