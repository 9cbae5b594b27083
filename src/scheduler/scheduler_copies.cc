// The part of Scheduler that has copies of a lost server made again, and of one that is to leave made before,
// by servers that join its chains.
#include <fmt/format.h>

#include <algorithm>

#include "placement/placement.h"
#include "scheduler/scheduler.h"

namespace thalweg {

// Of each chain that is too short, one joiner at a time, by the next map: who has the fewest of the table's
// ranges, and of all. A unit goes to one of them, for its entries have one order. Who is to leave does not
// count, and gets nothing more.
void Scheduler::plan_copies() {
  std::map<std::uint32_t, std::size_t> of_all;
  for (const auto& [id, member] : members_) {
    if (stays(id, member)) of_all[id.index] = 0;
  }
  const auto leaves = [&](std::uint32_t server) { return leaving_ == server; };
  for (std::size_t t = 0; t < map_.placement.size(); ++t) {
    Placement& placement = map_.placement[t];
    std::map<std::uint32_t, std::size_t> here;
    for (const PlacedRun& run : placement.runs()) {
      for (const std::uint32_t server : run.chain) here[server] += run.ranges.size();
    }
    for (const RangeSpan unit : chain_units(map_.tables[t].ranges, options_.servers)) {
      const PlacedRun& run = placement.run_of(RangeId{unit.begin});
      const Goal* goal = growth_.find(t, unit);
      const bool one_more = std::ranges::any_of(run.chain, leaves) || goal != nullptr;
      const std::size_t wanted = copies_wanted() + (one_more ? 1 : 0);
      if (run.joining != 0 || run.chain.size() >= wanted) continue;
      std::optional<std::uint32_t> least;
      const auto load = [&](std::uint32_t server) { return std::pair(here[server], of_all[server]); };
      for (const auto& [server, ranges] : of_all) {
        if (std::ranges::count(run.chain, server) > 0) continue;
        if (!least || load(server) < load(*least)) least = server;
      }
      if (goal != nullptr && std::ranges::count(run.chain, goal->server) == 0) least = goal->server;
      if (!least) continue;
      here[*least] += unit.size();
      std::vector<std::uint32_t> chain = run.chain;
      chain.push_back(*least);
      placement.move(unit, std::move(chain), map_.epoch + 1);
    }
    for (auto& [server, ranges] : of_all) ranges += here[server];
  }
}

void Scheduler::on_joined(Instant now, NodeId from, const Frame& frame, Transport& out) {
  const auto message = wire::decode_joined(frame.first);
  if (!message || !started() || stopped_ || from.role != Role::kServer || members_.at(from).gone()) return;
  bool changed = false;
  for (const wire::Joined::Run& run : message->runs) {
    const std::size_t t = run.table.value;
    if (t >= map_.placement.size()) continue;
    RangeSet joined = map_.placement[t].end_join(run.ranges, from.index, run.joining);
    changed = changed || !joined.empty();
    note_copied(from.index, t, joined);
    for (Loss& loss : losses_) {
      const RangeSet left = loss.left[t] - joined, made = loss.left[t] - left;
      if (made.empty()) continue;
      loss.made += made.size();
      loss.by.insert(from.index);
      loss.left[t] = left;
      joined = joined - made;
    }
  }
  if (!changed) return;  // It has been said before, or of an attempt that was given up.
  follow_goals(now);
  tell_of_copies(now);
  let_go(now, out);
  publish(out);
}

// A loss of which nothing is left that anybody joins is over.
void Scheduler::tell_of_copies(Instant now) {
  std::erase_if(losses_, [&](Loss& loss) {
    bool over = true;
    for (std::size_t t = 0; t < map_.placement.size(); ++t) {
      RangeSet joined;
      for (const PlacedRun& run : map_.placement[t].runs()) {
        if (run.joining != 0) joined.add(run.ranges);
      }
      loss.left[t] = loss.left[t] - (loss.left[t] - joined);
      over = over && loss.left[t].empty();
    }
    if (!over || loss.made == 0) return over;
    const NodeId lost = server_node(loss.server);
    const std::string text =
        fmt::format("copies of {} key ranges of {} made again in {:.0f} ms at {}", loss.made, node_name(lost),
                    std::chrono::duration<double, std::milli>(now - loss.at).count(), names_of(loss.by));
    timeline_.add(now, JobEvent::Kind::kCopied, lost, text);
    tell_event(text);
    return true;
  });
}

std::uint32_t Scheduler::ranges_in_sync() const {
  const std::size_t wanted = copies_wanted();
  std::uint32_t ranges = 0;
  for (const Placement& placement : map_.placement) {
    for (const PlacedRun& run : placement.runs())
      if (run.in_sync().size() >= wanted) ranges += run.ranges.size();
  }
  return ranges;
}

}  // namespace thalweg
