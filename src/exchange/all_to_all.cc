// All-to-all: each rank sends a part to each other one, nearest first, so that no port gets two at once.
// Bytes per rank: (N-1)S/N. Time: L + (N-1)S/(N B).
#include "exchange/lanes.h"

namespace thalweg {

Lane all_to_all_lane(Team team, Work work) {
  const auto out = [&](std::uint32_t member) {
    if (!work.parts_out) return work.part(team, member);
    return work.slice({work.parts_out[member], work.parts_out[member + 1] - work.parts_out[member]});
  };
  for (std::uint32_t d = 1; d < team.size; ++d) {
    const std::uint32_t to = team.after(team.me, d);
    const Pieces pieces(work.part(team, to), work.piece);
    for (std::uint64_t i = 0; i < pieces.size(); ++i) co_yield send(team.rank(to), pieces[i], work.in);
  }
  co_yield copy_to(work.part(team, team.me), out(team.me).begin, work.in);
  for (std::uint32_t d = 1; d < team.size; ++d) {
    const std::uint32_t from = team.before(team.me, d);
    const Pieces pieces(out(from), work.piece);
    for (std::uint64_t i = 0; i < pieces.size(); ++i) co_yield receive(team.rank(from), pieces[i]);
  }
}

// Point to point: the root sends, the peer receives. Bytes: S. Time: L + S/B.
Lane point_to_point_lane(Team team, Work work) {
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    if (team.me == work.root) co_yield send(work.peer, pieces[i], work.in);
    if (team.me == work.peer) co_yield receive(work.root, pieces[i]);
  }
}

}  // namespace thalweg
