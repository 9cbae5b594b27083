// Gather and scatter over a star or a binomial tree, whose subtrees are runs of ranks counted from the root.
// Bytes: star: the root moves (N-1)S/N, others S/N. Binomial: a rank moves its subtree's parts once.
// Time: star L (N-1) + (N-1)S/(N B); binomial log2(N) L + (N-1)S/(N B).
#include <algorithm>
#include <bit>

#include "exchange/route/lanes.h"

namespace thalweg {
namespace {

// The members under one rank, as numbers counted from the root.
struct Subtree {
  Team team;
  std::uint32_t root;    // Member.
  std::uint32_t number;  // Of this rank.
  std::uint32_t reach;   // This rank's subtree is [number, number + reach).

  Subtree(const Team& all, const Work& work, bool binomial) : team(all), root(work.root) {
    number = team.before(team.me, root);
    const std::uint32_t bit = number ? number & (~number + 1) : std::bit_ceil(team.size);
    reach = number == 0 ? team.size : binomial ? std::min(bit, team.size - number) : 1;
  }
  std::uint32_t member(std::uint32_t other) const { return team.after(root, other); }
  std::uint32_t parent(bool binomial) const {
    return team.rank(member(binomial ? number & (number - 1) : 0));
  }
};

}  // namespace

Lane gather_lane(Team team, Work work, bool binomial) {
  const Subtree tree(team, work, binomial);
  for (std::uint32_t step = 1; step < tree.reach;) {
    const std::uint32_t child = tree.number + step;
    const std::uint32_t end = binomial ? std::min(step * 2, tree.reach) : step + 1;
    for (std::uint32_t other = step; other < end; ++other) {
      const Pieces pieces(work.part(team, tree.member(tree.number + other)), work.piece);
      for (std::uint64_t i = 0; i < pieces.size(); ++i) {
        co_yield receive(team.rank(tree.member(child)), pieces[i]);
      }
    }
    step = end;
  }
  const Block own = work.part(team, team.me);
  if (tree.number == 0) {
    co_yield copy(own, work.in);
    co_return;
  }
  for (std::uint32_t other = 0; other < tree.reach; ++other) {
    const Pieces pieces(work.part(team, tree.member(tree.number + other)), work.piece);
    const Buffer from = other == 0 ? work.in : Buffer::kWork;
    for (std::uint64_t i = 0; i < pieces.size(); ++i) co_yield send(tree.parent(binomial), pieces[i], from);
  }
}

Lane scatter_lane(Team team, Work work, bool binomial) {
  const Subtree tree(team, work, binomial);
  const bool is_root = tree.number == 0;
  for (std::uint32_t other = 0; !is_root && other < tree.reach; ++other) {
    const Pieces pieces(work.part(team, tree.member(tree.number + other)), work.piece);
    for (std::uint64_t i = 0; i < pieces.size(); ++i) co_yield receive(tree.parent(binomial), pieces[i]);
  }
  const Buffer from = is_root ? work.in : Buffer::kWork;
  for (std::uint32_t step = 1; step < tree.reach;) {
    const std::uint32_t child = tree.number + step;
    const std::uint32_t end = binomial ? std::min(step * 2, tree.reach) : step + 1;
    for (std::uint32_t other = step; other < end; ++other) {
      const Pieces pieces(work.part(team, tree.member(tree.number + other)), work.piece);
      for (std::uint64_t i = 0; i < pieces.size(); ++i) {
        co_yield send(team.rank(tree.member(child)), pieces[i], from);
      }
    }
    step = end;
  }
  if (is_root) co_yield copy(work.part(team, team.me), work.in);
}

}  // namespace thalweg
