// All-to-all: each rank sends a part to each other one, nearest first, so that no port gets two at once.
// Bytes per rank: (N-1)S/N. Time: L + (N-1)S/(N B).
#include "exchange/route/lanes.h"

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

namespace {

Lane in_pieces(LaneStep message, std::uint64_t piece) {
  const Pieces pieces(message.block, piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    message.block = pieces[i];
    co_yield message;
  }
}

}  // namespace

// Point to point: the root sends, the peer receives. Bytes: S. Time: L + S/B.
Lane point_to_point_lane(std::uint32_t rank, const Work& work) {
  const Block all = rank == work.root || rank == work.peer ? work.all() : Block{};
  const LaneStep message = rank == work.root ? send(work.peer, all, work.in) : receive(work.root, all);
  return work.piece == 0 || all.count <= work.piece ? Lane(message) : in_pieces(message, work.piece);
}

}  // namespace thalweg
