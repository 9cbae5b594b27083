// Exponentials and logarithms that losses are made of: the same bits on every machine, since no library call
// and no fused multiply-add has a part in them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace thalweg {

// The comparison keeps NaN, and with it the sign that training has diverged.
inline float at_least(float x, float low) { return x < low ? low : x; }

// e^x for x <= 0, raised to x = -87 first so that the result is a normal number; NaN stays NaN. Relative
// error below 3e-7.
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

// e^score, of a Poisson mean's logarithm; a score beyond 87 either way counts as that.
inline float mean_of_log(float score) {
  const float u = exp_kernel(-std::fabs(score));
  return score < 0.0f ? u : 1.0f / u;
}

// ln(x) for normal x > 0, as e ln(2) + 2 atanh((m - 1) / (m + 1)) with m within sqrt(2) of 1; the series'
// argument is at most 0.172. Relative error below 1e-11 but beside 1.
inline double log_kernel(double x) {
  constexpr double kSqrtHalf = 0.70710678118654752;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kSqrtHalf) m *= 2, --exponent;
  const double s = (m - 1) / (m + 1);
  const double t = s * s;
  double p = 1.0 / 13;
  for (const double term : {1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0}) p = p * t + term;
  return exponent * 0.69314718055994531 + 2 * s * p;
}

}  // namespace thalweg
