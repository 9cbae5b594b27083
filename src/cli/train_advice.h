// What a job's numbers mean when they are bad.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/train_report.h"

namespace thalweg {

// The pass with the lowest held-out loss, from 0; nothing without held-out rows.
std::optional<std::uint32_t> best_epoch(Loss loss, const std::vector<EpochNumbers>& epochs);

// Sentences for people, empty where they would not be true.
// The model is clearly worse than predicting the mean label for every row.
std::string worse_than_none(Loss loss, const std::vector<EpochNumbers>& epochs);
// It was clearly better after fewer passes.
std::string overfitted(Loss loss, const std::vector<EpochNumbers>& epochs);
// The rows that it was measured on have one label only, for which there is no AUC.
std::string one_label(Loss loss, const MetricValues& values);

}  // namespace thalweg
