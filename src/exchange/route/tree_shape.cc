#include "exchange/route/tree_shape.h"

#include <bit>

namespace thalweg {
namespace {

// Number of a rank when counting from the root, and back.
std::uint32_t from_root(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root) {
  return (rank + ranks - root) % ranks;
}
std::uint32_t to_rank(std::uint32_t number, std::uint32_t ranks, std::uint32_t root) {
  return (number + root) % ranks;
}

// An in-order binary tree over 0 to n-1: nodes with a low lowest bit are low in the tree, odd ones are
// leaves.
std::int64_t in_order_parent(std::uint32_t node, std::uint32_t n) {
  if (node == 0) return -1;
  const std::uint32_t bit = node & (~node + 1);
  const std::uint32_t above = (node ^ bit) | (bit << 1);
  return above < n ? above : node ^ bit;
}

}  // namespace

TreePlace star_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root) {
  if (rank != root) return {root, {}};
  TreePlace place;
  for (std::uint32_t i = 1; i < ranks; ++i) place.children.push_back(to_rank(i, ranks, root));
  return place;
}

TreePlace chain_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root) {
  const std::uint32_t number = from_root(rank, ranks, root);
  TreePlace place;
  if (number > 0) place.parent = to_rank(number - 1, ranks, root);
  if (number + 1 < ranks) place.children.push_back(to_rank(number + 1, ranks, root));
  return place;
}

TreePlace binomial_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root) {
  const std::uint32_t number = from_root(rank, ranks, root);
  const std::uint32_t bit = number ? number & (~number + 1) : std::bit_ceil(ranks);
  TreePlace place;
  if (number > 0) place.parent = to_rank(number ^ bit, ranks, root);
  for (std::uint32_t step = 1; step < bit && number + step < ranks; step <<= 1) {
    place.children.push_back(to_rank(number + step, ranks, root));
  }
  return place;
}

TreePlace kary_place(std::uint32_t rank, std::uint32_t ranks, std::uint32_t root, std::uint32_t fanout) {
  const std::uint32_t number = from_root(rank, ranks, root);
  TreePlace place;
  if (number > 0) place.parent = to_rank((number - 1) / fanout, ranks, root);
  for (std::uint64_t i = 1; i <= fanout; ++i) {
    const std::uint64_t child = std::uint64_t{number} * fanout + i;
    if (child < ranks) place.children.push_back(to_rank(static_cast<std::uint32_t>(child), ranks, root));
  }
  return place;
}

TreePlace double_tree_place(std::uint32_t rank, std::uint32_t ranks, bool second) {
  // The second tree is the first one mirrored or, where that would keep leaves leaves, shifted by one.
  const bool mirrors = ranks % 2 == 0;
  const auto number_of = [=](std::uint32_t r) {
    return !second ? r : mirrors ? ranks - 1 - r : (r + 1) % ranks;
  };
  const auto rank_of = [=](std::uint32_t number) {
    return !second ? number : mirrors ? ranks - 1 - number : (number + ranks - 1) % ranks;
  };
  const std::uint32_t number = number_of(rank);
  const std::int64_t parent = in_order_parent(number, ranks);
  TreePlace place;
  if (parent >= 0) place.parent = rank_of(static_cast<std::uint32_t>(parent));
  // A child differs from its parent by less than the parent's lowest bit, so few numbers are candidates.
  const std::uint32_t bit = number ? number & (~number + 1) : std::bit_ceil(ranks);
  for (std::uint32_t step = bit; step > 0; step >>= 1) {
    for (const std::uint64_t child : {std::uint64_t{number} - step, std::uint64_t{number} + step}) {
      if (child < ranks && in_order_parent(static_cast<std::uint32_t>(child), ranks) == number) {
        place.children.push_back(rank_of(static_cast<std::uint32_t>(child)));
      }
    }
  }
  return place;
}

TreePlace place_in(const Tree& tree, std::uint32_t rank) {
  TreePlace place;
  place.parent = tree.parent[rank];
  for (std::uint32_t other = 0; other < tree.parent.size(); ++other) {
    if (tree.parent[other] == static_cast<std::int32_t>(rank)) place.children.push_back(other);
  }
  return place;
}

}  // namespace thalweg
