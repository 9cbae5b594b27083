// The sparse all-reduce: one element of k pairs, by the monoid of thalweg/top_k.h.
#include <fmt/format.h>

#include <limits>

#include "client/collective/group_steps.h"
#include "thalweg/group.h"
#include "thalweg/top_k.h"

namespace thalweg {

namespace {

Status check_pairs(std::span<const TopKPair> pairs) {
  if (pairs.empty() || pairs.size() > std::numeric_limits<std::uint32_t>::max() / sizeof(TopKPair)) {
    return {Code::kUsage, fmt::format("top-k: got {} pairs; expected 1 or more", pairs.size())};
  }
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const bool unused = pairs[i].index == TopKPair::kUnused;
    if (unused || pairs[i - 1].index < pairs[i].index) continue;
    return {Code::kUsage,
            fmt::format("top-k: pair {} has index {} after {}; expected them to ascend, unused pairs "
                        "last",
                        i, pairs[i].index, pairs[i - 1].index)};
  }
  return ok_status();
}

Task<Status> top_k_in_steps(GroupSteps& steps, std::span<TopKPair> pairs, TopK::Same same) {
  const TopK top(static_cast<std::uint32_t>(pairs.size()), same);
  GroupCall call;
  call.in = call.out = pairs.data();
  call.count = 1;
  call.combine = top.monoid();
  co_return co_await steps.take(call);
}

}  // namespace

Status all_reduce_top_k(Group& group, std::span<TopKPair> pairs, TopK::Same same) {
  if (Status status = check_pairs(pairs); !status.ok()) return status;
  return run_in_steps(group, [=](GroupSteps& steps) { return top_k_in_steps(steps, pairs, same); });
}

GroupWork all_reduce_top_k_async(Group& group, std::span<TopKPair> pairs, TopK::Same same) {
  if (Status status = check_pairs(pairs); !status.ok()) return StartedSeries::failed(std::move(status));
  return StartedSeries::start(group, [=](GroupSteps& steps) { return top_k_in_steps(steps, pairs, same); },
                              {});
}

}  // namespace thalweg
