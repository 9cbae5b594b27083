#include "sim/group/group_parts.h"

#include <algorithm>

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMuchRoom = std::size_t{1} << 18;  // The most that is drawn.

// Two, and those to whom something happens.
std::uint64_t least_ranks(const GroupPlan& plan) {
  std::uint32_t least = 2;
  for (const GroupFault& fault : plan.faults) {
    least = std::max(least, fault.rank + 1);
    if (fault.kind == GroupFault::Kind::kDisconnect || fault.kind == GroupFault::Kind::kPartition)
      least = std::max(least, fault.other + 1);
  }
  return least;
}

std::uint64_t ms_before_faults(const GroupPlan& plan) {
  if (plan.faults.empty()) return 0;
  return static_cast<std::uint64_t>(Duration(plan.faults.front().at.ns) / 1ms);  // They are sorted.
}

void leave_ms_before_faults(GroupPlan& plan, std::uint64_t left) {
  const Duration sooner = std::chrono::milliseconds(ms_before_faults(plan) - left);
  for (GroupFault& fault : plan.faults) fault.at = fault.at + -sooner;
}

// The largest first.
constexpr Knob<GroupPlan> kGroupParts[] = {
    kind_part<GroupPlan>(
        "jitter", [](auto& plan) -> auto& { return plan.jitter; }),
    kind_part<GroupPlan>(
        "goodbyes", [](auto& plan) -> auto& { return plan.drops_old; }),
    kind_part<GroupPlan>(
        "repeats", [](auto& plan) -> auto& { return plan.repeats; }),
    {"small-rooms", [](const GroupPlan& plan) { return std::uint64_t{plan.room < kMuchRoom}; },
     [](GroupPlan& plan, std::uint64_t) { plan.room = kMuchRoom; }},
    {"ms-before-faults", ms_before_faults, leave_ms_before_faults},
    number_part<GroupPlan>(
        "ranks", [](auto& plan) -> auto& { return plan.ranks; }, least_ranks),
    number_part<GroupPlan>(
        "operations", [](auto& plan) -> auto& { return plan.operations; }, least_one),
    number_part<GroupPlan>(
        "elements", [](auto& plan) -> auto& { return plan.elements; }, least_one),
    kind_part<GroupPlan>(
        "thinking", [](auto& plan) -> auto& { return plan.thinking; }),
};

}  // namespace

const Parts<GroupPlan>& parts_of(const GroupPlan& /*plan*/) {
  static constexpr Parts<GroupPlan> kParts = {
      .what = "this seed's group",
      .single = single_parts<GroupPlan>(
          "fault", 0, [](auto& plan) -> auto& { return plan.faults; }),
      .knobs = kGroupParts};
  return kParts;
}

}  // namespace thalweg::sim
