// What is to be done, and which way: an operation and the route that it takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/operation.h"
#include "thalweg/status.h"

namespace thalweg {

const char* operation_name(Operation operation);  // "all-reduce"
Result<Operation> parse_operation(std::string_view name);
bool combines(Operation operation);  // Elements, not merely moves them.

enum class Route : std::uint8_t {
  kStar,     // All to one rank and back ("gpu0").
  kServers,  // The last `servers` ranks own the parts and contribute nothing ("cpu", "servers:N").
  kSpread,   // Each rank owns a part, all talk to all ("spread", "colocated").
  kChain,    // Rank after rank, then back.
  kRing,
  kBidirectionalRing,  // Half of the bytes each way.
  kRings,              // Plan::rings, bytes split by weight.
  kBinomialTree,
  kTree,        // k-ary, Plan::fanout ("tree:K").
  kDoubleTree,  // Two binary trees, inner nodes of one being leaves of the other.
  kRecursiveDoubling,
  kHalvingDoubling,  // Rabenseifner.
  kHierarchical,     // Inside machines, between them, back; Plan::levels.
  kPackedTrees,      // Plan::trees, bytes split by weight.
  kSpareServers,     // BytePS: ranks own parts, the last `servers` ranks own larger ones ("byteps:N").
  kShared,  // In the memory of one machine, where buffers are in group memory; else by ring and tree.
};
inline constexpr std::size_t kRoutes = 16;

// One cycle through all ranks, or one tree; `weight` is its share of the bytes.
struct Ring {
  std::vector<std::uint32_t> order;
  double weight = 1;
};
struct Tree {
  std::uint32_t root = 0;
  std::vector<std::int32_t> parent;  // By rank; -1 for the root.
  double weight = 1;
};

struct Plan {
  Route route = Route::kRing;
  std::uint64_t piece_elements = 0;  // Blocks travel in pieces of at most this many; 0: whole.
  std::uint32_t channels = 1;        // Equal parts of the vector, each a lane of its own.
  std::uint32_t servers = 0;
  std::uint32_t fanout = 2;
  std::vector<std::uint32_t>
      levels;                    // Hierarchical: ranks per machine, machines per rack, ...; product = ranks.
  std::uint32_t ring_count = 0;  // Of `rings` that are still to be made, by rings_by_stride(); 0: two.
  std::vector<Ring> rings;
  std::vector<Tree> trees;
  std::uint64_t hash = 0;    // hash_of() the rest, for plans that serve many operations; 0: not known.
  std::string name() const;  // "tree:8", as parse_route() takes it.
};

// A plan with that route and defaults elsewhere: "ring", "servers:2", "tree:8", "gpu0", "hierarchical:4x2".
Result<Plan> parse_route(std::string_view name);
// `count` rings through all ranks, each by strides of its own that have no factor in common with `ranks`: 1,
// then the way back, then 2 and back, ... No two use a cable the same way. 0: two, or one where there are no
// more. kUsage when there are fewer.
Result<std::vector<Ring>> rings_by_stride(std::uint32_t ranks, std::uint32_t count);
bool supports(Operation operation, Route route);
// Whether contributions combine in the order of ranks, as a monoid that does not commute needs it.
bool keeps_order(Operation operation, Route route);
// OK, or which routes do that instead.
Status check_order(const Plan& plan, Operation operation);
// OK, or why `ranks` ranks cannot do that.
Status check_plan(const Plan& plan, Operation operation, std::uint32_t ranks);

}  // namespace thalweg
