// A run of elements, and how a vector is cut into blocks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace thalweg {

// Elements [begin, begin + count) of the vector that an operation is about.
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  constexpr std::uint64_t end() const { return begin + count; }
  constexpr bool operator==(const Block&) const = default;
};

// The index-th of `parts` nearly equal blocks of `whole`; the first ones take the remainder.
constexpr Block part_of(Block whole, std::uint64_t parts, std::uint64_t index) {
  const std::uint64_t each = whole.count / parts, rest = whole.count % parts;
  return {whole.begin + index * each + std::min(index, rest), each + (index < rest ? 1 : 0)};
}
// The blocks [first, last) of `parts` as one.
constexpr Block parts_between(Block whole, std::uint64_t parts, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t begin = part_of(whole, parts, first).begin;
  return {begin, last >= parts ? whole.end() - begin : part_of(whole, parts, last).begin - begin};
}

// Cuts a block into pieces of at most `piece` elements; 0: one piece. An empty block is one empty piece.
class Pieces {
 public:
  constexpr Pieces(Block block, std::uint64_t piece) : block_(block), piece_(piece ? piece : block.count) {}
  constexpr std::uint64_t size() const {
    return block_.count == 0 ? 1 : (block_.count + piece_ - 1) / piece_;
  }
  constexpr Block operator[](std::uint64_t index) const {
    const std::uint64_t begin = std::min(block_.count, index * piece_);
    return {block_.begin + begin, std::min(piece_, block_.count - begin)};
  }

 private:
  Block block_;
  std::uint64_t piece_;
};

}  // namespace thalweg
