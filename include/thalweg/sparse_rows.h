// Vectors of which few rows are there, and how the ranks of a group add them up (Group::all_reduce_sparse).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "thalweg/reduction.h"

namespace thalweg {

struct SparseRows {
  std::vector<std::uint64_t> keys;  // Strictly ascending.
  std::vector<float> rows;          // As many floats for each key as the call says.
};

// All ranks give the same.
struct SparseOptions {
  enum class Way : std::uint8_t {
    kBySize,    // One of the others, by how much all ranks bring.
    kDoubling,  // Blocks of 1, 2, 4, ... ranks merge what they have: fewest messages.
    kRanges,    // Each rank adds up a range of the keys, and all get all ranges: fewest bytes.
  };
  Reduction reduction = Reduction::kSum;  // Or kMean: the sum divided by the number of ranks.
  Way way = Way::kBySize;
  // Of keys and rows that all ranks bring together; above it no rank gets any memory. Of unequal ones the
  // smallest counts.
  std::size_t bytes_max = std::size_t{4} << 30;
  static constexpr std::size_t kUnlimited = ~std::size_t{0};
  std::chrono::nanoseconds timeout{0};  // Of each step; 0: GroupOptions::timeout.
};

}  // namespace thalweg
