// The part of Cluster in which key ranges change their owners.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sim/cluster/cluster.h"
#include "sim/trace_line.h"

namespace thalweg::sim {

bool Cluster::place(TableId table, RangeSpan ranges, std::uint32_t server) {
  Process& process = *processes_[0];
  if (!process.runs() || now_ < process.busy_until) return false;
  begin_turn(process);
  Outgoing out(*this, process);
  const std::uint32_t before = process.scheduler->map().epoch;
  const bool placed = process.scheduler->place(table, ranges, {server}, out).ok();
  const bool moved = placed && process.scheduler->map().epoch > before;
  if (moved)
    note(fmt::format("table {} ranges [{},{}) go to server-{}", table.value, ranges.begin, ranges.end,
                     server));
  after_turn(0);
  return moved;
}

std::vector<Cluster::Offer> Cluster::offers() const {
  std::vector<Offer> offers;
  for (const auto& from : processes_) {
    if (from->server == nullptr || !from->runs()) continue;
    for (const auto& [what, state] : from->server->given_up()) {
      for (const auto& to : processes_) {
        const bool ready = to->server != nullptr && to->runs() && now_ >= to->busy_until;
        if (!ready || !to->server->awaits(what.first, what.second)) continue;
        offers.push_back({from->place, to->place, what.first, what.second});
        break;  // Of two with different maps, whoever; it gives the range on when it has the newer one.
      }
    }
  }
  return offers;
}

bool Cluster::moving() const {
  return std::ranges::any_of(processes_, [&](const auto& process) {
    if (process->server == nullptr || !process->runs()) return false;
    const Server& server = *process->server;
    bool awaits = server.map().epoch < scheduler().map().epoch || !server.given_up().empty();
    for (std::uint16_t t = 0; t < plan_.tables.size(); ++t) {
      for (std::uint16_t range = 0; range < plan_.tables[t].ranges; ++range)
        awaits = awaits || server.awaits(TableId{t}, RangeId{range});
    }
    return awaits;
  });
}

void Cluster::hand_over(const Offer& offer) {
  Process& to = *processes_[offer.to];
  const Bytes bytes = encode(processes_[offer.from]->server->fetch(offer.table, offer.range));
  auto state = decode_range_state(bytes, plan_.tables[offer.table.value], plan_.shards);
  THALWEG_CHECK(state && encode(*state).text() == bytes.text(), "a state reads back as it was written");
  std::vector<RangeState> states;
  states.push_back(*std::move(state));
  note(fmt::format("{} gets table {} range {}", who(to.id), offer.table.value, offer.range.value));
  begin_turn(to);
  Outgoing out(*this, to);
  to.server->adopt(offer.table, std::move(states), out);
  after_turn(offer.to);
}

}  // namespace thalweg::sim
