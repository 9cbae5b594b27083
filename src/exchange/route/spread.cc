// Spread: each rank owns a part, gets it from everybody, adds up and sends the sum to everybody. Peers are
// served in the order of their distance, so that no port gets two at once.
// Bytes per rank: 2(N-1)S/N. Time: 2(L + (N-1)S/(N B)). Reduce-scatter, all-gather: half of both; broadcast
// and reduce are a scatter with an all-gather and a reduce-scatter with a gather: the root moves 2(N-1)S/N.
// Also "co-located servers": M. Li et al., "Scaling distributed machine learning with the parameter server",
// OSDI 2014.
#include "exchange/route/formulas.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {

Lane spread_lane(Team team, Work work) {
  const std::uint32_t n = team.size, me = team.me;
  const bool scatters = work.operation != Operation::kAllGather;
  const bool gathers = work.operation != Operation::kReduceScatter;
  // Pieces of a part are as many for every owner as for the largest part; the shorter ones end in empty ones.
  std::uint64_t rounds = 0;
  for (std::uint32_t m = 0; m < n; ++m) {
    rounds = std::max(rounds, Pieces(work.part(team, m), work.piece).size());
  }
  if (!scatters) co_yield copy(work.part(team, me), work.in);
  for (std::uint64_t i = 0; scatters && i < rounds; ++i) {
    for (std::uint32_t d = 1; d < n; ++d) {
      const std::uint32_t owner = team.after(me, d);
      co_yield send(team.rank(owner), Pieces(work.part(team, owner), work.piece)[i], work.in);
    }
  }
  const Pieces own(work.part(team, me), work.piece);
  for (std::uint64_t i = 0; i < own.size(); ++i) {
    for (std::uint32_t d = 1; scatters && d < n; ++d) {
      const Buffer from = d == 1 ? work.in : Buffer::kWork;
      if (!work.in_order) {
        co_yield reduce(team.rank(team.before(me, d)), own[i], from);
      } else if (d <=
                 me) {  // From the rank before this one to the first, then from the one behind to the last.
        co_yield reduce_before(team.rank(me - d), own[i], from);
      } else {
        co_yield reduce(team.rank(d), own[i], from);
      }
    }
    if (scatters && work.finishes) co_yield finish(own[i]);
    for (std::uint32_t d = 1; gathers && d < n; ++d) co_yield send(team.rank(team.after(me, d)), own[i]);
  }
  for (std::uint64_t i = 0; gathers && i < rounds; ++i) {
    for (std::uint32_t d = 1; d < n; ++d) {
      const std::uint32_t owner = team.before(me, d);
      co_yield receive(team.rank(owner), Pieces(work.part(team, owner), work.piece)[i]);
    }
  }
}

namespace {

void add_spread(const Work& work, LaneMaker& to) { to.add(spread_lane(to.all, work)); }

double spread_seconds(RoundCosts& costs, const Demand& demand, const Layout& layout) {
  return owners_seconds(costs, demand, layout, {1.0 / demand.ranks, 0});
}

// Each piece is passed on at once, after a block for everybody to begin with.
double spread_fetched_bytes(const Demand& demand, const Layout&, double cache_bytes) {
  const double n = demand.ranks;
  return (n - 1) * bytes_beyond(cache_bytes, static_cast<double>(demand.bytes) / n);
}

double spread_messages(const Demand& demand, const Layout& layout) {
  const double n = layout.size();
  return 2 * n * (n - 1) * pieces_of(layout, static_cast<double>(demand.elements()) / n);
}

}  // namespace

constinit const Route routes::kSpread{
    .name = "spread",
    .alias = "colocated",
    .summary = "each rank owns a part",
    .supports = {Operation::kReduceScatter, Operation::kAllGather, Operation::kNeighbours},
    .keeps_order = {Operation::kAllReduce, Operation::kReduceScatter},
    .touches_own_part_only = {Operation::kReduceScatter},
    .add_lanes = add_spread,
    .tried = {"spread"},
    .seconds = spread_seconds,
    .fetched_bytes = spread_fetched_bytes,
    .messages = spread_messages,
};

}  // namespace thalweg
