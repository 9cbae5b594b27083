// The part of Cluster in which key ranges change their owners, at the wish of others than the job's nodes,
// and which tells what these hold.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sim/cluster/cluster.h"
#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

constexpr NodeId kStranger = worker_node(~0u);

// What is sent to a stranger is kept, all else goes its way.
struct Listening final : Transport {
  explicit Listening(Transport& others) : out(others) {}
  void send(NodeId to, Frame frame) override {
    if (to != kStranger) return out.send(to, std::move(frame));
    answer = std::move(frame);
  }
  void introduce(NodeId, std::string_view) override {}
  void rename_self(NodeId, std::uint64_t) override {}
  Transport& out;
  std::optional<Frame> answer;
};

}  // namespace

// What such a server holds is lost, which whoever moves it on from there takes for granted that it is not.
bool Cluster::is_with_a_dead_one(const wire::Map& map, TableId table, RangeSpan ranges) const {
  if (table.value >= map.placement.size()) return false;
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
    const NodeId owner = server_node(map.placement[table.value].owner(RangeId{range}));
    const auto is_there = [&](const auto& process) { return process->id == owner && process->runs(); };
    if (std::ranges::none_of(processes_, is_there)) return true;
  }
  return false;
}

bool Cluster::place(TableId table, RangeSpan ranges, std::uint32_t server) {
  Process& process = *processes_[0];
  if (!process.runs() || now_ < process.busy_until) return false;
  if (is_with_a_dead_one(process.scheduler->map(), table, ranges)) return false;
  begin_turn(process);
  Outgoing out(*this, process);
  const std::uint32_t before = process.scheduler->map().epoch;
  bool placed = false;
  scheduler_turn(process, out, [&](Scheduler& scheduler, Instant, Transport& gate) {
    placed = scheduler.place(table, ranges, {server}, gate).ok();
  });
  const bool moved = placed && process.scheduler->map().epoch > before;
  if (moved)
    note(fmt::format("table {} ranges [{},{}) go to server-{}", table.value, ranges.begin, ranges.end,
                     server));
  after_turn(0);
  return moved;
}

std::optional<Frame> Cluster::ask_scheduler(const Frame& question) {
  Process& process = *processes_[0];
  if (!process.runs() || now_ < process.busy_until) return {};
  begin_turn(process);
  Outgoing out(*this, process);
  Listening listening(out);
  const Instant local = process.clock.local(now_);
  process.node->on_frame(local, kStranger, question, listening);
  if (plan_.judged) patience_.after_turn(local, *process.scheduler, false);
  after_turn(0);
  if (listening.answer) {
    const Status status = status_of(*listening.answer);
    note("a stranger is answered " + (status.ok() ? "well" : status.message()));
  }
  return std::move(listening.answer);
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

// Of a range that others have taken over, theirs, also where who had it before has yet to hear of that.
Contents Cluster::contents(TableId table) const {
  std::map<NodeId, const Server*> servers;
  const Placement& placement = scheduler().map().placement.at(table.value);
  for (const auto& process : processes_) {
    const Node* node = process->node != nullptr ? process->node.get() : process->corpse.get();
    const NodeId id = process->id;
    const auto places = [&](const Placement& of) { return of.places(id.index); };
    if (id.role == Role::kServer && std::ranges::any_of(scheduler().map().placement, places))
      servers[id] = static_cast<const Server*>(node);
  }
  Contents all;
  const auto take = [&all](std::span<const std::uint64_t> keys, std::span<const float> rows) {
    all.keys.insert(all.keys.end(), keys.begin(), keys.end());
    all.rows.insert(all.rows.end(), rows.begin(), rows.end());
  };
  const auto take_range = [&](const Table& part, RangeId range) {
    if (!part.owned().contains(range)) return false;
    part.scan(range, [&](const RowsView& view) { take(view.keys, view.rows); });
    return true;
  };
  for (std::uint16_t r = 0; r < plan_.tables[table.value].ranges; ++r) {
    const RangeId range{r};
    bool found = false;
    const auto take_from = [&](const Server& server) {
      if (table.value >= server.tables().size()) return;
      const Table& part = server.tables()[table.value]->table();
      all.width = part.stored_width();
      found = take_range(part, range) || found;
      const auto given_up = server.given_up().find({table, range});
      if (given_up == server.given_up().end()) return;
      take(given_up->second.keys, given_up->second.rows);
      found = true;
    };
    const auto knows_all = [&](const Server& server) {
      return server.map().epoch == scheduler().map().epoch;
    };
    for (const auto& [id, server] : servers) {
      if (knows_all(*server)) take_from(*server);
    }
    if (!found) {
      for (const auto& [id, server] : servers) take_from(*server);
    }
    // Who was to own it was killed before it learnt of that, and the job was over before anybody else did.
    for (const std::uint32_t index : placement.run_of(range).in_sync()) {
      const auto server = servers.find(server_node(index));
      if (found || server == servers.end() || table.value >= server->second->copies().size()) continue;
      TableHost& copies = *server->second->copies()[table.value];
      copies.redo(0);
      found = take_range(copies.table(), range);
    }
  }
  return all;
}

}  // namespace thalweg::sim
