#include "model/loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "model/loss_kernels.h"

namespace thalweg {
namespace {

struct Point {
  float loss;
  float slope;
};

inline float sigmoid(float score, float u) {
  const float q = 1.0f / (1.0f + u);
  return score < 0.0f ? u * q : q;
}

inline float probability(float score) { return sigmoid(score, exp_kernel(-std::fabs(score))); }

inline Point logistic_point(float score, float label) {
  const bool positive = label > 0.0f;
  const float u = exp_kernel(-std::fabs(score));
  const float margin = positive ? score : -score;
  const float wrong = sigmoid(-margin, u);
  // 0 * margin is 0 but for an infinite score, which becomes NaN instead of passing for a perfect one.
  const float linear = margin < 0.0f ? -margin : 0.0f * margin;
  return {linear + log1p_kernel(u), positive ? -wrong : wrong};
}

inline Point squared_point(float score, float label) {
  const float error = score - label;
  return {0.5f * error * error, error};
}

// Half the deviance, so that a mean that is the label costs nothing. Sums in double: terms of the size of
// large labels cancel.
inline Point poisson_point(float score, float label) {
  const double mean = mean_of_log(score), count = label;
  const double log_label = label > 0.0f ? log_kernel(count) : 0.0;
  // 0 * score is 0 but for an infinite score, which becomes NaN.
  const double loss = (mean - count) - count * (static_cast<double>(score) - log_label);
  return {static_cast<float>(loss) + 0.0f * score, static_cast<float>(mean - count)};
}

constexpr std::size_t kBlock = 256;

template <class PointOf>
LossSum sum_blocks(PointOf point_of, std::span<const float> scores, std::span<const float> labels,
                   std::span<const float> weights, std::span<float> slopes) {
  LossSum sum;
  sum.rows = scores.size();
  std::array<float, kBlock> losses;
  std::array<float, kBlock> slope;
  for (std::size_t begin = 0; begin < scores.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, scores.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const Point point = point_of(scores[begin + i], labels[begin + i]);
      losses[i] = point.loss;
      slope[i] = point.slope;
    }
    if (weights.empty()) {
      for (std::size_t i = 0; i < count; ++i) sum.loss += static_cast<double>(losses[i]);
      sum.weight += static_cast<double>(count);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const float weight = weights[begin + i];
        sum.loss += static_cast<double>(weight) * static_cast<double>(losses[i]);
        sum.weight += static_cast<double>(weight);
        slope[i] *= weight;
      }
    }
    if (!slopes.empty())
      std::copy_n(slope.begin(), count, slopes.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return sum;
}

}  // namespace

float predict(Loss loss, float score) {
  if (loss == Loss::kPoisson) return mean_of_log(score);
  return loss == Loss::kLogistic ? probability(score) : score;
}

void predict_all(Loss loss, std::span<float> scores) {
  const auto each = [&](auto of) {
    for (float& score : scores) score = std::isnan(score) ? score : of(score);
  };
  if (loss == Loss::kPoisson) each([](float score) { return mean_of_log(score); });
  if (loss == Loss::kLogistic) each([](float score) { return probability(score); });
}

LossSum sum_losses(Loss loss, std::span<const float> scores, std::span<const float> labels,
                   std::span<const float> weights, std::span<float> slopes) {
  THALWEG_CHECK(scores.size() == labels.size() && (weights.empty() || weights.size() == labels.size()) &&
                    (slopes.empty() || slopes.size() == scores.size()),
                "one score, label, weight and slope a row");
  THALWEG_CHECK(is_of_score(loss), "one score tells nothing of several classes");
  // By lambda: what is called by address is neither made part of the loop nor computed several at a time.
  const auto sum = [&](auto point_of) { return sum_blocks(point_of, scores, labels, weights, slopes); };
  if (loss == Loss::kLogistic)
    return sum([](float score, float label) { return logistic_point(score, label); });
  if (loss == Loss::kPoisson)
    return sum([](float score, float label) { return poisson_point(score, label); });
  return sum([](float score, float label) { return squared_point(score, label); });
}

}  // namespace thalweg
