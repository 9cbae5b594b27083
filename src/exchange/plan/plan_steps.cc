#include "exchange/plan/plan_steps.h"

#include "base/check.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"

namespace thalweg {

std::vector<std::vector<LaneSteps>> steps_of(const Plan& plan, Operation operation, std::uint64_t elements,
                                             std::uint32_t ranks) {
  THALWEG_CHECK(!plan.route->in_memory, "steps in memory follow from where it is");
  Work work;
  work.operation = operation;
  work.whole = {0, elements};
  work.by_rank = ranks;
  work.piece = plan.piece_elements;
  std::vector<std::vector<LaneSteps>> steps(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::pmr::vector<Lane> lanes;
    make_lanes(work, plan, rank, ranks, {}, lanes);
    for (Lane& lane : lanes) {
      LaneSteps& of_lane = steps[rank].emplace_back();
      while (lane.next()) of_lane.push_back(lane.step());
    }
  }
  return steps;
}

}  // namespace thalweg
