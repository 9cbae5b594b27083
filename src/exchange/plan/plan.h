// What is to be done, and which way: an operation and the route that it takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/levels/plan_level.h"
#include "exchange/route/routes.h"
#include "thalweg/operation.h"
#include "thalweg/status.h"

namespace thalweg {

const char* operation_name(Operation operation);  // "all-reduce"
Result<Operation> parse_operation(std::string_view name);
bool combines(Operation operation);  // Elements, not merely moves them.
bool has_root(Operation operation);  // A rank that is called so; point to point: the sender.

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
  const Route* route = &routes::kRing;
  std::uint64_t piece_elements = 0;  // Blocks travel in pieces of at most this many; 0: whole.
  std::uint32_t channels = 1;        // Equal parts of the vector, each a lane of its own.
  std::uint32_t servers = 0;
  std::uint32_t fanout = 2;
  PlanLevels levels;             // Hierarchical: ranks per machine, machines per rack, ...; product = ranks.
  std::uint32_t ring_count = 0;  // Of `rings` that are still to be made, by rings_by_stride(); 0: two.
  std::vector<Ring> rings;
  std::vector<Tree> trees;
  std::uint64_t hash = 0;    // hash_of() the rest, for plans that serve many operations; 0: not known.
  std::string name() const;  // "tree:8", as parse_route() takes it.
};

// A plan with that route and defaults elsewhere: "ring", "servers:2", "tree:8", "star", "hierarchical:4tx2".
// `own`: the application's routes, beside those of routes.h; they outlive the plan, and all ranks give the
// same. Errors: kUsage, with the names there are.
Result<Plan> parse_route(std::string_view name, std::span<const Route* const> own = {});
// The same name, or the present one of a route that is called by a former name ("gpu0").
std::string_view present_name(std::string_view name, std::span<const Route* const> own = {});
Status refuse_route(std::string_view name, std::string why);  // kUsage.
// Channels that an operation by this plan uses at most.
std::uint32_t channels_of(const Plan& plan);
// Channels that what a group chooses by itself uses at most.
inline constexpr std::uint32_t kChosenChannelsMax = 8;
// `count` rings through all ranks, each by strides of its own that have no factor in common with `ranks`: 1,
// then the way back, then 2 and back, ... No two use a cable the same way. 0: two, or one where there are no
// more. kUsage when there are fewer.
Result<std::vector<Ring>> rings_by_stride(std::uint32_t ranks, std::uint32_t count);
bool supports(Operation operation, const Route& route);
// Whether contributions combine in the order of ranks, as a monoid that does not commute needs it.
bool keeps_order(Operation operation, const Route& route);
// OK, or which routes do that instead.
Status check_order(const Plan& plan, Operation operation);
// OK, or why `ranks` ranks cannot do that.
Status check_plan(const Plan& plan, Operation operation, std::uint32_t ranks);

}  // namespace thalweg
