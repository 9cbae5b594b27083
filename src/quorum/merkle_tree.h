// A tree of digests over the places of keys (Merkle 1987), so that two servers find the keys in which they
// differ by comparing few of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"

namespace thalweg::quorum {

// A leaf stands for an even part of all places. Its digest is the sum of its keys', so that a change costs
// one path to the root.
class MerkleTree {
 public:
  static constexpr std::size_t kFan = 16;
  static constexpr std::uint8_t kLevels = 3;  // Below the root; the last is the leaves'.
  static constexpr std::uint32_t kLeaves = 16 * 16 * 16;

  MerkleTree();
  // A key at that place had the digest `before`, and has `after`; 0: it is not there.
  void change(PlacedKey at, std::uint64_t before, std::uint64_t after);
  std::uint64_t root() const { return levels_[0][0]; }
  // Of the index-th node of a level, which is no leaf.
  std::span<const std::uint64_t, kFan> children(std::uint8_t level, std::uint32_t index) const;
  static constexpr std::uint32_t nodes(std::uint8_t level) { return 1u << (4 * level); }
  // The places of a leaf: from the first to the last, both of them its own.
  static constexpr PlacedKey first_place(std::uint32_t leaf) { return PlacedKey{leaf} << 52; }
  static constexpr PlacedKey last_place(std::uint32_t leaf) {
    return first_place(leaf) + ((PlacedKey{1} << 52) - 1);
  }

 private:
  std::array<std::vector<std::uint64_t>, kLevels + 1> levels_;
};

}  // namespace thalweg::quorum
