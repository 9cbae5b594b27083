// Recursive doubling of aligned blocks for any number of ranks: in the round of distance D a block of D ranks
// and the one beside it exchange what each of their ranks has. Where the last block has fewer ranks, each of
// them serves several, so that nobody's order of merging depends on the number of ranks. After R. Thakur,
// R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005,
// section 4, which folds the ranks beyond a power of two instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace thalweg {

struct MergePartners {
  bool any = false;              // Else this rank rests.
  std::uint32_t block = 0;       // The first rank of its own block,
  std::uint32_t theirs = 0;      // and of the other one.
  std::uint32_t theirs_end = 0;  // Behind its last rank.
  std::uint32_t from = 0;
  std::vector<std::uint32_t> to;
};

inline MergePartners merge_partners(std::uint32_t rank, std::uint32_t ranks, std::uint32_t distance) {
  MergePartners found;
  found.block = rank / distance * distance;
  found.theirs = (rank / distance ^ 1) * distance;
  found.any = found.theirs < ranks;
  if (!found.any) return found;
  found.theirs_end = std::min(found.theirs + distance, ranks);
  const std::uint32_t mine = std::min(found.block + distance, ranks) - found.block;
  const std::uint32_t others = found.theirs_end - found.theirs, place = rank - found.block;
  found.from = found.theirs + place % others;
  for (std::uint32_t other = 0; other < others; ++other) {
    if (other % mine == place) found.to.push_back(found.theirs + other);
  }
  return found;
}

}  // namespace thalweg
