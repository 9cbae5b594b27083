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

// The block of folded numbers [first, last).
Block block_of(const Team& team, const FoldedTeam& folded, const Work& work, std::uint32_t first,
               std::uint32_t last) {
  if (work.operation == Operation::kAllReduce) return parts_between(work.all(), folded.size(), first, last);
  const Block begin = work.part(team, folded.first_member(first));
  const std::uint32_t end = last == folded.size() ? team.size : folded.first_member(last);
  return {begin.begin, work.part(team, end - 1).end() - begin.begin};
}

Lane halving_lane(Team team, Work work) {
  const FoldedTeam folded(team);
  const Block whole = block_of(team, folded, work, 0, folded.size());
  const Pieces all(whole, work.piece);
  if (folded.hands_in()) {
    for (std::uint64_t i = 0; i < all.size(); ++i) co_yield send(folded.partner(), all[i], work.in);
    if (work.operation == Operation::kReduceScatter) {
      co_yield receive(folded.partner(), work.part(team, team.me));
    }
    co_return;
  }
  Buffer now = work.in;
  for (std::uint64_t i = 0; folded.takes_in() && i < all.size(); ++i) {
    co_yield reduce(folded.partner(), all[i], work.in);
    now = Buffer::kWork;
  }
  std::uint32_t first = 0, last = folded.size();
  for (std::uint32_t distance = folded.size() / 2; distance > 0; distance /= 2) {
    const bool upper = folded.me() & distance;
    const std::uint32_t middle = first + distance, peer = folded.rank(folded.me() ^ distance);
    const Pieces theirs(
        upper ? block_of(team, folded, work, first, middle) : block_of(team, folded, work, middle, last),
        work.piece);
    (upper ? first : last) = middle;
    const Pieces mine(block_of(team, folded, work, first, last), work.piece);
    for (std::uint64_t i = 0; i < theirs.size(); ++i) co_yield send(peer, theirs[i], now);
    for (std::uint64_t i = 0; i < mine.size(); ++i) co_yield reduce(peer, mine[i], now);
    now = Buffer::kWork;
  }
  const Block mine = block_of(team, folded, work, first, last);
  if (now != Buffer::kWork) co_yield copy(mine, now);
  if (work.finishes) co_yield finish(mine);
  if (work.operation == Operation::kReduceScatter && folded.takes_in()) {
    co_yield send(folded.partner(), work.part(team, team.after(team.me)));
  }
}

}  // namespace

Lane doubling_all_gather_lane(Team team, Work work) {
  const FoldedTeam folded(team);
  const Block whole = block_of(team, folded, work, 0, folded.size());
  const bool alone = work.operation == Operation::kAllGather;  // Else halving has left a block here.
  const Pieces all(whole, work.piece);
  if (folded.hands_in()) {
    if (alone) co_yield send(folded.partner(), work.part(team, team.me), work.in);
    for (std::uint64_t i = 0; i < all.size(); ++i) co_yield receive(folded.partner(), all[i]);
    co_return;
  }
  if (alone) {
    co_yield copy(work.part(team, team.me), work.in);
    if (folded.takes_in()) co_yield receive(folded.partner(), work.part(team, team.after(team.me)));
  }
  for (std::uint32_t distance = 1; distance < folded.size(); distance *= 2) {
    const std::uint32_t first = folded.me() & ~(distance - 1), peer_number = folded.me() ^ distance;
    const std::uint32_t peer_first = peer_number & ~(distance - 1), peer = folded.rank(peer_number);
    const Pieces mine(block_of(team, folded, work, first, first + distance), work.piece);
    const Pieces theirs(block_of(team, folded, work, peer_first, peer_first + distance), work.piece);
    for (std::uint64_t i = 0; i < mine.size(); ++i) co_yield send(peer, mine[i]);
    for (std::uint64_t i = 0; i < theirs.size(); ++i) co_yield receive(peer, theirs[i]);
  }
  for (std::uint64_t i = 0; folded.takes_in() && i < all.size(); ++i) co_yield send(folded.partner(), all[i]);
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
