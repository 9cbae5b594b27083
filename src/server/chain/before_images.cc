#include "server/chain/before_images.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "server/shown_rows.h"

namespace thalweg {

BeforeImages::OfRange& BeforeImages::at(std::uint16_t range) {
  if (kept_.size() <= range) kept_.resize(std::size_t{range} + 1);
  return kept_[range];
}

void BeforeImages::on_closed(Step step, const RangeSet& ranges) {
  if (steps_ == 0) return;
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      OfRange& kept = at(range);
      if (!kept.steps.empty() && kept.steps.back() >= step) continue;
      kept.steps.push_back(step);
      if (kept.steps.size() > steps_) kept.steps.erase(kept.steps.begin());
      std::erase_if(kept.images, [&](const auto& image) { return image.first < kept.steps.front(); });
    }
  }
}

void BeforeImages::keep(const Table& table, Step step, RangeSpan ranges, const Contribution& sum) {
  const auto shown_again = [&](std::uint16_t range) {
    return range < kept_.size() && !kept_[range].steps.empty() && kept_[range].steps.front() <= step;
  };
  std::uint16_t first = ranges.begin;
  while (first < ranges.end && !shown_again(first)) ++first;
  if (first == ranges.end) return;
  const TableSpec& spec = table.spec();
  std::vector<float> rows(sum.grads.size());
  table.read(sum.keys, rows);
  std::vector<std::uint64_t> keys(sum.keys.begin(), sum.keys.end());
  if (spec.kind == TableSpec::Kind::kDense) keys.push_back(rows.size() / spec.dim);
  const Payload whole{Bytes::of(std::move(keys)), Bytes::of(std::move(rows))};
  for (std::uint16_t range = first; range < ranges.end; ++range) {
    Payload part = shown_again(range) ? cut(spec, whole, only(RangeId{range})) : Payload();
    if (!part.empty()) at(range).images.emplace_back(step, std::move(part));
  }
}

// What a shard saw in a step are the images of that step, and of later ones where it has none.
void BeforeImages::restore(const TableSpec& spec, const Frame& pull, std::span<float> rows) const {
  const RangeSpan ranges = pull.head.ranges;
  for (std::uint16_t range = ranges.begin; range < ranges.end && range < kept_.size(); ++range) {
    const auto& images = kept_[range].images;
    for (auto later = images.rbegin(); later != images.rend() && later->first >= pull.head.step; ++later)
      copy_shown(spec, later->second, pull.keys(), rows);
  }
}

void BeforeImages::take(BeforeImages& other, const RangeSet& ranges) {
  if (THALWEG_BUG(kImagesForgotten)) return;
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end && range < other.kept_.size(); ++range)
      at(range) = std::exchange(other.kept_[range], {});
  }
}

void BeforeImages::remove(const RangeSet& ranges) {
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end && range < kept_.size(); ++range) kept_[range] = {};
  }
}

}  // namespace thalweg
