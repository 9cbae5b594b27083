#include "exchange/plan.h"

#include <array>
#include <charconv>

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
    {Route::kRings, "rings", nullptr},
    {Route::kBinomialTree, "binomial-tree", nullptr},
    {Route::kTree, "tree", &Plan::fanout},
    {Route::kDoubleTree, "double-tree", nullptr},
    {Route::kRecursiveDoubling, "recursive-doubling", nullptr},
    {Route::kHalvingDoubling, "halving-doubling", nullptr},
    {Route::kHierarchical, "hierarchical", nullptr},
    {Route::kPackedTrees, "packed-trees", nullptr},
    {Route::kSpareServers, "byteps", &Plan::servers},
    {Route::kServers, "cpu", nullptr},
    {Route::kSpread, "colocated", nullptr},
}};

}  // namespace

const char* operation_name(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
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
    return known.number ? std::string(known.name) + ":" + std::to_string(this->*known.number) : known.name;
  }
  return "route " + std::to_string(static_cast<int>(route));
}

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
    const std::string_view digits = name.substr(colon + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (!known.number || error != std::errc() || end != digits.data() + digits.size() || number > 4096) {
      return Status(Code::kUsage, "route '" + std::string(name) + "': expected " + known.name +
                                      (known.number ? ":N with a number N of at most 4096" : " alone"));
    }
    plan.*known.number = number;
    return plan;
  }
  return Status(Code::kUsage, "route '" + std::string(name) + "' is unknown; expected one of " + expected);
}

}  // namespace thalweg
