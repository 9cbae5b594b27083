#include "exchange/route/lanes.h"

#include "exchange/route/route.h"

namespace thalweg {
namespace {

Lane alone(Work work) {
  if (work.operation == Operation::kNeighbours) co_return;
  co_yield copy(work.whole, work.in);
  co_yield finish(work.whole);
}

void add_slice(const Work& work, LaneMaker& to) {
  work.operation == Operation::kAllToAll       ? to.add(all_to_all_lane(to.all, work))
  : work.operation == Operation::kNeighbours   ? to.add(neighbours_lane(to.all, work))
  : work.operation == Operation::kPointToPoint ? to.add(point_to_point_lane(to.all.me, work))
                                               : to.plan.route->add_lanes(work, to);
}

}  // namespace

void make_lanes(const Work& work, const Plan& plan, std::uint32_t rank, std::uint32_t ranks,
                const std::vector<SharedPlace>& places, std::pmr::vector<Lane>& lanes) {
  if (ranks == 1) {
    lanes.push_back(work.operation == Operation::kAllToAll ? all_to_all_lane({}, work) : alone(work));
    return;
  }
  LaneMaker to{plan, {ranks, rank}, places, lanes};
  if (plan.channels == 1) return add_slice(work, to);
  for (std::uint32_t c = 0; c < plan.channels; ++c) {
    Work slice = work;
    slice.slice_begin = static_cast<double>(c) / plan.channels;
    slice.slice_end = static_cast<double>(c + 1) / plan.channels;
    add_slice(slice, to);
  }
}

}  // namespace thalweg
