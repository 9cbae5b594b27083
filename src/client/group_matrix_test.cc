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
  std::string on_joined(GroupTransport transport, const std::function<std::string(Group& group)>& body) {
    GroupOptions options;
    options.size = GetParam();
    options.transport = transport;
    options.master_port = RawPeer::listening().second;
    const auto join = [&options](std::uint32_t rank) {
      GroupOptions mine = options;
      mine.rank = rank;
      return Group::join(mine);
    };
    return on_ranks(GetParam(), join, body);
  }
  // Ranks that are threads map each other's group memory into one process; ThreadSanitizer leaves too few
  // addresses for 16 of them.
  static bool addresses_suffice() {
#if defined(__SANITIZE_THREAD__)
    return GetParam() <= 8;
#else
    return true;
#endif
  }
  void run_over(GroupTransport transport) {
    std::atomic<std::uint64_t> cases{0};
    // Where ranks outnumber cores, each message may cost a time slice.
    const std::uint64_t stride = GetParam() > 2 ? 20 * GetParam() + 1 : 1;
    const auto body = [&cases, stride](Group& group) { return run_matrix(group, cases, stride); };
    EXPECT_EQ(on_joined(transport, body), "");
    EXPECT_GT(cases, 30u);
  }
};

TEST_P(GroupMatrix, IsExactBetweenThreads) {
  std::atomic<std::uint64_t> cases{0};
  EXPECT_EQ(on_threads(GetParam(), [&cases](Group& group) { return run_matrix(group, cases); }), "");
  EXPECT_GT(cases, 2000u);
}

TEST_P(GroupMatrix, IsExactOverTcp) { run_over(GroupTransport::kTcp); }
TEST_P(GroupMatrix, IsExactThroughSharedMemory) {
  if (!addresses_suffice()) GTEST_SKIP() << "too few addresses under ThreadSanitizer";
  run_over(GroupTransport::kShm);
}

// Large vectors in group memory, by the route that the group takes itself.
std::string run_in_group_memory(Group& group) {
  constexpr std::size_t kCount = 100'003;
  Result<std::span<double>> in = group.allocate<double>(kCount), out = group.allocate<double>(kCount);
  if (!in || !out) return "no memory";
  for (std::size_t i = 0; i < kCount; ++i) (*in)[i] = static_cast<double>(i % 1000 + group.rank());
  const double n = group.size(), ranks = n * (n - 1) / 2;
  if (Status s = group.all_reduce<double>(*in, *out); !s) return s.message();
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((*out)[i] != n * static_cast<double>(i % 1000) + ranks) return "sum " + std::to_string(i);
  }
  if (Status s = group.broadcast(*in, group.size() - 1); !s) return s.message();
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((*in)[i] != static_cast<double>(i % 1000) + n - 1) return "broadcast " + std::to_string(i);
  }
  return group.barrier().message();
}

TEST_P(GroupMatrix, IsExactInGroupMemory) {
  EXPECT_EQ(on_threads(GetParam(), run_in_group_memory), "");
  for (const GroupTransport transport : {GroupTransport::kShm, GroupTransport::kTcp}) {
    if (transport == GroupTransport::kShm && !addresses_suffice()) continue;
    EXPECT_EQ(on_joined(transport, run_in_group_memory), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupMatrix, testing::Values(1, 2, 3, 4, 5, 7, 8, 16),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg
