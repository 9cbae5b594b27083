// Groups over UCX, by two of its own transports: a sample of the matrix, and vectors longer than its windows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "client/group/group_matrix_for_test.h"
#include "net/ucx/ucx_for_test.h"

namespace thalweg {
namespace {

class GroupUcx : public testing::TestWithParam<std::tuple<std::string, std::uint32_t>> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_ucx(); !why.empty()) GTEST_SKIP() << why;
    ::setenv("UCX_TLS", std::get<0>(GetParam()).c_str(), 1);
  }
  static std::uint32_t ranks() { return std::get<1>(GetParam()); }
};

TEST_P(GroupUcx, ASampleOfTheMatrixIsExact) {
  constexpr std::uint64_t kStride = 3;  // Odd, so that types and reductions take turns.
  std::atomic<std::uint64_t> cases{0};
  const auto body = [&cases](Group& group) {
    ExchangeMatrix matrix(group.size(), ExchangeMatrix::Density::kOneEach);
    MatrixRank rank(group);
    std::uint64_t turn = 0;
    return matrix.each([&](const MatrixCase& c) -> std::string {
      if (turn++ % kStride != 0) return "";
      ++cases;
      return rank.run(c);
    });
  };
  EXPECT_EQ(on_joined(ranks(), GroupTransport::kUcx, body), "");
  EXPECT_GT(cases, 30U * ranks());
}

TEST_P(GroupUcx, LargeVectorsAreExact) {
  const auto body = [](Group& group) -> std::string {
    constexpr std::size_t kCount = 1'000'003;
    std::vector<double> data(kCount);
    for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<double>(i % 1000 + group.rank());
    const double n = group.size(), sum_of_ranks = n * (n - 1) / 2;
    for (const char* route : {"ring", "halving-doubling", "star"}) {
      std::vector<double> out(kCount);
      const auto named = RouteChoice::named(route);
      if (!named) return named.status().message();
      if (Status s = group.all_reduce<double>(data, out, Reduction::kSum, *named); !s.ok())
        return s.message();
      for (std::size_t i = 0; i < kCount; ++i) {
        if (out[i] != n * static_cast<double>(i % 1000) + sum_of_ranks) return "element " + std::to_string(i);
      }
    }
    return group.barrier().message();
  };
  EXPECT_EQ(on_joined(ranks(), GroupTransport::kUcx, body), "");
}

TEST(GroupWithoutUcx, SaysWhatToInstall) {
  if (UcxGroup::available().ok()) GTEST_SKIP() << "UCX is there";
  GroupOptions options;
  options.transport = GroupTransport::kUcx;
  const Status status = Group::join(options).status();
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(status.message().find("install the Debian package libucx"), std::string::npos)
      << status.message();
}

INSTANTIATE_TEST_SUITE_P(Transports, GroupUcx,
                         testing::Combine(testing::Values(std::string("shm"), std::string("tcp")),
                                          testing::Values(2U, 4U)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" +
                                  std::to_string(std::get<1>(instance.param));
                         });

}  // namespace
}  // namespace thalweg
