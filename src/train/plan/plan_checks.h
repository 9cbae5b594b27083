// What options of a training cannot mean, before any data is looked at. All errors are kUsage.
#pragma once

#include "model/model_kind.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"

namespace thalweg {

// What the program's own table of options keeps out.
Status check_numbers(const TrainerOptions& options);
// Rates that the model's rules cannot have.
Status check_rates(const ModelSpec& model);
// Pairs are features of a linear model's; others have their own of them, or none.
Status check_interactions(const TrainerOptions& options, const ModelKind& kind);
// Sizes and rates of what a model of this kind does not have.
Status check_shape_options(const TrainerOptions& options, const ModelKind& kind, Loss loss);
// The loss that the model learns by.
Status choose_loss(const TrainerOptions& options, const ModelKind& kind, ModelSpec& model);

}  // namespace thalweg
