// Trees over the ranks of a group: who is above and who is below.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/plan/plan.h"

namespace thalweg {

// One rank's place in a tree.
struct TreePlace {
  std::int64_t parent = -1;             // Rank; -1 at the root.
  std::vector<std::uint32_t> children;  // Ranks, the one whose subtree is done first in front.
  bool is_root() const { return parent < 0; }
};

// All rooted at `root`. Star: everybody is the root's child.
TreePlace star_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root);
// Chain: rank after rank, the naive way.
TreePlace chain_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root);
// Binomial: the root has children at distances 1, 2, 4, ...; depth log2 N.
TreePlace binomial_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root);
// Complete k-ary, filled level by level.
TreePlace kary_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root, std::uint32_t fanout);
// Which of two binary trees, of which each rank is a leaf of one at least: P. Sanders, J. Speck, J. L. Träff,
// "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009.
TreePlace double_tree_place(std::uint32_t rank, std::uint32_t ranks, bool second);
TreePlace place_in(const Tree& tree, std::uint32_t rank);

}  // namespace thalweg
