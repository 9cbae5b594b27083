// Halving-doubling: partners at distance P/2, P/4, ..., 1 each send the half of their block that the other
// keeps and add up the one they keep; then the same way back, copying. When N is no power of two, the first
// N - P pairs of ranks, P = 2^k < N, act as one: the odd one hands in before and gets out after.
// Bytes per rank: 2(P-1)S/P, and 2S more between folded pairs. Time: 2 log2(P) L + 2(P-1)S/(P B), and where
// N > P 2(L + S/B) more.
// R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
#include <bit>

#include "exchange/route/folded_team.h"
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {
namespace {

// The parts of folded numbers [first, last).
PartPieces parts_of(const Team& team, const FoldedTeam& folded, const Work& work, std::uint32_t first,
                    std::uint32_t last, std::uint64_t piece) {
  if (work.operation == Operation::kAllReduce)
    return {parts_between(work.all(), folded.size(), first, last), piece};
  const std::uint32_t end = last == folded.size() ? team.size : folded.first_member(last);
  return {work, team, folded.first_member(first), end, piece};
}

Lane halving_lane(Team team, Work work) {
  const FoldedTeam folded(team);
  const auto parts = [&](std::uint32_t first, std::uint32_t last) {
    return parts_of(team, folded, work, first, last, work.piece);
  };
  if (folded.hands_in()) {
    for (PartPieces all = parts(0, folded.size()); all.next();)
      co_yield send(folded.partner(), all.piece(), work.in);
    if (work.operation != Operation::kReduceScatter) co_return;
    for (PartPieces own(work, team, team.me, team.me + 1, 0); own.next();)
      co_yield receive(folded.partner(), own.piece());
    co_return;
  }
  Buffer now = work.in;
  if (folded.takes_in()) {
    for (PartPieces all = parts(0, folded.size()); all.next();)
      co_yield reduce(folded.partner(), all.piece(), work.in);
    now = Buffer::kWork;
  }
  std::uint32_t first = 0, last = folded.size();
  for (std::uint32_t distance = folded.size() / 2; distance > 0; distance /= 2) {
    const bool upper = folded.me() & distance;
    const std::uint32_t middle = first + distance, peer = folded.rank(folded.me() ^ distance);
    for (PartPieces theirs = upper ? parts(first, middle) : parts(middle, last); theirs.next();)
      co_yield send(peer, theirs.piece(), now);
    (upper ? first : last) = middle;
    for (PartPieces mine = parts(first, last); mine.next();) co_yield reduce(peer, mine.piece(), now);
    now = Buffer::kWork;
  }
  for (PartPieces mine = parts_of(team, folded, work, first, last, 0); mine.next();) {
    if (now != Buffer::kWork) co_yield copy(mine.piece(), now);
    if (work.finishes) co_yield finish(mine.piece());
  }
  if (work.operation != Operation::kReduceScatter || !folded.takes_in()) co_return;
  for (PartPieces theirs(work, team, team.after(team.me), team.after(team.me) + 1, 0); theirs.next();)
    co_yield send(folded.partner(), theirs.piece());
}

}  // namespace

Lane doubling_all_gather_lane(Team team, Work work) {
  const FoldedTeam folded(team);
  const auto parts = [&](std::uint32_t first, std::uint32_t last) {
    return parts_of(team, folded, work, first, last, work.piece);
  };
  const bool alone = work.operation == Operation::kAllGather;  // Else halving has left a block here.
  if (folded.hands_in()) {
    for (PartPieces own(work, team, team.me, team.me + 1, 0); alone && own.next();)
      co_yield send(folded.partner(), own.piece(), work.in);
    for (PartPieces all = parts(0, folded.size()); all.next();)
      co_yield receive(folded.partner(), all.piece());
    co_return;
  }
  if (alone && work.in != Buffer::kWork) co_yield copy(work.part(team, team.me), work.in);
  if (alone && folded.takes_in()) {
    for (PartPieces theirs(work, team, team.after(team.me), team.after(team.me) + 1, 0); theirs.next();)
      co_yield receive(folded.partner(), theirs.piece());
  }
  for (std::uint32_t distance = 1; distance < folded.size(); distance *= 2) {
    const std::uint32_t first = folded.me() & ~(distance - 1), peer_number = folded.me() ^ distance;
    const std::uint32_t peer_first = peer_number & ~(distance - 1), peer = folded.rank(peer_number);
    for (PartPieces mine = parts(first, first + distance); mine.next();) co_yield send(peer, mine.piece());
    for (PartPieces theirs = parts(peer_first, peer_first + distance); theirs.next();)
      co_yield receive(peer, theirs.piece());
  }
  if (!folded.takes_in()) co_return;
  for (PartPieces all = parts(0, folded.size()); all.next();) co_yield send(folded.partner(), all.piece());
}

Lane halving_doubling_lane(Team team, Work work) {
  if (work.operation != Operation::kAllGather) {
    for (Lane halving = halving_lane(team, work); halving.next();) co_yield halving.step();
  }
  if (work.operation != Operation::kReduceScatter) {
    for (Lane doubling = doubling_all_gather_lane(team, work); doubling.next();) co_yield doubling.step();
  }
}

namespace {

void add_halving_doubling(const Work& work, LaneMaker& to) { to.add(halving_doubling_lane(to.all, work)); }

double halving_doubling_seconds(RoundCosts& costs, const Demand& demand, const Layout&) {
  return doubling_seconds(costs, demand, true);
}

double halving_doubling_added_bytes(const Demand& demand, const Layout&) {
  const double bytes = static_cast<double>(demand.bytes);
  const std::uint32_t folded = std::bit_floor(demand.ranks);
  return (folded < demand.ranks ? bytes : 0) + bytes * (folded - 1) / folded;
}

// After each round a rank sends what it had of the last one.
double halving_doubling_fetched_bytes(const Demand& demand, const Layout&, double cache_bytes) {
  double sum = 0;
  for (std::uint32_t parts = 2; parts <= demand.ranks; parts *= 2)
    sum += 2 * bytes_beyond(cache_bytes, static_cast<double>(demand.bytes) / parts);
  return sum;
}

double halving_doubling_messages(const Demand& demand, const Layout& layout) {
  double messages = 0;
  for (std::uint32_t parts = 2; parts / 2 < demand.ranks; parts *= 2)
    messages += 2.0 * layout.size() * pieces_of(layout, static_cast<double>(demand.elements()) / parts);
  return messages;
}

}  // namespace

constinit const Route routes::kHalvingDoubling{
    .name = "halving-doubling",
    .summary = "halves there, doubles back",
    .supports = {Operation::kReduceScatter, Operation::kAllGather},
    .one_channel = {Operation::kReduceScatter, Operation::kAllGather},
    .add_lanes = add_halving_doubling,
    .tried = {"halving-doubling"},
    .seconds = halving_doubling_seconds,
    .added_bytes = halving_doubling_added_bytes,
    .fetched_bytes = halving_doubling_fetched_bytes,
    .messages = halving_doubling_messages,
};

}  // namespace thalweg
