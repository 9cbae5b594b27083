#include "exchange/preface.h"

#include <algorithm>
#include <cstring>

#include "base/mix.h"
#include "thalweg/reduction.h"

namespace thalweg {

std::uint64_t hash_of(const Plan& plan) {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::uint64_t value) { hash = place(hash ^ value) * 0x9e3779b97f4a7c15ULL + 1; };
  const auto add_weight = [&add](double weight) {
    std::uint64_t bits;
    std::memcpy(&bits, &weight, sizeof bits);
    add(bits);
  };
  add(plan.piece_elements);
  add(plan.channels);
  add(plan.servers);
  add(plan.fanout);
  for (const std::uint32_t level : plan.levels) add(level);
  for (const Ring& ring : plan.rings) {
    add_weight(ring.weight);
    for (const std::uint32_t rank : ring.order) add(rank);
  }
  for (const Tree& tree : plan.trees) {
    add_weight(tree.weight);
    for (const std::int32_t parent : tree.parent) add(static_cast<std::uint32_t>(parent));
  }
  return std::max<std::uint64_t>(hash, 1);
}

std::string describe(const Preface& preface) {
  std::string text = static_cast<std::size_t>(preface.operation) < kOperations
                         ? operation_name(preface.operation)
                         : "operation " + std::to_string(static_cast<int>(preface.operation));
  text += " #" + std::to_string(preface.sequence) + " of " + std::to_string(preface.count) + " ";
  if (preface.reduction == 255) {
    text += std::to_string(preface.element_bytes) + "-byte elements";
  } else if (preface.type < kDataTypes && preface.reduction < kReductions) {
    text += data_type_name(static_cast<DataType>(preface.type));
    text += std::string(" (") + reduction_name(static_cast<Reduction>(preface.reduction)) + ")";
  }
  Plan plan;
  plan.route = preface.route;
  if (static_cast<std::size_t>(preface.route) < kRoutes) text += " by " + plan.name();
  if (preface.root != 0) text += ", root " + std::to_string(preface.root);
  return text;
}

Status check_preface(const Preface& mine, const Preface& theirs, std::uint32_t peer) {
  if (mine == theirs) return Status::ok();
  const std::string who = "rank " + std::to_string(peer);
  if (theirs.magic != Preface::kMagic || theirs.version != mine.version) {
    return {Code::kRefused, who +
                                " sends something that is no operation of this version of Thalweg; start "
                                "all ranks from the same build"};
  }
  std::string theirs_name = describe(theirs);
  if (describe(mine) == theirs_name)
    theirs_name = "the same with another plan, element size or number of ranks";
  return {Code::kRefused,
          "the ranks of a group must call the same operations in the same order: this rank calls " +
              describe(mine) + ", " + who + " calls " + theirs_name};
}

}  // namespace thalweg
