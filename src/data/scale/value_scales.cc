#include "data/scale/value_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/column/number_form.h"
#include "data/column/number_moments.h"

namespace thalweg {
namespace {

// Of one feature's values that are not 0.
struct ValuesSeen {
  NumberMoments values;
  double sizes = 0;  // Of all.
};

// What becomes of its values; without a scale: nothing. And how far they are from where they need it no more.
struct Chosen {
  NumberForm form;
  double distance = 0;
};

Chosen choose_form(const ValuesSeen& seen, std::uint64_t rows) {
  if (seen.values.count() < ValueScales::kValuesEnough) return {};
  const double size = seen.sizes / static_cast<double>(seen.values.count()),
               deviation = seen.values.standard_deviation();
  if (seen.values.count() == rows && are_far_from_zero(seen.values.mean(), deviation, kFloatRounding)) {
    return {{NumberForm::Shape::kLinear, offset_of(seen.values.mean(), deviation),
             rounded_to_digits(deviation, kScaleDigits)},
            std::abs(std::log(size)) + std::abs(std::log(deviation))};
  }
  if (size >= ValueScales::kSmallestFair && size <= ValueScales::kLargestFair) return {};
  return {{NumberForm::Shape::kLinear, 0, rounded_to_digits(size, kScaleDigits)}, std::abs(std::log(size))};
}

Status no_scale(std::string_view item) {
  return {
      Code::kUsage,
      fmt::format("'{}' is no scale of a feature; expected KEY/SCALE or KEY-OFFSET/SCALE, such as 3/312 or "
                  "9-1950/20",
                  item)};
}

}  // namespace

Result<ValueScales> ValueScales::parse(std::string_view text) {
  ValueScales out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    Key key = 0;
    NumberForm form;
    const char* const end = item.data() + item.size();
    const auto of_key = std::from_chars(item.data(), end, key);
    if (of_key.ec != std::errc() || !parse_offset_and_scale({of_key.ptr, end}, form) || form.open)
      return no_scale(item);
    if (out.scales_.size() == kMostFeatures)
      return Status(Code::kUsage, fmt::format("more than {} features have scales", kMostFeatures));
    out.add(key, form);
  }
  return out;
}

ValueScales ValueScales::choose(const Batch& rows) {
  std::unordered_map<Key, ValuesSeen> seen;
  for (std::size_t e = 0; e < rows.values.size(); ++e) {
    const auto value = static_cast<double>(rows.values[e]);
    if (value == 0) continue;
    ValuesSeen& feature = seen[rows.keys[e]];
    feature.values.add(value);
    feature.sizes += std::abs(value);
  }
  std::vector<std::pair<double, std::pair<Key, NumberForm>>> odd;  // The farthest first.
  for (const auto& [key, feature] : seen) {
    const auto [form, distance] = choose_form(feature, rows.rows());
    if (std::isnormal(form.scale)) odd.push_back({-distance, {key, form}});
  }
  const auto by_distance = [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.first) < std::pair(b.first, b.second.first);
  };
  std::sort(odd.begin(), odd.end(), by_distance);
  if (odd.size() > kMostFeatures) odd.resize(kMostFeatures);
  ValueScales out;
  for (const auto& [distance, feature] : odd) out.add(feature.first, feature.second);
  return out;
}

void ValueScales::add(Key key, const NumberForm& form) {
  constexpr Key kSmallKeys = 1 << 14;
  scales_[key] = form;
  if (key >= kSmallKeys) return;
  if (key >= of_small_keys_.size()) of_small_keys_.resize(key + 1);
  of_small_keys_[key] = form;
}

ValueScales ValueScales::with(const ValueScales& others, const std::unordered_set<Key>& but) const {
  ValueScales out = *this;
  for (const auto& [key, form] : others.scales_) {
    const bool is_new = !scales_.contains(key) && !but.contains(key);
    if (is_new && out.scales_.size() < kMostFeatures) out.add(key, form);
  }
  return out;
}

float ValueScales::scaled(Key key, float value) const {
  if (key < of_small_keys_.size()) return in_form(value, of_small_keys_[key]);
  const auto found = scales_.find(key);
  return found == scales_.end() ? value : in_form(value, found->second);
}

std::string ValueScales::text() const {
  std::string text;
  for (const auto& [key, form] : scales_)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", key, offset_and_scale_text(form));
  return text;
}

}  // namespace thalweg
