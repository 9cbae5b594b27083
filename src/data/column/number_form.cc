#include "data/column/number_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace thalweg {
namespace {

// A number at the begin of `text`, which loses it.
bool take_float(std::string_view& text, float& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value)) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

}  // namespace

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

std::string offset_and_scale_text(const NumberForm& form) {
  std::string text;
  if (form.offset != 0) text += fmt::format("-{}", form.offset);
  if (form.scale != 0) text += fmt::format("/{}", form.scale);
  return text;
}

bool parse_offset_and_scale(std::string_view text, NumberForm& form) {
  if (form.shape == NumberForm::Shape::kLinear && text.starts_with('-')) {
    text.remove_prefix(1);
    if (!take_float(text, form.offset)) return false;
  }
  if (!text.starts_with('/')) return false;
  text.remove_prefix(1);
  return take_float(text, form.scale) && text.empty() && std::isnormal(form.scale) && form.scale > 0;
}

bool are_far_from_zero(double mean, double standard_deviation) {
  constexpr double kDeviations = 1;
  constexpr double kRounding = 2e-7;  // Of floats: what differs by no more is one number.
  const double distance = std::abs(mean);
  return distance > kDeviations * standard_deviation && standard_deviation > kRounding * distance;
}

float offset_of(double mean, double standard_deviation) {
  constexpr int kFewDigits = 6, kAllDigits = 9;  // Of a float.
  constexpr double kFar = 1e4;                   // Of which fewer digits would miss the numbers.
  const bool far = std::abs(mean) > kFar * standard_deviation;
  return rounded_to_digits(mean, far ? kAllDigits : kFewDigits);
}

float rounded_to_digits(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  const float rounded = std::strtof(text.c_str(), nullptr);
  return std::isfinite(rounded) ? rounded : 0;
}

}  // namespace thalweg
