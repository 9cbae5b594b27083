#include "exchange/plan/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "exchange/route/route.h"

namespace thalweg {
namespace {

constexpr std::array<const char*, kOperations> kOperationNames = {
    "all-reduce", "reduce",     "reduce-scatter", "all-gather",     "broadcast", "gather",
    "scatter",    "all-to-all", "barrier",        "point-to-point", "neighbours"};

}  // namespace

const char* operation_name(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

bool combines(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter;
}

bool has_root(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast ||
         operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kPointToPoint;
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
  std::string text = route->name;
  if (!levels.empty()) text.append(":").append(levels_text(levels));
  const RouteNumber& number = route->number;
  if (number.where && this->*number.where >= number.least)
    text.append(":").append(std::to_string(this->*number.where));
  return text;
}

namespace {

constexpr std::uint32_t kNumberMax = 4096;

// Whether all of `text` is a number of at most kNumberMax.
bool parse_number(std::string_view text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= kNumberMax;
}

// What stands behind a route's name.
Status parse_rest(std::string_view name, std::string_view rest, Plan& plan) {
  const Route& route = *plan.route;
  if (route.shape == RouteShape::kByLevels) {
    if (parse_levels(rest, plan.levels)) return ok_status();
    return {Code::kUsage,
            "route '" + std::string(name) +
                "': expected numbers of ranks per machine, machines per rack, ... such as " + route.name +
                ":4x2, each with a letter for its way if it is no ring: t (tree), h "
                "(halving-doubling), and at last d (recursive doubling), such as " +
                route.name + ":8tx4h, or with machines of 3 and of 5 ranks " + route.name + ":3+5x2"};
  }
  std::uint32_t number = 0;
  if (route.number.where && parse_number(rest, number) && number >= route.number.least) {
    plan.*route.number.where = number;
    return ok_status();
  }
  return {Code::kUsage,
          "route '" + std::string(name) + "': expected " + route.name +
              (route.number.where ? ":N with a number N of at most " + std::to_string(kNumberMax)
                                  : std::string(" alone"))};
}

bool is(const char* name, std::string_view word) { return name != nullptr && word == name; }

// Which of `among` is called so, by whatever name; null: none.
const Route* find_named(std::string_view word, std::span<const Route* const> among) {
  for (const Route* route : among) {
    if (is(route->name, word) || is(route->alias, word) || is(route->former, word)) return route;
  }
  return nullptr;
}

std::string known_names(std::span<const Route* const> own) {
  std::string names, aliases;
  for (const auto among : {routes::all(), own}) {
    for (const Route* route : among) {
      names += (names.empty() ? "" : ", ") + std::string(route->name) + (route->number.where ? ":N" : "");
      if (route->alias) aliases += ", " + std::string(route->alias);
    }
  }
  return names + aliases;
}

}  // namespace

Result<Plan> parse_route(std::string_view name, std::span<const Route* const> own) {
  const std::size_t colon = name.find(':');
  const std::string_view word = name.substr(0, colon);
  const Route *built_in = find_named(word, routes::all()), *theirs = find_named(word, own);
  if (!built_in && !theirs) {
    return Status(Code::kUsage,
                  "route '" + std::string(name) + "' is unknown; expected one of " + known_names(own));
  }
  if (built_in && theirs) {
    return Status(Code::kUsage, "route '" + std::string(name) +
                                    "': one of the application has this name, and one of Thalweg");
  }
  Plan plan;
  plan.route = theirs ? theirs : built_in;
  const RouteNumber& number = plan.route->number;
  if (number.where) plan.*number.where = number.unsaid;
  if (colon == name.npos) return plan;
  if (word != plan.route->name) {
    return Status(Code::kUsage,
                  "route '" + std::string(name) + "': expected " + std::string(word) + " alone");
  }
  if (Status status = parse_rest(name, name.substr(colon + 1), plan); !status.ok()) return status;
  return plan;
}

std::string_view present_name(std::string_view name, std::span<const Route* const> own) {
  for (const auto among : {routes::all(), own}) {
    const Route* const route = find_named(name, among);
    if (route && is(route->former, name)) return route->name;
  }
  return name;
}

Status refuse_route(std::string_view name, std::string why) {
  return {Code::kUsage, "route " + std::string(name) + ": " + std::move(why)};
}

std::uint32_t channels_of(const Plan& plan) {
  std::size_t lanes = plan.route->lanes;
  if (plan.route->shape == RouteShape::kByRings) lanes *= plan.rings.size();
  if (plan.route->shape == RouteShape::kByTrees) lanes *= plan.trees.size();
  return static_cast<std::uint32_t>(plan.channels * lanes);
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

bool supports(Operation operation, const Route& route) {
  constexpr Operations kAlways{Operation::kAllReduce, Operation::kBarrier, Operation::kAllToAll,
                               Operation::kPointToPoint};
  return kAlways.has(operation) || route.supports.has(operation);
}

bool keeps_order(Operation operation, const Route& route) {
  return !combines(operation) || route.keeps_order.has(operation);
}

namespace {

Status refuse(const Plan& plan, std::string why) { return refuse_route(plan.name(), std::move(why)); }

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

Status check_shape(const Plan& plan, std::uint32_t ranks) {
  switch (plan.route->shape) {
    case RouteShape::kByLevels: {
      std::string why = why_not_levels(plan.levels, ranks);
      return why.empty() ? ok_status() : refuse(plan, std::move(why));
    }
    case RouteShape::kByRings:
      return check_rings(plan, ranks);
    case RouteShape::kByTrees:
      return check_trees(plan, ranks);
    case RouteShape::kNone:
      break;
  }
  return ok_status();
}

}  // namespace

Status check_order(const Plan& plan, Operation operation) {
  if (keeps_order(operation, *plan.route)) return ok_status();
  std::string able;
  for (const Route* other : routes::all()) {
    if (!supports(operation, *other) || !keeps_order(operation, *other)) continue;
    able += (able.empty() ? "" : ", ") + std::string(other->name);
  }
  return refuse(plan,
                std::string(operation_name(operation)) +
                    " by a monoid that is not commutative needs the order of ranks, which this route does "
                    "not keep; expected one of " +
                    able);
}

Status check_plan(const Plan& plan, Operation operation, std::uint32_t ranks) {
  const Route& route = *plan.route;
  if (!supports(operation, route)) {
    return refuse(plan, std::string(operation_name(operation)) + " does not go this way");
  }
  if (plan.channels == 0 || plan.channels > 64) return refuse(plan, "expected 1 to 64 channels");
  if (plan.servers >= ranks) {
    return refuse(plan, std::to_string(plan.servers) + " servers leave no worker among " +
                            std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"));
  }
  if (ranks == 1) return ok_status();
  if (route.one_channel.has(operation) && plan.channels > 1) return refuse(plan, "expected one channel");
  if (route.check) {
    if (Status status = route.check(plan, operation, ranks); !status.ok()) return status;
  }
  return check_shape(plan, ranks);
}

}  // namespace thalweg
