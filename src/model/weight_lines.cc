#include "model/weight_lines.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/weight_lines.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Where the key is in a line; negative: it is not.
HWY_INLINE std::ptrdiff_t place_in_line(const WeightLines::Line& line, PlacedKey key) {
  const hn::CappedTag<std::uint64_t, 8> d;
  constexpr std::size_t kKeys = WeightLines::Line::kKeys;
  const auto wanted = hn::Set(d, key);
  for (std::size_t first = 0; first < kKeys; first += hn::Lanes(d)) {
    const auto held = hn::LoadU(d, line.keys.data() + first);  // And what of the line follows the keys.
    const auto same = hn::And(hn::Eq(held, wanted), hn::FirstN(d, kKeys - first));
    if (const std::ptrdiff_t found = hn::FindFirstTrue(d, same); found >= 0)
      return found + static_cast<std::ptrdiff_t>(first);
  }
  return -1;
}

std::size_t ReadWeights(const WeightLines::Line* lines, std::size_t homes, const PlacedKey* keys,
                        std::size_t count, float* out) {
  constexpr std::size_t kAtOnce = 64;  // Looks whose cache misses overlap.
  const WeightLines::Line* at[kAtOnce] = {};
  std::size_t met = 0;
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const std::size_t now = std::min(kAtOnce, count - done);
    for (std::size_t i = 0; i < now; ++i) {
      at[i] = lines + scale_to(keys[done + i], homes);
      __builtin_prefetch(at[i]);
    }
    for (std::size_t i = 0; i < now; ++i) {
      const WeightLines::Line* line = at[i];
      std::ptrdiff_t place = place_in_line(*line, keys[done + i]);
      while (place < 0 && line->goes_on != 0) place = place_in_line(*++line, keys[done + i]);
      out[done + i] = place < 0 ? 0.0f : line->weights[static_cast<std::size_t>(place)];
      met += place >= 0;
    }
  }
  return met;
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {
namespace kernels {
HWY_EXPORT(ReadWeights);
std::size_t read_weights(const WeightLines::Line* lines, std::size_t homes, std::span<const PlacedKey> keys,
                         float* out) {
  return HWY_DYNAMIC_DISPATCH(ReadWeights)(lines, homes, keys.data(), keys.size(), out);
}
}  // namespace kernels

// Half full, so that one line in thirty has more than it can hold.
WeightLines::WeightLines(std::size_t keys) : homes_(keys * 2 / Line::kKeys + 1), to_come_(keys) {
  constexpr std::size_t kBehind = 64;  // Rarely more: then all lines move.
  lines_.reserve(homes_ + kBehind);
  begin_line();
  append({}, {});
}

void WeightLines::append(std::span<const PlacedKey> keys, std::span<const float> weights) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t home = scale_to(keys[i], homes_);
    while (lines_.size() <= home) begin_line();
    if (used_ == Line::kKeys) begin_line();
    for (std::size_t passed = home; passed + 1 < lines_.size(); ++passed) lines_[passed].goes_on = 1;
    lines_.back().keys[used_] = keys[i];
    lines_.back().weights[used_++] = weights[i];
  }
  to_come_ -= keys.size();
  if (to_come_ == 0) lines_.resize(std::max(homes_, lines_.size()));
}

std::size_t WeightLines::read(std::span<const PlacedKey> keys, float* out) const {
  return kernels::read_weights(lines_.data(), homes_, keys, out);
}

}  // namespace thalweg
#endif
