#include "exchange/pipeline/bucket_layout.h"

#include <algorithm>

namespace thalweg {

BucketLayout::BucketLayout(std::span<const GradientSpec> tensors, std::size_t element_bytes,
                           std::uint64_t bucket_bytes)
    : element_bytes_(element_bytes), begin_{0} {
  std::uint64_t filled = 0;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const auto position = static_cast<std::uint32_t>(begin_.size() - 1);
    const std::uint64_t bytes = tensors[i].elements * element_bytes;
    if (buckets_.empty() || filled + bytes > bucket_bytes) {
      buckets_.push_back({position, 0});
      filled = 0;
    }
    ++buckets_.back().count;
    filled += bytes;
    bucket_of_.push_back(static_cast<std::uint32_t>(buckets_.size() - 1));
    begin_.push_back(begin_.back() + tensors[i].elements);
  }
}

std::uint32_t BucketLayout::position_at(std::uint64_t element) const {
  return static_cast<std::uint32_t>(std::upper_bound(begin_.begin(), begin_.end(), element) - begin_.begin() -
                                    1);
}

}  // namespace thalweg
