#include "data/scale/value_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/column/number_form.h"

namespace thalweg {
namespace {

constexpr int kScaleDigits = 3;

struct Sizes {
  std::uint64_t count = 0;
  double sum = 0;
};

Status no_scale(std::string_view item) {
  return {Code::kUsage,
          fmt::format("'{}' is no scale of a feature; expected KEY/SCALE, such as 3/312", item)};
}

}  // namespace

Result<ValueScales> ValueScales::parse(std::string_view text) {
  ValueScales out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    Key key = 0;
    float scale = 0;
    const char* const end = item.data() + item.size();
    const auto of_key = std::from_chars(item.data(), end, key);
    if (of_key.ec != std::errc() || of_key.ptr == end || *of_key.ptr != '/') return no_scale(item);
    const auto of_scale = std::from_chars(of_key.ptr + 1, end, scale);
    if (of_scale.ec != std::errc() || of_scale.ptr != end || !std::isnormal(scale) || scale < 0)
      return no_scale(item);
    if (out.scales_.size() == kMostFeatures)
      return Status(Code::kUsage, fmt::format("more than {} features have scales", kMostFeatures));
    out.scales_[key] = scale;
  }
  return out;
}

ValueScales ValueScales::choose(const Batch& rows) {
  std::unordered_map<Key, Sizes> seen;
  for (std::size_t e = 0; e < rows.values.size(); ++e) {
    const double size = std::abs(static_cast<double>(rows.values[e]));
    if (size == 0) continue;
    Sizes& sizes = seen[rows.keys[e]];
    ++sizes.count;
    sizes.sum += size;
  }
  std::vector<std::pair<double, std::pair<Key, float>>> odd;  // By how far they are from 1.
  for (const auto& [key, sizes] : seen) {
    const double mean = sizes.sum / static_cast<double>(sizes.count);
    if (sizes.count < kValuesEnough || (mean >= kSmallestFair && mean <= kLargestFair)) continue;
    const float scale = rounded_to_digits(mean, kScaleDigits);
    if (std::isnormal(scale)) odd.push_back({-std::abs(std::log(mean)), {key, scale}});
  }
  std::sort(odd.begin(), odd.end());
  if (odd.size() > kMostFeatures) odd.resize(kMostFeatures);
  ValueScales out;
  for (const auto& [distance, feature] : odd) out.scales_.insert(feature);
  return out;
}

float ValueScales::scaled(Key key, float value) const {
  const auto found = scales_.find(key);
  if (found == scales_.end()) return value;
  return std::clamp(value / found->second, -kLargestScaled, kLargestScaled);
}

std::string ValueScales::text() const {
  std::string text;
  for (const auto& [key, scale] : scales_)
    text += fmt::format("{}{}/{}", text.empty() ? "" : ",", key, scale);
  return text;
}

}  // namespace thalweg
