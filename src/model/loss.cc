#include "model/loss.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace thalweg {
namespace {

// The comparison keeps NaN, and with it the sign that training has diverged.
inline float at_least(float x, float low) { return x < low ? low : x; }

// e^x for x <= 0, raised to x = -87 first so that the result is a normal number; NaN stays NaN. Relative
// error below 3e-7. The same bits on every machine: no library call, no fused multiply-add.
// Cody-Waite reduction to |r| <= ln(2)/2, Taylor polynomial of degree 7, exponent put in as bits.
inline float exp_kernel(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits.
  x = at_least(x, -87.0f);
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  return p * std::bit_cast<float>(power);
}

// log(1 + u) for 0 <= u <= 1 as 2 atanh(u / (2 + u)); the series' argument is at most 1/3.
inline float log1p_kernel(float u) {
  const float s = u / (2.0f + u);
  const float t = s * s;
  float p = 1.0f / 15;
  p = p * t + 1.0f / 13;
  p = p * t + 1.0f / 11;
  p = p * t + 1.0f / 9;
  p = p * t + 1.0f / 7;
  p = p * t + 1.0f / 5;
  p = p * t + 1.0f / 3;
  p = p * t + 1.0f;
  return 2.0f * s * p;
}

struct Point {
  float loss;
  float slope;
};

inline float sigmoid(float score, float u) {
  const float q = 1.0f / (1.0f + u);
  return score < 0.0f ? u * q : q;
}

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
  return loss == Loss::kLogistic ? sigmoid(score, exp_kernel(-std::fabs(score))) : score;
}

LossSum sum_losses(Loss loss, std::span<const float> scores, std::span<const float> labels,
                   std::span<const float> weights, std::span<float> slopes) {
  THALWEG_CHECK(scores.size() == labels.size() && (weights.empty() || weights.size() == labels.size()) &&
                    (slopes.empty() || slopes.size() == scores.size()),
                "one score, label, weight and slope a row");
  THALWEG_CHECK(is_of_score(loss), "one score tells nothing of several classes");
  return loss == Loss::kLogistic ? sum_blocks(logistic_point, scores, labels, weights, slopes)
                                 : sum_blocks(squared_point, scores, labels, weights, slopes);
}

}  // namespace thalweg
