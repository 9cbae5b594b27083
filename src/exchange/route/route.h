// What is to be known of one route: its names, what it does, its lanes, how it is laid out and what it costs.
// A route is a constant of this type in a file of its own; functions that are null have the default that is
// said.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "exchange/plan/plan.h"
#include "thalweg/operation.h"
#include "thalweg/status.h"

namespace thalweg {

struct Demand;
struct LaneMaker;
struct Layout;
class RoundCosts;
class Topology;
struct Work;

// A set of them.
class Operations {
 public:
  constexpr Operations(std::initializer_list<Operation> members) {
    for (const Operation each : members) bits_ |= 1U << static_cast<unsigned>(each);
  }
  static constexpr Operations all() {
    Operations made{};
    made.bits_ = ~0U;
    return made;
  }
  constexpr bool has(Operation operation) const { return bits_ >> static_cast<unsigned>(operation) & 1; }

 private:
  std::uint32_t bits_ = 0;
};

// What stands behind a route's name and a colon: "tree:8".
struct RouteNumber {
  std::uint32_t Plan::*where = nullptr;  // Null: nothing does.
  std::uint32_t unsaid = 0;              // Of the name alone.
  std::uint32_t least = 0;               // That may be said.
};

// What else of a plan a route goes by; whoever lays it out, or the group, fills that in.
enum class RouteShape : std::uint8_t {
  kNone,
  kByLevels,  // Plan::levels, which may also stand behind its name: "hierarchical:4x2".
  kByRings,   // Plan::rings.
  kByTrees,   // Plan::trees, which follow cables, so that groups have none.
};

constexpr std::uint32_t route_id(std::string_view name) {  // FNV-1a.
  std::uint32_t hash = 2166136261U;
  for (const char each : name) hash = (hash ^ static_cast<unsigned char>(each)) * 16777619U;
  return hash;
}

struct Route {
  const char* name = "";          // "tree".
  const char* alias = nullptr;    // Another name, which takes no number: "cpu".
  const char* former = nullptr;   // One that it had, which is understood and never shown: "gpu0".
  const char* summary = nullptr;  // Which way, as the documentation has it.
  RouteNumber number{};
  RouteShape shape = RouteShape::kNone;

  // Beside all-reduce, barrier, all-to-all and point to point, which every route does.
  Operations supports{};
  // Of those that combine: contributions combine in the order of ranks, if asked to.
  Operations keeps_order{};
  // A rank's kWork holds its own part and nothing else.
  Operations touches_own_part_only{};
  Operations one_channel{};    // Its lanes cannot be doubled.
  bool root_receives = false;  // Of a broadcast the root gets back some of what it has sent.
  bool makes_lists = false;    // Of ranks, which take memory each time.
  bool in_memory = false;      // Goes through the memory of one machine, which no network carries.
  // OK, or what else of a plan for that many ranks is impossible. Null: nothing.
  Status (*check)(const Plan& plan, Operation operation, std::uint32_t ranks) = nullptr;

  // Adds one rank's lanes for one slice of an operation that it supports, all-to-all and point to point
  // aside.
  void (*add_lanes)(const Work& work, LaneMaker& to) = nullptr;
  std::uint32_t lanes = 1;  // At most so many; by rings or trees: for each of them.

  // As simulations try it, by name; those with servers besides with as many as a topology has.
  const char* tried[2] = {};
  // Fills in what the topology decides, and may choose another route. Null: nothing.
  Status (*lay_out)(const Topology& topology, const Demand& demand, Layout& layout) = nullptr;
  // Into pieces and slices that overlap. Null: it stays whole.
  void (*cut)(const Demand& demand, Layout& layout) = nullptr;

  // Of an all-reduce, see cost.h: seconds for moving the bytes (null only if in_memory), bytes that the rank
  // which adds most adds to others (null: S(N-1)/N), bytes of blocks that are sent when no cache has them any
  // more (null: S), and messages of all ranks in one channel of so many bytes (null: 2N, in pieces).
  double (*seconds)(RoundCosts& costs, const Demand& demand, const Layout& layout) = nullptr;
  double (*added_bytes)(const Demand& demand, const Layout& layout) = nullptr;
  double (*fetched_bytes)(const Demand& demand, const Layout& layout, double cache_bytes) = nullptr;
  double (*messages)(const Demand& demand, const Layout& layout) = nullptr;

  std::uint32_t id = route_id(name);  // What ranks tell each other.
};

// Null where `routes::all()` has none of that id.
const Route* find_route(std::uint32_t id);

}  // namespace thalweg
