#include "exchange/route/lanes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg {
namespace {

Lane alone(Work work) {
  co_yield copy(work.whole, work.in);
  co_yield finish(work.whole);
}

// Adds one route's lanes for one slice of the work.
class LaneMaker {
 public:
  LaneMaker(const Plan& plan, Team all, const std::vector<SharedPlace>& places, std::pmr::vector<Lane>& lanes)
      : plan_(plan), places_(places), all_(all), lanes_(lanes) {}

  void add(const Work& work) {
    work.operation == Operation::kAllToAll       ? lanes_.push_back(all_to_all_lane(all_, work))
    : work.operation == Operation::kPointToPoint ? lanes_.push_back(point_to_point_lane(all_.me, work))
                                                 : add_route(work);
  }

 private:
  void add_route(const Work& work) {
    const std::uint32_t me = all_.me, n = all_.size;
    switch (plan_.route) {
      case Route::kStar:
        return add_rooted(work, star_place(me, n, root_of(work)), false);
      case Route::kChain:
        return add_tree(work, chain_place(me, n, root_of(work)));
      case Route::kBinomialTree:
        return add_rooted(work, binomial_place(me, n, root_of(work)), true);
      case Route::kTree:
        return add_tree(work, kary_place(me, n, work.root, plan_.fanout));
      case Route::kDoubleTree:
        return add_double_tree(work);
      case Route::kPackedTrees:
        return add_weighted(plan_.trees, work);
      case Route::kRings:
        return add_weighted(plan_.rings, work);
      case Route::kRing:
        return lanes_.push_back(ring_lane(all_, work));
      case Route::kBidirectionalRing:
        return add_both_ways(work);
      case Route::kSpread:
        return lanes_.push_back(spread_lane(all_, work));
      case Route::kServers:
        return add_all(servers_lanes(all_, work, plan_.servers));
      case Route::kSpareServers:
        return add_all(spare_servers_lanes(all_, work, plan_.servers));
      case Route::kRecursiveDoubling:
        return lanes_.push_back(recursive_doubling_lane(all_, work));
      case Route::kHalvingDoubling:
        return lanes_.push_back(halving_doubling_lane(all_, work));
      case Route::kShared:
        return lanes_.push_back(shared_lane(all_, work, places_));
      case Route::kHierarchical:
        return lanes_.push_back(hierarchical_lane(plan_.levels, me, work));
    }
  }
  void add_all(std::vector<Lane> lanes) {
    for (Lane& lane : lanes) lanes_.push_back(std::move(lane));
  }
  // In a tree from rank 0 each rank's contribution comes before those of its children, which are in order.
  static std::uint32_t root_of(const Work& work) { return work.in_order ? 0 : work.root; }
  void add_tree(const Work& work, TreePlace place) {
    if (work.in_order && work.operation == Operation::kReduce) {
      return lanes_.push_back(ordered_reduce_lane(std::move(place), all_.me, work));
    }
    const bool contributes = all_.me < all_.size - plan_.servers;
    if (work.operation != Operation::kBroadcast) lanes_.push_back(tree_up_lane(place, work, contributes));
    if (work.operation != Operation::kReduce) lanes_.push_back(tree_down_lane(std::move(place), work));
  }
  void add_rooted(const Work& work, TreePlace place, bool binomial) {
    if (work.operation == Operation::kGather) return lanes_.push_back(gather_lane(all_, work, binomial));
    if (work.operation == Operation::kScatter) return lanes_.push_back(scatter_lane(all_, work, binomial));
    add_tree(work, std::move(place));
  }
  void add_double_tree(Work work) {
    const double begin = work.slice_begin, end = work.slice_end, middle = (begin + end) / 2;
    work.slice_end = middle;
    add_tree(work, double_tree_place(all_.me, all_.size, false));
    work.slice_begin = middle;
    work.slice_end = end;
    add_tree(work, double_tree_place(all_.me, all_.size, true));
  }
  void add_both_ways(Work work) {
    const double begin = work.slice_begin, end = work.slice_end, middle = (begin + end) / 2;
    work.slice_end = middle;
    lanes_.push_back(ring_lane(all_, work));
    work.slice_begin = middle;
    work.slice_end = end;
    const Team backwards{all_.size, all_.size - 1 - all_.me, all_.size - 1, ~0u};
    lanes_.push_back(ring_lane(backwards, work));
  }
  template <class Shape>
  void add_weighted(const std::vector<Shape>& shapes, Work work) {
    const double begin = work.slice_begin, end = work.slice_end;
    double total = 0, sum = 0, heaviest = 0;
    for (const Shape& shape : shapes) {
      total += shape.weight;
      heaviest = std::max(heaviest, shape.weight);
    }
    const auto piece = static_cast<double>(work.piece);
    for (const Shape& shape : shapes) {
      // As many pieces for each shape, so that those which share a cable get it in proportion to their
      // weights.
      work.piece = static_cast<std::uint64_t>(std::ceil(piece * shape.weight / heaviest));
      work.slice_begin = begin + (end - begin) * (sum / total);
      sum += shape.weight;
      work.slice_end = &shape == &shapes.back() ? end : begin + (end - begin) * (sum / total);
      add_shape(shape, work);
    }
  }
  void add_shape(const Ring& ring, const Work& work) {
    Team team{all_.size, 0, 0, 1, ring.order.data()};
    while (ring.order[team.me] != all_.me) ++team.me;
    lanes_.push_back(ring_lane(team, work));
  }
  void add_shape(const Tree& tree, const Work& work) { add_tree(work, place_in(tree, all_.me)); }

  const Plan& plan_;
  const std::vector<SharedPlace>& places_;
  Team all_;
  std::pmr::vector<Lane>& lanes_;
};

}  // namespace

bool touches_own_part_only(Operation operation, Route route) {
  return operation == Operation::kReduceScatter ? route == Route::kSpread || route == Route::kShared
                                                : operation == Operation::kScatter && route == Route::kStar;
}

void make_lanes(const Work& work, const Plan& plan, std::uint32_t rank, std::uint32_t ranks,
                const std::vector<SharedPlace>& places, std::pmr::vector<Lane>& lanes) {
  if (ranks == 1) {
    lanes.push_back(work.operation == Operation::kAllToAll ? all_to_all_lane({}, work) : alone(work));
    return;
  }
  LaneMaker maker(plan, {ranks, rank}, places, lanes);
  if (plan.channels == 1) return maker.add(work);
  for (std::uint32_t c = 0; c < plan.channels; ++c) {
    Work slice = work;
    slice.slice_begin = static_cast<double>(c) / plan.channels;
    slice.slice_end = static_cast<double>(c + 1) / plan.channels;
    maker.add(slice);
  }
}

}  // namespace thalweg
