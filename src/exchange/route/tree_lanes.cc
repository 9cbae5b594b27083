// Trees, whatever their shape: pieces are added on the way up and copied on the way down. The two directions
// are lanes of their own, so that the first pieces go down while the last go up.
// Bytes: a rank sends S up and S to each child. Time, of depth d and k children, whole: 2 d (L + k S/B);
// in C pieces: 2 (d-1)(L + k S/(C B)) + k (1 + 1/C) S/B. Binomial, whole: 2 log2(N) (L + S/B).
// Star ("one device owns all"): d = 1, k = N-1. Chain: d = N-1, k = 1.
// Contributions in the order of ranks: from rank 0, which sends the result to the root.
// R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005.
#include <utility>

#include "exchange/route/lanes.h"

namespace thalweg {

Lane tree_up_lane(TreePlace place, Work work, bool contributes) {
  const bool returns = work.operation == Operation::kAllReduce;
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    bool begun = false;
    for (const std::uint32_t child : place.children) {
      if (begun) {
        co_yield reduce(child, pieces[i]);
      } else {
        co_yield contributes ? reduce(child, pieces[i], work.in) : receive(child, pieces[i]);
      }
      begun = true;
    }
    if (!place.is_root()) {
      if (begun || contributes) {
        co_yield send(static_cast<std::uint32_t>(place.parent), pieces[i], begun ? Buffer::kWork : work.in);
      }
      continue;
    }
    if (!begun) co_yield copy(pieces[i], work.in);
    if (work.finishes) co_yield finish(pieces[i]);
    for (std::size_t c = place.children.size(); returns && c-- > 0;) {
      co_yield send_across(place.children[c], pieces[i]);
    }
  }
}

Lane ordered_reduce_lane(TreePlace place, std::uint32_t me, Work work) {
  for (Lane up = tree_up_lane(std::move(place), work, true); up.next();) co_yield up.step();
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; work.root != 0 && i < pieces.size(); ++i) {
    if (me == 0) co_yield send(work.root, pieces[i]);
    if (me == work.root) co_yield receive(0, pieces[i]);
  }
}

Lane tree_down_lane(TreePlace place, Work work) {
  const Pieces pieces(work.all(), work.piece);
  if (place.is_root() && work.operation == Operation::kAllReduce) co_return;  // Its upper lane sends.
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    if (place.is_root()) {
      co_yield copy(pieces[i], work.in);
    } else {
      co_yield receive(static_cast<std::uint32_t>(place.parent), pieces[i]);
    }
    for (std::size_t c = place.children.size(); c-- > 0;) co_yield send(place.children[c], pieces[i]);
  }
}

void add_tree(const Work& work, TreePlace place, LaneMaker& to) {
  if (work.in_order && work.operation == Operation::kReduce)
    return to.add(ordered_reduce_lane(std::move(place), to.all.me, work));
  const bool contributes = to.all.me < to.all.size - to.plan.servers;
  if (work.operation != Operation::kBroadcast) to.add(tree_up_lane(place, work, contributes));
  if (work.operation != Operation::kReduce) to.add(tree_down_lane(std::move(place), work));
}

void add_rooted(const Work& work, TreePlace place, bool binomial, LaneMaker& to) {
  if (work.operation == Operation::kGather) return to.add(gather_lane(to.all, work, binomial));
  if (work.operation == Operation::kScatter) return to.add(scatter_lane(to.all, work, binomial));
  add_tree(work, std::move(place), to);
}

}  // namespace thalweg
