// The part of Scheduler that gives servers which come to a job that runs their part of its key ranges. They
// come behind the others in chains, as one does that makes copies again; once they have what those have,
// others leave the chains of these units, until the newcomer is where it is to be.
#include <fmt/format.h>

#include <algorithm>

#include "base/coverage/reached.h"
#include "base/planted.h"
#include "placement/placement.h"
#include "scheduler/scheduler.h"
#include "staleness/step_policy.h"

namespace thalweg {
namespace {

bool has(const PlacedRun& run, std::uint32_t server) { return std::ranges::count(run.chain, server) > 0; }

// Of one table: how many ranges each server owns, and how many it has, once all goals are reached.
struct Loads {
  std::map<std::uint32_t, std::size_t> owned, kept;
};

// A unit of whoever owns most; empty where one more would only swap who has most.
std::optional<RangeSpan> unit_to_own(const Placement& placement, std::span<const RangeSpan> free,
                                     std::uint32_t newcomer, Loads& loads) {
  const RangeSpan* best = nullptr;
  const auto owned_with = [&](RangeSpan unit) {
    return loads.owned[placement.run_of(RangeId{unit.begin}).chain.front()];
  };
  for (const RangeSpan& unit : free) {
    if (best == nullptr || owned_with(unit) > owned_with(*best)) best = &unit;
  }
  if (best == nullptr || loads.owned[newcomer] + best->size() >= owned_with(*best)) return {};
  const std::uint32_t before = placement.run_of(RangeId{best->begin}).chain.front();
  for (auto* const load : {&loads.owned, &loads.kept}) {
    (*load)[before] -= best->size();
    (*load)[newcomer] += best->size();
  }
  return *best;
}

// A unit that somebody who has most keeps a copy of.
std::optional<RangeSpan> unit_to_keep(const Placement& placement, std::span<const RangeSpan> free,
                                      std::uint32_t newcomer, Loads& loads) {
  std::optional<RangeSpan> best;
  std::uint32_t from = 0;
  for (const RangeSpan unit : free) {
    for (const std::uint32_t server : placement.run_of(RangeId{unit.begin}).in_sync().subspan(1)) {
      const bool more = !best || loads.kept[server] > loads.kept[from];
      if (server != newcomer && more) best = unit, from = server;
    }
  }
  if (!best || loads.kept[newcomer] + best->size() >= loads.kept[from]) return {};
  loads.kept[from] -= best->size();
  loads.kept[newcomer] += best->size();
  return best;
}

}  // namespace

// Before the job begins, a server that is lost holds its seat only until another one comes.
bool Scheduler::has_free_seat() const {
  return !started() && !THALWEG_BUG(kSeatKept) ? count(Role::kServer, true) < options_.servers
                                               : count(Role::kServer, false) < options_.servers;
}

// Where all seats are held, one who is lost gives way, for good: never two for one seat.
void Scheduler::free_seat() {
  if (started()) return;
  const auto holds = [](const auto& entry) {
    return entry.first.role == Role::kServer && !entry.second.dead;
  };
  if (std::ranges::count_if(members_, holds) < options_.servers) return;
  const auto lost =
      std::ranges::find_if(members_, [&](const auto& entry) { return holds(entry) && entry.second.lost; });
  if (lost == members_.end()) return;
  THALWEG_REACHED(kSeatTaken);
  lost->second.dead = true;
}

// Whether a server may join a job that runs.
Status Scheduler::may_come() const {
  const auto no = [](const std::string& why) { return Status(Code::kRefused, "no server can join: " + why); };
  if (!started()) {
    return no(fmt::format("the job has all its servers, {} of {}, expected more once it has begun",
                          options_.servers, options_.servers));
  }
  if (!keeps_copies(options_.consistency)) {
    return no(
        "which pushes make an update depends on who gets them, expected a job in sync, bounded or async "
        "mode");
  }
  if (placed_) return no("key ranges have been placed by hand, expected them as a job begins");
  return ok_status();
}

// By the next map its address is known. It gets nothing before it can be spoken to.
void Scheduler::list_server(std::uint32_t server) {
  if (server < map_.servers.size()) return;
  map_.servers.push_back(members_.at(server_node(server)).address);
  ++map_.late_servers;
}

void Scheduler::welcome_server(Instant now, std::uint32_t server, Transport& out) {
  growth_.waiting.push_back({server, now});
  tell_event(describe_member(server_node(server)) + " joined; key ranges are to come to it");
  grow(now);
  follow_goals(now);
  publish(out);
}

// Who has waited longest, where nobody else comes or goes. The next map has what follows from that.
void Scheduler::grow(Instant now) {
  if (leaving_ || !growth_.goals.empty() || growth_.waiting.empty()) return;
  growth_.now = growth_.waiting.front();
  growth_.waiting.pop_front();
  aim(growth_.now->server);
  follow_goals(now);
}

// Tables alike, for keys are spread over their ranges by chance.
void Scheduler::aim(std::uint32_t newcomer) {
  const std::uint32_t wanted = copies_wanted();
  for (std::size_t t = 0; t < map_.placement.size(); ++t) {
    const Placement& placement = map_.placement[t];
    std::vector<RangeSpan> free;
    Loads loads;
    for (const RangeSpan unit : chain_units(map_.tables[t].ranges, options_.servers)) {
      const PlacedRun& run = placement.run_of(RangeId{unit.begin});
      if (!has(run, newcomer)) free.push_back(unit);
      loads.owned[run.chain.front()] += unit.size();
      for (const std::uint32_t server : run.chain) loads.kept[server] += unit.size();
    }
    const auto take = [&](RangeSpan unit, bool owns) {
      growth_.goals.push_back({t, unit, newcomer, owns});
      std::erase(free, unit);
    };
    for (const RangeSpan unit : std::vector(free)) {  // Of which nobody else could have a copy.
      const PlacedRun& run = placement.run_of(RangeId{unit.begin});
      if (run.joining == 0 && run.chain.size() < wanted) take(unit, false);
    }
    // Others must be there to keep what it owns, while those before it leave.
    while (count(Role::kServer, true) > wanted) {
      const auto unit = unit_to_own(placement, free, newcomer, loads);
      if (!unit) break;
      take(*unit, true);
    }
    while (wanted > 1) {
      const auto unit = unit_to_keep(placement, free, newcomer, loads);
      if (!unit) break;
      take(*unit, false);
    }
  }
}

// Whoever is too many in a chain leaves it: of those before one who is to own the unit, its owner last.
void Scheduler::trim_chains() {
  for (std::size_t t = 0; t < map_.placement.size(); ++t) {
    Placement& placement = map_.placement[t];
    std::map<std::uint32_t, std::size_t> kept;
    for (const PlacedRun& run : placement.runs()) {
      for (const std::uint32_t server : run.chain) kept[server] += run.ranges.size();
    }
    for (const RangeSpan unit : chain_units(map_.tables[t].ranges, options_.servers)) {
      PlacedRun run = placement.run_of(RangeId{unit.begin});
      const Goal* goal = growth_.find(t, unit);
      const bool one_leaves = leaving_ && has(run, *leaving_);
      const std::size_t wanted = copies_wanted() + (one_leaves ? 1 : 0);
      if (run.joining != 0 && !THALWEG_BUG(kTrimmedEarly)) continue;
      while (run.chain.size() > wanted) {
        auto victim = std::prev(run.chain.end());
        if (goal != nullptr && has(run, goal->server)) {
          const auto target = std::ranges::find(run.chain, goal->server);
          victim = goal->owns && target != run.chain.begin()
                       ? (target - run.chain.begin() > 1 ? std::prev(target) : run.chain.begin())
                       : std::max_element(run.chain.begin() + 1, run.chain.end(), [&](auto a, auto b) {
                           const auto load = [&](std::uint32_t s) { return s == goal->server ? 0 : kept[s]; };
                           return load(a) < load(b);
                         });
        }
        if (leaving_ == *victim) break;
        kept[*victim] -= unit.size();
        run.chain.erase(victim);
        placement.move(unit, run.chain);
      }
    }
  }
}

// Whether the unit has yet to come to the server of its goal, so that its chain is to have one more.
bool Scheduler::is_ahead(const Goal& goal) const {
  const PlacedRun& run = map_.placement[goal.table].run_of(RangeId{goal.unit.begin});
  if (run.joining != 0 || run.chain.size() > copies_wanted()) return true;
  return goal.owns ? run.chain.front() != goal.server : !has(run, goal.server);
}

// One step of all goals: those who have come in sync let others go, who is missing is planned to come next.
void Scheduler::follow_goals(Instant now) {
  const auto owners = [&] {
    std::vector<RangeSet> owned;
    for (const Placement& placement : map_.placement) {
      for (const auto& [id, member] : members_) {
        if (id.role == Role::kServer) owned.push_back(placement.owned_by(id.index));
      }
    }
    return owned;
  };
  const auto before = owners();
  trim_chains();
  std::erase_if(growth_.goals, [&](const Goal& goal) { return !is_ahead(goal); });
  plan_copies();
  if (owners() != before) tell(checkpoints_.on_moved());
  if (!growth_.goals.empty()) return;
  if (const auto newcomer = std::exchange(growth_.now, std::nullopt)) tell_grown(now, *newcomer);
  grow(now);
}

void Scheduler::tell_grown(Instant now, const Growth::Newcomer& newcomer) {
  THALWEG_REACHED(kNewcomerServed);
  std::size_t owned = 0, copied = 0;
  for (const Placement& placement : map_.placement) {
    owned += placement.owned_by(newcomer.server).size();
    copied += placement.copied_by(newcomer.server).size();
  }
  const NodeId node = server_node(newcomer.server);
  const std::string copies = copies_wanted() > 1 ? fmt::format(" and copies of {}", copied) : "";
  const std::string what = owned + copied == 0
                               ? std::string("it has no key ranges: there are too few of them")
                               : fmt::format("it has {} key ranges{}, after {:.3f} s", owned, copies,
                                             std::chrono::duration<double>(now - newcomer.at).count());
  timeline_.add(now, JobEvent::Kind::kShared, node, what);
  tell_event(fmt::format("{} takes part; {}", node_name(node), what));
}

// Once `lost` is taken for lost: what it was to have stays, and what takes more servers than there are.
void Scheduler::keep_growing(std::uint32_t lost) {
  const auto is_lost = [&](const Growth::Newcomer& one) { return one.server == lost; };
  std::erase_if(growth_.waiting, is_lost);
  if (growth_.now && is_lost(*growth_.now)) {
    THALWEG_REACHED(kNewcomerLost);
    growth_.now.reset();
  }
  const bool enough = count(Role::kServer, true) > copies_wanted();
  std::erase_if(growth_.goals,
                [&](const Goal& goal) { return goal.server == lost || (goal.owns && !enough); });
}

}  // namespace thalweg
