#include "quorum/merkle_tree.h"

#include "base/check.h"
#include "base/hash/hash.h"

namespace thalweg::quorum {

MerkleTree::MerkleTree() {
  for (std::uint8_t level = 0; level <= kLevels; ++level) levels_[level].resize(nodes(level));
  for (std::uint8_t level = kLevels; level-- > 0;) {
    for (std::uint32_t index = 0; index < nodes(level); ++index) {
      const auto below = children(level, index);
      levels_[level][index] = hash64(below.data(), below.size_bytes());
    }
  }
}

std::span<const std::uint64_t, MerkleTree::kFan> MerkleTree::children(std::uint8_t level,
                                                                      std::uint32_t index) const {
  THALWEG_CHECK(level < kLevels && index < nodes(level), "a leaf has no children");
  return std::span<const std::uint64_t, kFan>(levels_[level + 1u].data() + index * kFan, kFan);
}

void MerkleTree::change(PlacedKey at, std::uint64_t before, std::uint64_t after) {
  auto index = static_cast<std::uint32_t>(at >> 52);
  levels_[kLevels][index] += after - before;
  for (std::uint8_t level = kLevels; level-- > 0;) {
    index /= static_cast<std::uint32_t>(kFan);
    const auto below = children(level, index);
    levels_[level][index] = hash64(below.data(), below.size_bytes());
  }
}

}  // namespace thalweg::quorum
