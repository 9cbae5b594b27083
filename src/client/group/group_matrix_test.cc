// Every transport, by ranks that are threads and by ranks that share one; the simulated one is in
// exchange/exchange_matrix_test.cc.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "client/group/group_matrix_for_test.h"
#include "client/group/live_ranks_for_test.h"
#include "exchange/matrix_ranks_for_test.h"

namespace thalweg {
namespace {

std::string run_matrix(Group& group) {
  ExchangeMatrix matrix(group.size(), ExchangeMatrix::Density::kOneEach);
  MatrixRank rank(group);
  const std::string wrong = matrix.each([&rank](const MatrixCase& c) { return rank.run(c); });
  return wrong.empty() && !matrix.complete() ? "cases are missing" : wrong;
}

class GroupMatrix : public testing::TestWithParam<std::uint32_t> {};

TEST_P(GroupMatrix, IsExactBetweenThreads) { EXPECT_EQ(on_threads(GetParam(), run_matrix), ""); }
TEST_P(GroupMatrix, IsExactOverTcp) {
  EXPECT_EQ(on_joined(GetParam(), GroupTransport::kTcp, run_matrix), "");
}
TEST_P(GroupMatrix, IsExactThroughSharedMemory) {
  EXPECT_EQ(on_joined(GetParam(), GroupTransport::kShm, run_matrix), "");
}

#if !defined(__SANITIZE_THREAD__)
// Since 1970, unless THALWEG_TEST_DAY names another.
std::uint64_t day() {
  if (const char* named = std::getenv("THALWEG_TEST_DAY"); named != nullptr) return std::stoull(named);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::days>(now).count());
}

class OneThreadMatrix : public testing::TestWithParam<std::uint32_t> {
 protected:
  static void run_over(LiveRanks live, ExchangeMatrix::Density density) {
    MatrixRanks ranks(
        GetParam(), [&live](MatrixRanks::Exchanges exchanges) { return live.run(exchanges); },
        [&live](std::uint32_t rank) { return live.memory(rank); });
    const std::uint64_t turn = day();
    ExchangeMatrix matrix(GetParam(), density, turn);
    EXPECT_EQ(matrix.each([&ranks](const MatrixCase& c) { return ranks.run(c); }), "")
        << "with THALWEG_TEST_DAY=" << turn;
    EXPECT_TRUE(matrix.complete());
  }
};

// A fifth of the sizes, other ones each day: exchanges cut vectors alike for each transport, and one has all.
constexpr ExchangeMatrix::Density kDaily = ExchangeMatrix::Density::kTwoEach;

TEST_P(OneThreadMatrix, IsExactInProcess) {
  run_over(LiveRanks::in_process(GetParam()), ExchangeMatrix::kUsual);
}
TEST_P(OneThreadMatrix, IsExactOverTcp) {
  run_over(LiveRanks::joined(GetParam(), GroupTransport::kTcp), kDaily);
}
TEST_P(OneThreadMatrix, IsExactThroughSharedMemory) {
  run_over(LiveRanks::joined(GetParam(), GroupTransport::kShm), kDaily);
}

INSTANTIATE_TEST_SUITE_P(Ranks, OneThreadMatrix, testing::ValuesIn(matrix_ranks()),
                         testing::PrintToStringParamName());
#endif

// Large vectors in group memory, by the route that the group takes itself.
std::string run_in_group_memory(Group& group) {
  constexpr std::size_t kCount = 100'003;
  Result<std::span<double>> in = group.allocate<double>(kCount), out = group.allocate<double>(kCount);
  if (!in || !out) return "no memory";
  for (std::size_t i = 0; i < kCount; ++i) (*in)[i] = static_cast<double>(i % 1000 + group.rank());
  const double n = group.size(), ranks = n * (n - 1) / 2;
  if (Status s = group.all_reduce<double>(*in, *out); !s.ok()) return s.message();
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((*out)[i] != n * static_cast<double>(i % 1000) + ranks) return "sum " + std::to_string(i);
  }
  if (Status s = group.broadcast(*in, group.size() - 1); !s.ok()) return s.message();
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((*in)[i] != static_cast<double>(i % 1000) + n - 1) return "broadcast " + std::to_string(i);
  }
  return group.barrier().message();
}

TEST_P(GroupMatrix, IsExactInGroupMemory) {
  EXPECT_EQ(on_threads(GetParam(), run_in_group_memory), "");
  for (const GroupTransport transport : {GroupTransport::kShm, GroupTransport::kTcp}) {
    EXPECT_EQ(on_joined(GetParam(), transport, run_in_group_memory), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupMatrix, testing::ValuesIn(matrix_ranks()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg
