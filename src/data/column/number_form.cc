#include "data/column/number_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace thalweg {

float in_form(float v, const NumberForm& form) {
  if (form.shape == NumberForm::Shape::kLog) v = std::copysign(std::log1p(std::abs(v)), v);
  if (form.scale == 0) return v;
  return std::clamp((v - form.offset) / form.scale, -kLargestScaled, kLargestScaled);
}

std::int64_t log_bucket(double v) {
  const double log = std::log(v);
  return static_cast<std::int64_t>(log * log);
}

Key bucket_key(float v, Key salt) {
  if (v <= 2) return category_key(fmt::format("{}", v), salt);
  return category_key(fmt::format("b{}", log_bucket(static_cast<double>(v))), salt);
}

std::string bucket_name(float v) {
  if (v <= 2) return fmt::format("{}", v);
  const auto bucket = static_cast<double>(log_bucket(static_cast<double>(v)));
  return fmt::format("{:.3g}..{:.3g}", std::max(2.0, std::exp(std::sqrt(bucket))),
                     std::exp(std::sqrt(bucket + 1)));
}

float rounded_to_digits(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  const float rounded = std::strtof(text.c_str(), nullptr);
  return std::isfinite(rounded) ? rounded : 0;
}

}  // namespace thalweg
