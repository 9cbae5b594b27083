#include "exchange/plan/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace thalweg {
namespace {

constexpr std::array<const char*, kOperations> kOperationNames = {
    "all-reduce", "reduce",  "reduce-scatter", "all-gather", "broadcast",
    "gather",     "scatter", "all-to-all",     "barrier",    "point-to-point"};

struct RouteName {
  Route route;
  const char* name;
  std::uint32_t Plan::*number;  // What stands behind a colon, if anything.
};
constexpr std::array<RouteName, kRoutes + 2> kRouteNames = {{
    {Route::kStar, "gpu0", nullptr},
    {Route::kServers, "servers", &Plan::servers},
    {Route::kSpread, "spread", nullptr},
    {Route::kChain, "chain", nullptr},
    {Route::kRing, "ring", nullptr},
    {Route::kBidirectionalRing, "bidirectional-ring", nullptr},
    {Route::kRings, "rings", &Plan::ring_count},
    {Route::kBinomialTree, "binomial-tree", nullptr},
    {Route::kTree, "tree", &Plan::fanout},
    {Route::kDoubleTree, "double-tree", nullptr},
    {Route::kRecursiveDoubling, "recursive-doubling", nullptr},
    {Route::kHalvingDoubling, "halving-doubling", nullptr},
    {Route::kHierarchical, "hierarchical", nullptr},
    {Route::kPackedTrees, "packed-trees", nullptr},
    {Route::kSpareServers, "byteps", &Plan::servers},
    {Route::kShared, "shared", nullptr},
    {Route::kServers, "cpu", nullptr},
    {Route::kSpread, "colocated", nullptr},
}};

}  // namespace

const char* operation_name(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

bool combines(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter;
}

Result<Operation> parse_operation(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kOperations; ++i) {
    if (name == kOperationNames[i]) return static_cast<Operation>(i);
    known += (i ? ", " : "") + std::string(kOperationNames[i]);
  }
  return Status(Code::kUsage, "operation '" + std::string(name) + "' is unknown; expected one of " + known);
}

std::string Plan::name() const {
  for (const RouteName& known : kRouteNames) {
    if (known.route != route) continue;
    std::string text = known.name;
    for (std::size_t i = 0; i < levels.size(); ++i)
      text.append(i ? "x" : ":").append(std::to_string(levels[i]));
    const bool told = known.number && (route != Route::kRings || ring_count > 0);
    if (told) text.append(":").append(std::to_string(this->*known.number));
    return text;
  }
  return "route " + std::to_string(static_cast<int>(route));
}

namespace {

constexpr std::uint32_t kNumberMax = 4096;

// Whether all of `text` is a number of at most kNumberMax.
bool parse_number(std::string_view text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= kNumberMax;
}

// "4x2", innermost first.
bool parse_levels(std::string_view text, std::vector<std::uint32_t>& levels) {
  for (std::size_t x = 0; x != text.npos; text = text.substr(x == text.npos ? x : x + 1)) {
    x = text.find('x');
    levels.push_back(0);
    if (!parse_number(text.substr(0, x), levels.back()) || levels.back() == 0) return false;
    if (x == text.npos) break;
  }
  return true;
}

}  // namespace

Result<Plan> parse_route(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view word = name.substr(0, colon);
  std::string expected;
  for (const RouteName& known : kRouteNames) {
    expected += (expected.empty() ? "" : ", ") + std::string(known.name) + (known.number ? ":N" : "");
    if (word != known.name) continue;
    Plan plan;
    plan.route = known.route;
    if (known.route == Route::kServers) plan.servers = 1;
    if (colon == std::string_view::npos) return plan;
    const std::string_view rest = name.substr(colon + 1);
    if (plan.route == Route::kHierarchical) {
      if (parse_levels(rest, plan.levels)) return plan;
      return Status(Code::kUsage, "route '" + std::string(name) +
                                      "': expected numbers of ranks per machine, machines per rack, ... such "
                                      "as hierarchical:4x2");
    }
    std::uint32_t number = 0;
    if (!known.number || !parse_number(rest, number) || (number == 0 && plan.route == Route::kRings)) {
      return Status(Code::kUsage,
                    "route '" + std::string(name) + "': expected " + known.name +
                        (known.number ? ":N with a number N of at most " + std::to_string(kNumberMax)
                                      : std::string(" alone")));
    }
    plan.*known.number = number;
    return plan;
  }
  return Status(Code::kUsage, "route '" + std::string(name) + "' is unknown; expected one of " + expected);
}

Result<std::vector<Ring>> rings_by_stride(std::uint32_t ranks, std::uint32_t count) {
  std::vector<Ring> rings;
  const auto add = [&](std::uint32_t stride) {
    Ring& ring = rings.emplace_back();
    for (std::uint32_t i = 0, at = 0; i < ranks; ++i, at = (at + stride) % ranks) ring.order.push_back(at);
  };
  const std::uint32_t wanted = std::max(count, 1U), most = count == 0 ? 2 : count;
  for (std::uint32_t stride = 1; stride <= std::max(ranks / 2, 1U); ++stride) {
    if (std::gcd(stride, ranks) != 1) continue;
    if (rings.size() < most) add(stride);
    if (rings.size() < most && ranks - stride > stride) add(ranks - stride);
  }
  if (rings.size() >= wanted) return rings;
  return Status(Code::kUsage, "route rings:" + std::to_string(count) + ": " + std::to_string(ranks) +
                                  " ranks have " + std::to_string(rings.size()) +
                                  " rings by strides; expected at most as many");
}

bool supports(Operation operation, Route route) {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBarrier:
    case Operation::kAllToAll:
    case Operation::kPointToPoint:
      return true;
    case Operation::kReduce:
    case Operation::kBroadcast:
      return route == Route::kStar || route == Route::kChain || route == Route::kBinomialTree ||
             route == Route::kTree || route == Route::kShared;
    case Operation::kReduceScatter:
    case Operation::kAllGather:
      return route == Route::kRing || route == Route::kBidirectionalRing || route == Route::kRings ||
             route == Route::kSpread || route == Route::kHalvingDoubling || route == Route::kShared ||
             (route == Route::kRecursiveDoubling && operation == Operation::kAllGather);
    case Operation::kGather:
    case Operation::kScatter:
      return route == Route::kStar || route == Route::kBinomialTree;
  }
  return false;
}

bool keeps_order(Operation operation, Route route) {
  switch (operation) {
    case Operation::kAllReduce:
      return route == Route::kRecursiveDoubling || route == Route::kSpread ||
             keeps_order(Operation::kReduce, route);
    case Operation::kReduce:
      return route == Route::kStar || route == Route::kChain || route == Route::kBinomialTree ||
             route == Route::kShared;
    case Operation::kReduceScatter:
      return route == Route::kSpread || route == Route::kShared;
    default:
      return true;
  }
}

namespace {

Status refuse(const Plan& plan, std::string why) {
  return {Code::kUsage, "route " + plan.name() + ": " + std::move(why)};
}

Status check_rings(const Plan& plan, std::uint32_t ranks) {
  if (plan.rings.empty()) return refuse(plan, "the plan names no ring; expected one or more");
  for (const Ring& ring : plan.rings) {
    std::vector<bool> seen(ranks);
    for (const std::uint32_t rank : ring.order) {
      if (rank >= ranks || seen[rank])
        return refuse(plan, "a ring names a rank twice or one that is not there");
      seen[rank] = true;
    }
    if (ring.order.size() != ranks) return refuse(plan, "a ring leaves out a rank; expected each one once");
    if (!(ring.weight > 0)) return refuse(plan, "a ring's weight must be above 0");
  }
  return ok_status();
}

Status check_trees(const Plan& plan, std::uint32_t ranks) {
  if (plan.trees.empty()) return refuse(plan, "the plan names no tree; expected one or more");
  for (const Tree& tree : plan.trees) {
    if (tree.parent.size() != ranks || tree.root >= ranks || tree.parent[tree.root] != -1) {
      return refuse(plan, "a tree must give each rank a parent, and its root -1");
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::uint32_t at = rank;
      for (std::uint32_t steps = 0; at != tree.root; ++steps) {
        const std::int32_t parent = tree.parent[at];
        if (steps >= ranks || parent < 0 || static_cast<std::uint32_t>(parent) >= ranks) {
          return refuse(plan, "rank " + std::to_string(rank) + " has no way to the root of a tree");
        }
        at = static_cast<std::uint32_t>(parent);
      }
    }
    if (!(tree.weight > 0)) return refuse(plan, "a tree's weight must be above 0");
  }
  return ok_status();
}

}  // namespace

Status check_order(const Plan& plan, Operation operation) {
  if (keeps_order(operation, plan.route)) return ok_status();
  std::string able;
  for (std::size_t i = 0; i < kRoutes; ++i) {
    Plan other;
    other.route = static_cast<Route>(i);
    if (!supports(operation, other.route) || !keeps_order(operation, other.route)) continue;
    able += (able.empty() ? "" : ", ") + other.name();
  }
  return refuse(plan,
                std::string(operation_name(operation)) +
                    " by a monoid that is not commutative needs the order of ranks, which this route does "
                    "not keep; expected one of " +
                    able);
}

Status check_plan(const Plan& plan, Operation operation, std::uint32_t ranks) {
  if (!supports(operation, plan.route)) {
    return refuse(plan, std::string(operation_name(operation)) + " does not go this way");
  }
  if (plan.channels == 0 || plan.channels > 64) return refuse(plan, "expected 1 to 64 channels");
  if (ranks == 1) return ok_status();
  const bool doubles = plan.route == Route::kHalvingDoubling || plan.route == Route::kRecursiveDoubling;
  const bool by_part = operation == Operation::kReduceScatter || operation == Operation::kAllGather;
  if (doubles && by_part && plan.channels > 1) return refuse(plan, "expected one channel");
  if (plan.route == Route::kShared && plan.channels > 1) return refuse(plan, "expected one channel");
  const bool one_owner = plan.route == Route::kServers && plan.servers == 1;
  if (operation == Operation::kBarrier && plan.servers > 0 && !one_owner) {
    return refuse(plan, "a barrier is about one number, and would not wait for servers that own none of it");
  }
  switch (plan.route) {
    case Route::kServers:
      if (plan.servers == 0) return refuse(plan, "expected a server or more");
      break;
    case Route::kTree:
      if (plan.fanout == 0) return refuse(plan, "expected a fan-out above 0");
      break;
    case Route::kHierarchical: {
      std::uint64_t product = 1;
      for (const std::uint32_t level : plan.levels) product *= level;
      if (plan.levels.empty() || product != ranks) {
        return refuse(plan, "its levels must multiply to the " + std::to_string(ranks) + " ranks");
      }
      break;
    }
    case Route::kRings:
      if (Status status = check_rings(plan, ranks); !status.ok()) return status;
      break;
    case Route::kPackedTrees:
      if (Status status = check_trees(plan, ranks); !status.ok()) return status;
      break;
    default:
      break;
  }
  if (plan.servers >= ranks) {
    return refuse(plan, std::to_string(plan.servers) + " servers leave no worker among " +
                            std::to_string(ranks) + " ranks");
  }
  return ok_status();
}

}  // namespace thalweg
