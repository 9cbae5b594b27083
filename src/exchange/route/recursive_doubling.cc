// Recursive doubling: in log2 N rounds partners at distance 1, 2, 4, ... exchange all that they have. When N
// is no power of two, the first N - P pairs of ranks, P = 2^k < N, act as one: the odd one hands in before
// and gets out after. Bytes per rank: S log2 P; all-gather (N-1)S/N. Time: log2(P)(L + S/B), and where N > P
// 2(L + S/B) more; all-gather of N = P: log2(N) L + (N-1)S/(N B). R. Thakur, R. Rabenseifner, W. Gropp,
// "Optimization of collective communication operations in MPICH", IJHPCA 2005, section 4.
#include <bit>
#include <cmath>

#include "exchange/route/folded_team.h"
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// Rounds alternate between kWork and kSpare, as what is being sent must not change.
Lane all_reduce(Team team, Work work) {
  const FoldedTeam folded(team);
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    if (folded.hands_in()) {
      co_yield send(folded.partner(), pieces[i], work.in);
      co_yield receive(folded.partner(), pieces[i]);
      continue;
    }
    Buffer now = work.in;
    if (folded.takes_in()) {
      co_yield reduce(folded.partner(), pieces[i], now, Buffer::kWork);
      now = Buffer::kWork;
    }
    const bool now_is_work = now == Buffer::kWork || work.in_place;
    const bool odd = folded.rounds() % 2 == 1;
    // So that the last round ends in kWork, unless that would overwrite what the first one sends.
    Buffer to = odd && !now_is_work ? Buffer::kWork : Buffer::kSpare;
    for (std::uint32_t distance = 1; distance < folded.size(); distance *= 2) {
      const std::uint32_t peer = folded.rank(folded.me() ^ distance);
      co_yield send(peer, pieces[i], now);
      const bool peer_is_lower = (folded.me() & distance) != 0;
      co_yield peer_is_lower ? reduce_before(peer, pieces[i], now, to) : reduce(peer, pieces[i], now, to);
      now = to;
      to = now == Buffer::kWork ? Buffer::kSpare : Buffer::kWork;
    }
    if (now != Buffer::kWork) co_yield copy(pieces[i], now);
    if (work.finishes) co_yield finish(pieces[i]);
    if (folded.takes_in()) co_yield send(folded.partner(), pieces[i]);
  }
}

}  // namespace

Lane recursive_doubling_lane(Team team, Work work) {
  return work.operation == Operation::kAllGather ? doubling_all_gather_lane(team, work)
                                                 : all_reduce(team, work);
}

namespace {

void add_recursive_doubling(const Work& work, LaneMaker& to) {
  to.add(recursive_doubling_lane(to.all, work));
}

// An all-gather sends what halving-doubling does.
double recursive_doubling_seconds(RoundCosts& costs, const Demand& demand, const Layout&) {
  return doubling_seconds(costs, demand, demand.operation == Operation::kAllGather);
}

double recursive_doubling_added_bytes(const Demand& demand, const Layout&) {
  const double bytes = static_cast<double>(demand.bytes);
  const std::uint32_t folded = std::bit_floor(demand.ranks);
  return (folded < demand.ranks ? bytes : 0) + bytes * std::log2(folded);
}

}  // namespace

constinit const Route routes::kRecursiveDoubling{
    .name = "recursive-doubling",
    .summary = "with partners at distance 1, 2, 4, ...",
    .supports = {Operation::kAllGather},
    .keeps_order = {Operation::kAllReduce},
    .one_channel = {Operation::kAllGather},
    .add_lanes = add_recursive_doubling,
    .tried = {"recursive-doubling"},
    .seconds = recursive_doubling_seconds,
    .added_bytes = recursive_doubling_added_bytes,
    .messages = doubling_messages,
};

}  // namespace thalweg
