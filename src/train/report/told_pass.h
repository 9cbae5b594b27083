// What users are told of a pass.
#pragma once

#include <cstdint>

#include "model/metric/metric.h"
#include "thalweg/trainer.h"
#include "train/train_report.h"

namespace thalweg {

// NaN of none.
double mean_loss(const LossSum& sum);
// Pass `number`, as people count; `own`: metrics of the application's own. Costs are its steps alone.
TrainEpoch told_pass(const EpochNumbers& numbers, std::uint32_t number, Loss loss, const MetricList& own);

}  // namespace thalweg
