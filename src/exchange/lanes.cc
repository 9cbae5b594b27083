#include "exchange/lanes.h"

namespace thalweg {
namespace {

Lane alone(Work work) {
  co_yield copy(work.whole, work.in);
  co_yield finish(work.whole);
}

}  // namespace

bool touches_own_part_only(Operation operation, Route route) {
  return operation == Operation::kReduceScatter ? route == Route::kSpread
                                                : operation == Operation::kScatter && route == Route::kStar;
}

std::vector<Lane> make_lanes(const Work& work, const Plan& plan, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<Lane> lanes;
  const Team all{.size = ranks, .me = rank};
  if (ranks == 1) {
    lanes.push_back(alone(work));
    return lanes;
  }
  if (plan.route == Route::kRing) lanes.push_back(ring_lane(all, work));
  return lanes;
}

}  // namespace thalweg
