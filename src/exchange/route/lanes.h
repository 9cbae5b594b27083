// What routes make their lanes from; each route's own file says its steps, bytes and time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "exchange/lane.h"
#include "exchange/plan/plan.h"
#include "exchange/route/team.h"
#include "exchange/route/tree_shape.h"
#include "exchange/shared_place.h"

namespace thalweg {

// What a lane is to do: an operation on `whole`, or on a slice of it.
struct Work {
  Operation operation{};
  Block whole{};
  const std::uint64_t* parts = nullptr;  // Where the members' parts begin, and the end; null: nearly equal.
  const std::uint64_t* parts_out = nullptr;  // All-to-all: of kWork.
  std::uint32_t by_rank = 0;  // So many ranks have parts, and a member that of its rank; 0: of its place.
  std::uint32_t every = 0;    // By rank: a member's part is those of all ranks at multiples of this distance.
  const PartLists* lists = nullptr;  // By rank: a member's part is those of these; outlives the lane.
  std::uint64_t piece = 0;           // Elements; 0: whole blocks.
  std::uint64_t staged = 0;          // Elements that a staging area holds of each part.
  std::uint32_t root = 0;            // Rank.
  std::uint32_t peer = 0;            // Point to point: the rank that receives.
  std::span<const std::uint32_t> neighbours{};  // Ranks.
  Buffer in = Buffer::kIn;                      // Where the team's contributions are.
  bool in_place = false;                        // kIn and kWork are the same memory.
  bool in_order = false;                        // Contributions combine in the order of ranks.
  bool finishes = true;                         // What is summed up here is the operation's result.
  double slice_begin = 0, slice_end = 1;        // Of every part, or of the whole.
  std::pmr::memory_resource* frames = nullptr;  // For lanes; null: any.

  Block slice(Block block) const {
    const auto at = [&block](double share) {
      return static_cast<std::uint64_t>(std::llround(static_cast<double>(block.count) * share));
    };
    if (slice_begin == 0 && slice_end == 1) return block;
    return {block.begin + at(slice_begin), at(slice_end) - at(slice_begin)};
  }
  Block all() const { return slice(whole); }
  Block part(const Team& team, std::uint32_t member) const {
    return part_at(team, by_rank ? team.rank(member) : member);
  }
  Block part_at(const Team& team, std::uint32_t index) const {
    return slice(parts ? Block{parts[index], parts[index + 1] - parts[index]}
                       : part_of(whole, by_rank ? by_rank : team.size, index));
  }
};

// The parts of some members of a team, in pieces; as one where they lie side by side.
class PartPieces {
 public:
  PartPieces(Block block, std::uint64_t piece) : piece_(piece), pieces_(block, piece) {}
  PartPieces(const Work& work, const Team& team, std::uint32_t member)
      : PartPieces(work, team, member, member + 1, work.piece) {}
  // Of members [first, last).
  PartPieces(const Work& work, const Team& team, std::uint32_t first, std::uint32_t last, std::uint64_t piece)
      : work_(&work), team_(team), first_(first), piece_(piece), pieces_({}, 0) {
    if (work.lists) {
      begin_lists(last);
      return;
    }
    const bool in_a_row = work.by_rank == 0 || (team.stride == 1 && !team.order);
    merged_ = in_a_row && work.slice_begin == 0 && work.slice_end == 1 ? last - first : 1;
    blocks_ = (last - first) / merged_ * (work.every ? work.by_rank / work.every : 1);
    members_ = last - first;
    pieces_ = Pieces(block(0), piece);
  }

  bool next() {
    if (index_ == pieces_.size()) {
      if (listed_ ? !next_listed() : ++block_ >= blocks_) return false;
      if (!listed_) pieces_ = Pieces(block(block_), piece_);
      index_ = 0;
    }
    now_ = pieces_[index_++];
    return true;
  }
  Block piece() const { return now_; }

 private:
  // As if a block had just ended.
  void begin_lists(std::uint32_t last) {
    listed_ = true;
    members_ = last;
    index_ = pieces_.size();
  }
  // The next rank's part, and those behind it that lie side by side with it.
  bool next_listed() {
    const PartLists& lists = *work_->lists;
    while (first_ < members_ && block_ == lists[first_].size()) {
      ++first_;
      block_ = 0;
    }
    if (first_ == members_) return false;
    const std::vector<std::uint32_t>& list = lists[first_];
    const bool whole = work_->slice_begin == 0 && work_->slice_end == 1;
    const std::uint32_t begin = block_++;
    while (whole && block_ < list.size() && list[block_] == list[block_ - 1] + 1) ++block_;
    const Block from = work_->part_at(team_, list[begin]);
    pieces_ = Pieces({from.begin, work_->part_at(team_, list[block_ - 1]).end() - from.begin}, piece_);
    return true;
  }
  Block block(std::uint32_t number) const {
    const std::uint32_t in_turn = members_ / merged_, member = first_ + number % in_turn;
    std::uint32_t index = work_->by_rank ? team_.rank(member) : member;
    if (work_->every) index = index % work_->every + number / in_turn * work_->every;
    const Block begin = work_->part_at(team_, index);
    return {begin.begin, work_->part_at(team_, index + merged_ - 1).end() - begin.begin};
  }

  const Work* work_ = nullptr;
  Team team_{};
  std::uint32_t first_ = 0, members_ = 1, merged_ = 1;  // By lists: the member at hand, and behind the last.
  bool listed_ = false;
  std::uint32_t block_ = 0, blocks_ = 1;
  std::uint64_t piece_, index_ = 0;
  Pieces pieces_;
  Block now_{};
};

// Where a route puts one rank's lanes. `plan` and `places` outlive them; `places` is of routes in_memory
// alone.
struct LaneMaker {
  const Plan& plan;
  Team all;
  const std::vector<SharedPlace>& places;
  std::pmr::vector<Lane>& lanes;
  void add(Lane lane) { lanes.push_back(std::move(lane)); }
};

// Adds all lanes of one rank. Precondition: check_plan() is OK.
void make_lanes(const Work& work, const Plan& plan, std::uint32_t rank, std::uint32_t ranks,
                const std::vector<SharedPlace>& places, std::pmr::vector<Lane>& lanes);
// Calls add(shape, slice) with each ring or tree and its share of the work, by weight.
template <class Shape, class Add>
void add_weighted(const std::vector<Shape>& shapes, const Work& work, const Add& add) {
  double total = 0, sum = 0, heaviest = 0;
  for (const Shape& shape : shapes) {
    total += shape.weight;
    heaviest = std::max(heaviest, shape.weight);
  }
  const double begin = work.slice_begin, end = work.slice_end;
  Work slice = work;
  for (const Shape& shape : shapes) {
    // As many pieces for each shape, so that those which share a cable get it in proportion to their weights.
    slice.piece =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(work.piece) * shape.weight / heaviest));
    slice.slice_begin = begin + (end - begin) * (sum / total);
    sum += shape.weight;
    slice.slice_end = &shape == &shapes.back() ? end : begin + (end - begin) * (sum / total);
    add(shape, slice);
  }
}

// One lane among one team; `work.operation` is one that the route supports.
Lane ring_lane(Team team, Work work);
Lane tree_up_lane(TreePlace place, Work work, bool contributes);  // On the lane below tree_down_lane()'s.
Lane tree_down_lane(TreePlace place, Work work);
Lane ordered_reduce_lane(TreePlace place, std::uint32_t me, Work work);  // `place` in a tree from rank 0.
// Both ways of a tree, as far as the operation takes them.
void add_tree(const Work& work, TreePlace place, LaneMaker& to);
// Gather and scatter too, over a star or a binomial tree.
void add_rooted(const Work& work, TreePlace place, bool binomial, LaneMaker& to);
// Of a tree in which each rank's contribution comes before those of its children, which are in order.
inline std::uint32_t root_of(const Work& work) { return work.in_order ? 0 : work.root; }
// What one worker and one server own of the vector.
struct OwnShares {
  double worker = 0;
  double server = 0;
};
inline constexpr std::uint32_t kOwnersLanes = 4;
void add_owners(const Work& work, OwnShares own, LaneMaker& to);
Lane gather_lane(Team team, Work work, bool binomial);
Lane scatter_lane(Team team, Work work, bool binomial);
Lane spread_lane(Team team, Work work);
Lane halving_doubling_lane(Team team, Work work);
Lane recursive_doubling_lane(Team team, Work work);
Lane doubling_all_gather_lane(Team team, Work work);
Lane all_to_all_lane(Team team, Work work);
Lane point_to_point_lane(std::uint32_t rank, const Work& work);
Lane neighbours_lane(Team all, Work work);

}  // namespace thalweg
