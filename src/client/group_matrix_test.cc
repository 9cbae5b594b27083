#include <gtest/gtest.h>

#include <atomic>

#include "client/group_matrix_for_test.h"
#include "net/raw_peer_for_test.h"

namespace thalweg {
namespace {

std::string run_matrix(Group& group, std::atomic<std::uint64_t>& cases, std::uint64_t stride = 1) {
  MatrixRank rank(group, stride);
  std::string wrong = rank.run();
  if (group.rank() == 0) cases = rank.cases();
  return wrong;
}

class GroupMatrix : public testing::TestWithParam<std::uint32_t> {
 protected:
  // Between ranks that meet as processes do, but are threads.
  void run_over(GroupTransport transport) {
    std::atomic<std::uint64_t> cases{0};
    // Where ranks outnumber cores, each message may cost a time slice.
    const std::uint64_t stride = GetParam() > 2 ? 20 * GetParam() + 1 : 1;
    GroupOptions options;
    options.size = GetParam();
    options.transport = transport;
    options.master_port = RawPeer::listening().second;
    const auto join = [&options](std::uint32_t rank) {
      GroupOptions mine = options;
      mine.rank = rank;
      return Group::join(mine);
    };
    EXPECT_EQ(on_ranks(GetParam(), join,
                       [&cases, stride](Group& group) { return run_matrix(group, cases, stride); }),
              "");
    EXPECT_GT(cases, 30u);
  }
};

TEST_P(GroupMatrix, IsExactBetweenThreads) {
  std::atomic<std::uint64_t> cases{0};
  EXPECT_EQ(on_threads(GetParam(), [&cases](Group& group) { return run_matrix(group, cases); }), "");
  EXPECT_GT(cases, 2000u);
}

TEST_P(GroupMatrix, IsExactOverTcp) { run_over(GroupTransport::kTcp); }

INSTANTIATE_TEST_SUITE_P(Ranks, GroupMatrix, testing::Values(1, 2, 3, 4, 5, 7, 8, 16),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg
