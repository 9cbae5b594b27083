// Rows by key as they travel: the keys, or where that is shorter a bitmap of the keys between the first and
// the last, and then the rows. What it takes follows from its size alone, so both ends know it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

struct SparseSize {
  std::uint64_t count = 0;
  std::uint64_t first = 0, last = 0;  // Keys; where there are none, 0.
  static constexpr std::size_t kWords = 3;

  static SparseSize of(std::span<const std::uint64_t> keys);
  void write(std::uint64_t* words) const;
  static SparseSize read(const std::uint64_t* words) { return {words[0], words[1], words[2]}; }
  // Whether there can be so many keys from `first` to `last`.
  bool possible() const;

  // A bitmap takes 1 bit for each of the numbers from `first` to `last`, keys 64 bits each: above a fill of
  // 1/64 the bitmap is shorter, and with its rows at most 1/32 bit a float longer than the dense vector.
  bool as_bitmap() const { return count > 0 && bitmap_words() < count; }
  std::uint64_t bitmap_words() const { return (last - first) / 64 + 1; }
  std::uint64_t key_words() const { return as_bitmap() ? bitmap_words() : count; }
  // Of the whole message. Precondition: possible(), and `count` rows of `dim` floats are within a limit.
  std::uint64_t words(std::size_t dim) const { return key_words() + (count * dim + 1) / 2; }
};

// Precondition: `to` has the size's words(dim) words.
void write_sparse(std::span<const std::uint64_t> keys, std::span<const float> rows, std::size_t dim,
                  std::byte* to);

struct SparseView {
  std::span<const std::uint64_t> keys;
  std::span<const float> rows;
};
// What a message says; views it, and `keys` where it has a bitmap. Errors: kRefused where the message is not
// of that size.
Result<SparseView> read_sparse(const SparseSize& size, std::size_t dim, const std::byte* message,
                               std::vector<std::uint64_t>& keys);

}  // namespace thalweg
