// Losses of one raw score and their slopes, safe for scores of any size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "thalweg/loss.h"

namespace thalweg {

// Sum over the rows of a batch; what progress and reports add up.
struct LossSum {
  double loss = 0;    // Weighted sum of per-row losses, before this batch's update.
  double weight = 0;  // Sum of row weights.
  std::uint64_t rows = 0;
  LossSum& operator+=(const LossSum& other) {
    loss += other.loss, weight += other.weight, rows += other.rows;
    return *this;
  }
};

// As --loss says them and models store them, in the order of Loss.
inline constexpr std::array kLossNames = {"logistic", "squared", "classes", "bytes", "poisson"};
inline std::string_view loss_name(Loss loss) { return kLossNames.at(static_cast<std::size_t>(loss)); }

// Whether a row's loss comes of the one score that it has; otherwise the two travel side by side.
inline bool is_of_score(Loss loss) { return loss != Loss::kClasses && loss != Loss::kBytes; }

// Raw score to prediction: probability for logistic loss, mean for Poisson, the score itself for the others.
// A probability is at least 1.6e-38 and becomes exactly 1 above a score of about 17; loss is computed from
// the score, not from it.
float predict(Loss loss, float score);
// The same of many, in place; NaN stays as it is.
void predict_all(Loss loss, std::span<float> scores);

// Losses of a batch and, unless `slopes` is empty, weight * d(loss)/d(score) for each row. Logistic: label >
// 0 is positive, log(1 + e^-margin). Squared: (score - label)^2 / 2. Poisson, label >= 0: half the deviance
// of e^score. `weights` is empty when all are 1. A score that is not finite gives a loss that is not finite.
// Precondition: is_of_score(loss).
LossSum sum_losses(Loss loss, std::span<const float> scores, std::span<const float> labels,
                   std::span<const float> weights, std::span<float> slopes);

}  // namespace thalweg
