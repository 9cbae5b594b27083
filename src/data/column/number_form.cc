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
template <class Number>
bool take_number(std::string_view& text, Number& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value)) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

}  // namespace

float in_form(double number, const NumberForm& form) {
  if (form.offset != 0) {
    const auto scaled = static_cast<float>((number - form.offset) / static_cast<double>(form.scale));
    return std::clamp(scaled, -kLargestScaled, kLargestScaled);
  }
  auto v = static_cast<float>(number);
  if (form.shape == NumberForm::Shape::kLog || form.open) v = std::copysign(std::log1p(std::abs(v)), v);
  if (form.scale == 0) return v;
  return std::clamp(v / form.scale, -kLargestScaled, kLargestScaled);
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
  if (form.open) return "/?";
  std::string text;
  if (form.offset != 0) text += fmt::format("-{}", form.offset);
  if (form.scale != 0) text += fmt::format("/{}", form.scale);
  return text;
}

bool parse_offset_and_scale(std::string_view text, NumberForm& form) {
  if (text == "/?") return form.scale = 1, form.open = true;
  if (form.shape == NumberForm::Shape::kLinear && text.starts_with('-')) {
    text.remove_prefix(1);
    if (!take_number(text, form.offset)) return false;
  }
  if (!text.starts_with('/')) return false;
  text.remove_prefix(1);
  return take_number(text, form.scale) && text.empty() && std::isnormal(form.scale) && form.scale > 0;
}

bool are_far_from_zero(double mean, double standard_deviation, double rounding) {
  constexpr double kDeviations = 1;
  const double distance = std::abs(mean);
  return distance > kDeviations * standard_deviation && standard_deviation > rounding * distance;
}

double offset_of(double mean, double standard_deviation) {
  constexpr int kFewDigits = 6, kManyDigits = 14;
  constexpr double kFar = 1e4;  // Of which fewer digits would miss the numbers.
  const bool far = std::abs(mean) > kFar * standard_deviation;
  return std::strtod(fmt::format("{:.{}g}", mean, far ? kManyDigits : kFewDigits).c_str(), nullptr);
}

float rounded_to_digits(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  const float rounded = std::strtof(text.c_str(), nullptr);
  return std::isfinite(rounded) ? rounded : 0;
}

}  // namespace thalweg
