#include <gtest/gtest.h>

#include "client/group_matrix_for_test.h"

namespace thalweg {
namespace {

class GroupMatrix : public testing::TestWithParam<std::uint32_t> {};

TEST_P(GroupMatrix, IsExactBetweenThreads) {
  std::atomic<std::uint64_t> cases{0};
  EXPECT_EQ(on_threads(GetParam(),
                       [&cases](Group& group) {
                         MatrixRank rank(group);
                         std::string wrong = rank.run();
                         if (group.rank() == 0) cases = rank.cases();
                         return wrong;
                       }),
            "");
  EXPECT_GT(cases, 2000u);
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupMatrix, testing::Values(1, 2, 3, 4, 5, 7, 8, 16),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg
