#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "thalweg/group.h"
#include "thalweg/top_k.h"

namespace thalweg {
namespace {

TEST(TopKAllReduce, AddsUpSparseGradientsOfAllRanks) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> gradient(50);
    for (std::size_t i = 0; i < 5; ++i)
      gradient[i * 9] = static_cast<float>(i + 1) * (group.rank() == 0 ? 1 : 2);
    std::vector<TopKPair> pairs = top_pairs(gradient, 5);
    if (Status s = all_reduce_top_k(group, pairs, TopK::Same::kSum); !s.ok()) return s.message();
    for (std::uint32_t i = 0; i < 5; ++i) {
      if (pairs[i].index != i * 9 || pairs[i].value != static_cast<float>(i + 1) * 5) return "wrong sum";
    }
    return {};
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(TopKAllReduce, KeepsTheGreatestOfAllRanks) {
  const auto body = [](Group& group) -> std::string {
    const std::uint32_t rank = group.rank();
    std::vector<TopKPair> pairs = {{rank, 1.0f + static_cast<float>(rank)}, {10, 100}, {}};
    if (Status s = all_reduce_top_k(group, pairs, TopK::Same::kGreater); !s.ok()) return s.message();
    const bool right =
        pairs[0].index == 2 && pairs[1].index == 3 && pairs[2].index == 10 && pairs[1].value == 4;
    return right ? "" : "not the greatest";
  };
  EXPECT_EQ(on_threads(4, body), "");
}

TEST(TopKAllReduce, RefusesPairsInDisorder) {
  std::vector<Group> groups = Group::in_process(1);
  std::vector<TopKPair> pairs = {{3, 1}, {3, 2}};
  EXPECT_EQ(all_reduce_top_k(groups[0], pairs, TopK::Same::kSum).code(), Code::kUsage);
  pairs = {{}, {3, 2}};
  EXPECT_EQ(all_reduce_top_k(groups[0], pairs, TopK::Same::kSum).code(), Code::kUsage);
  EXPECT_EQ(all_reduce_top_k(groups[0], {}, TopK::Same::kSum).code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
