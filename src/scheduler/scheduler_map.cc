// The part of Scheduler that makes the map: who owns which data shards and key ranges.
#include <fmt/format.h>

#include <algorithm>

#include "base/planted.h"
#include "cluster/combine_tree.h"
#include "placement/placement.h"
#include "scheduler/scheduler.h"
#include "staleness/step_policy.h"

namespace thalweg {
void Scheduler::begin(Transport& out) {
  map_.consistency = options_.consistency;
  if (step_policy(options_.consistency)->combines()) map_.combine = options_.combine;
  map_.timeout = options_.timeout;
  map_.silence = options_.suspect_after;
  map_.tables = options_.tables;
  map_.job = options_.job;
  map_.first = options_.first;
  map_.scheduler_kept = options_.kept;
  std::vector<std::uint32_t> servers, workers;
  for (const auto& [id, member] : members_) {
    if (id.role == Role::kServer) map_.servers.push_back(member.address);
    if (member.observer || member.lost) continue;
    (id.role == Role::kServer ? servers : workers).push_back(id.index);
  }
  map_.late_servers = static_cast<std::uint32_t>(map_.servers.size()) - options_.servers;
  map_.placement = first_placement(map_.tables, servers, options_.replicas);
  const bool combine = map_.combine.kind != Combining::Kind::kNone;
  if (combine) {
    place_workers();
    workers = cluster::CombineTree(map_).in_order();
  }
  for (std::uint32_t d = 0; d < options_.shards; ++d) {
    const ShardId shard{d};
    const std::uint32_t place = combine ? neighbours_worker(shard, options_.shards, options_.workers)
                                        : shard_worker(shard, options_.workers);
    map_.shards.push_back({workers[place], 0});
  }
  publish(out);
}

// Where those workers are that combine their pushes.
void Scheduler::place_workers() {
  map_.workers.clear();
  std::map<std::string, std::uint32_t> machines;
  std::uint32_t next_machine = 0;
  for (const auto& [id, member] : members_) {
    if (id.role != Role::kWorker || member.observer || member.lost) continue;
    std::uint32_t machine = next_machine;
    if (!member.machine.empty()) machine = machines.try_emplace(member.machine, machine).first->second;
    next_machine += machine == next_machine;
    map_.workers.push_back({id.index, machine, member.address});
  }
}

void Scheduler::publish(Transport& out) {
  ++map_.epoch;
  if (options_.data) map_.data = options_.data();
  if (map_.combine.kind != Combining::Kind::kNone) place_workers();
  const Bytes bytes = encode(map_);
  for (const auto& [id, member] : members_) {
    if (!member.gone()) send(id, Op::kMap, ok_status(), bytes, out);
  }
}

// What has been pushed to ranges that move is handed over by their former owner. So a server without a map,
// which does not know yet that it is one, would lose what it never had.
Status Scheduler::place(TableId table, RangeSpan ranges, std::vector<std::uint32_t> chain, Transport& out) {
  if (!started() || stopped_) return {Code::kRetry, "ranges move while the job runs"};
  if (options_.replicas > 1 || !drains_.empty() || map_.late_servers > 0)
    return {Code::kUsage, "ranges of which servers keep copies stay where they are"};
  for (const auto& [id, member] : members_) {
    if (id.role == Role::kServer && member.map_epoch == 0)
      return {Code::kRetry, node_name(id) + " has yet to get the map"};
  }
  const bool placed = table.value < map_.tables.size() && ranges.begin < ranges.end &&
                      ranges.end <= map_.tables[table.value].ranges;
  if (!placed) return {Code::kUsage, "no such ranges"};
  Placement next = map_.placement[table.value];
  next.move(ranges, std::move(chain));
  const auto servers = static_cast<std::uint32_t>(map_.servers.size());
  if (!Placement::of(next.runs(), map_.tables[table.value].ranges, servers))
    return {Code::kUsage, "no such chain of servers"};
  if (next == map_.placement[table.value]) return ok_status();
  map_.placement[table.value] = std::move(next);
  placed_ = map_.by_hand = true;
  tell(checkpoints_.on_moved());
  publish(out);
  return ok_status();
}

// Takes a server out of the chains that it is in. Says who owns its ranges now.
std::string Scheduler::take_out(Instant now, std::uint32_t server) {
  std::map<std::uint32_t, std::size_t> heirs;
  std::size_t ranges = 0;
  for (Placement& placement : map_.placement) {
    const RangeSet owned = placement.owned_by(server);
    ranges += owned.size();
    placement.remove(server, map_.epoch + 1);
    for (const RangeSpan run : owned.runs()) {
      for (std::uint16_t range = run.begin; range < run.end; ++range)
        ++heirs[placement.owner(RangeId{range})];
    }
  }
  std::string names;
  for (const auto& [heir, count] : heirs) {
    names += (names.empty() ? "" : ", ") + node_name(server_node(heir));
    timeline_.add(now, JobEvent::Kind::kPromoted, server_node(heir),
                  fmt::format("owns {} key ranges of {}", count, node_name(server_node(server))));
  }
  return ranges == 0 ? "it owned no key ranges" : fmt::format("its {} key ranges go on at {}", ranges, names);
}

// Who is lost has its ranges at others. Says who owns them now.
std::string Scheduler::fail_over(Instant now, std::uint32_t server) {
  std::set<std::uint32_t> others;
  Loss loss{server, now, {}, 0, {}};
  for (const Placement& placement : map_.placement) {
    for (const PlacedRun& run : placement.runs()) {
      if (std::ranges::count(run.chain, server) > 0) others.insert(run.chain.begin(), run.chain.end());
    }
    loss.left.push_back(placement.owned_by(server) + placement.copied_by(server));
  }
  others.erase(server);
  failovers_.begin(now, server, members_.at(server_node(server)).heard, map_.epoch + 1, std::move(others));
  losses_.push_back(std::move(loss));
  std::string heirs = take_out(now, server);
  follow_goals(now);
  tell_of_copies(now);
  return heirs;
}

// The only copies of which are there.
std::string Scheduler::lost_ranges(NodeId server) const {
  const auto servers = static_cast<std::uint32_t>(std::max<std::size_t>(map_.servers.size(), 1));
  const std::uint32_t named = (server.index + (THALWEG_BUG(kWrongRangesNamed) ? 1 : 0)) % servers;
  std::string ranges;
  for (std::size_t t = 0; t < map_.placement.size(); ++t) {
    const TableSpec& table = map_.tables[t];
    if (const RangeSet owned = map_.placement[t].only_on(named); !owned.empty()) {
      ranges +=
          fmt::format("{}{} {} of {}", ranges.empty() ? "" : ", ", table.name, text_of(owned), table.ranges);
    }
  }
  return ranges;
}

}  // namespace thalweg
