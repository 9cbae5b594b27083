#include "client/group_routes.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "exchange/preface.h"

namespace thalweg {
namespace {

constexpr std::size_t kAlwaysSmall = ~std::size_t{0};
// Pieces keep a ring's links busy while ranks add, and stay in the second-level cache.
constexpr std::size_t kPieceBytes = std::size_t{128} << 10;

// From here on it pays to say where buffers are and to work on them in place, even though ranks whose buffers
// are not in group memory say so in vain.
constexpr std::size_t kSharedBytes = std::size_t{64} << 10;

Plan plan_by(Route route) {
  Plan plan;
  plan.route = route;
  return plan;
}

}  // namespace

RouteChoice::Plans::Plans(const Plan& plan, std::size_t piece_bytes) {
  by_log2_size.fill(plan);
  for (std::size_t i = 0; piece_bytes > 0 && i < kSizes; ++i) {
    by_log2_size[i].piece_elements = std::max<std::size_t>(piece_bytes >> i, 1);
  }
  for (Plan& each : by_log2_size) each.hash = hash_of(each);
}

const Plan& RouteChoice::Plans::of(std::size_t element_bytes) const {
  const auto log2_size =
      static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(element_bytes, 1) - 1));
  return by_log2_size[std::min(log2_size, kSizes - 1)];
}

Result<RouteChoice> RouteChoice::named(std::string_view name, Tuning tuning) {
  Result<Plan> plan = parse_route(name);
  if (!plan) return plan.status();
  plan->channels = tuning.channels;
  return RouteChoice(std::make_shared<const Plans>(*plan, tuning.piece_bytes));
}

std::uint32_t channels_of(const Plan& plan) {
  std::size_t lanes = 2;  // A tree's way up and its way down.
  if (plan.route == Route::kDoubleTree) lanes = 4;
  if (plan.route == Route::kRings) lanes = plan.rings.size();
  if (plan.route == Route::kPackedTrees) lanes = 2 * plan.trees.size();
  return static_cast<std::uint32_t>(plan.channels * lanes);
}

GroupRoutes::GroupRoutes() : shared_(plan_by(Route::kShared), kPieceBytes) {
  for (std::size_t i = 0; i < kOperations; ++i) {
    Route small = Route::kBinomialTree, large = Route::kBinomialTree;
    std::size_t large_from_bytes = kAlwaysSmall;
    switch (static_cast<Operation>(i)) {
      case Operation::kAllReduce:
        small = Route::kRecursiveDoubling;
        large = Route::kRing;
        large_from_bytes = std::size_t{32} << 10;
        break;
      case Operation::kBarrier:
        small = Route::kRecursiveDoubling;
        break;
      case Operation::kReduceScatter:
      case Operation::kAllGather:
        small = large = Route::kRing;
        large_from_bytes = kPieceBytes;
        break;
      case Operation::kReduce:
      case Operation::kBroadcast:
        large = Route::kChain;
        large_from_bytes = std::size_t{4} << 20;
        break;
      case Operation::kGather:
      case Operation::kScatter:
      case Operation::kAllToAll:
      case Operation::kPointToPoint:
        break;
    }
    THALWEG_CHECK(supports(static_cast<Operation>(i), small) && supports(static_cast<Operation>(i), large),
                  "the defaults are possible");
    by_operation_.push_back({{plan_by(small), 0}, {plan_by(large), kPieceBytes}, large_from_bytes});
  }
}

const Plan& GroupRoutes::choose(Operation operation, std::size_t bytes, std::size_t element_bytes,
                                bool shared) const {
  if (shared && bytes >= kSharedBytes && supports(operation, Route::kShared) &&
      operation != Operation::kBarrier) {
    return shared_.of(element_bytes);
  }
  const Choice& choice = by_operation_[static_cast<std::size_t>(operation)];
  return (bytes < choice.large_from_bytes ? choice.small : choice.large).of(element_bytes);
}

}  // namespace thalweg
