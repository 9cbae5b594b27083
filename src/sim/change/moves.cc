#include "sim/change/moves.h"

#include <algorithm>
#include <cmath>

namespace thalweg::sim {

Moves::Moves(const Plan& plan, Cluster& cluster)
    : plan_(plan), cluster_(cluster), random_(Random(plan.seed).split(10)), left_(plan.moves) {}

void Moves::start() {
  if (left_ > 0) next();
}

void Moves::next() {
  const Duration wait = scaled(plan_.move_every, -std::log(1 - random_.unit()));
  cluster_.at(cluster_.now() + wait, [this] {
    if (cluster_.gone() || cluster_.work().all_done()) return;
    move();
    if (left_ > 0) next();
  });
}

void Moves::move() {
  const TableId table{static_cast<std::uint16_t>(random_.below(plan_.tables.size()))};
  const std::uint16_t ranges = plan_.tables[table.value].ranges;
  const auto begin = static_cast<std::uint16_t>(random_.below(ranges));
  const auto most = std::min<std::uint64_t>(ranges - begin, random_.chance(0.7) ? 2 : ranges);
  const auto end = static_cast<std::uint16_t>(begin + 1 + random_.below(most));
  const auto server = static_cast<std::uint32_t>(random_.below(plan_.servers));
  if (!cluster_.place(table, {begin, end}, server)) return;
  --left_;
  if (!carrying_) carry();
}

// Each range by itself, so that some come later than others.
void Moves::carry() {
  carrying_ = true;
  cluster_.at(cluster_.now() + scaled(plan_.move_takes, random_.unit()), [this] {
    for (const Cluster::Offer& offer : cluster_.offers()) {
      if (!random_.chance(0.6)) continue;
      count(cluster_.processes()[offer.from]->server->given_up().at({offer.table, offer.range}));
      cluster_.hand_over(offer);
    }
    carrying_ = !cluster_.gone() && cluster_.moving();
    if (carrying_) carry();
  });
}

void Moves::count(const RangeState& state) {
  ++counts_.ranges;
  counts_.with_rows += !state.keys.empty();
  counts_.with_open_steps += !state.open_steps.empty();
  counts_.with_replies +=
      std::ranges::any_of(state.replies, [](const Replies& of_shard) { return !of_shard.empty(); });
}

}  // namespace thalweg::sim
