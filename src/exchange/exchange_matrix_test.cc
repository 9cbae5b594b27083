// The matrix over the simulated transport: a network in virtual time that carries the real bytes.
#include "exchange/exchange_matrix_for_test.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "exchange/matrix_ranks_for_test.h"
#include "exchange/plan/simulated_group.h"
#include "topology/network/fifo_network.h"
#include "topology/presets.h"

namespace thalweg {
namespace {

using Density = ExchangeMatrix::Density;

// Every small size of every operation, in place and not, is in the smallest sample too.
TEST(ExchangeMatrix, SizesTakeTurns) {
  for (const std::uint32_t ranks : matrix_ranks()) {
    using Kind = std::tuple<Operation, std::uint64_t, bool>;
    std::set<Kind> whole, sample;
    const auto note_in = [](std::set<Kind>& kinds) {
      return [&kinds](const MatrixCase& c) {
        if (c.what.count < 1000) kinds.emplace(c.what.operation, c.what.count, c.what.in_place);
        return std::string();
      };
    };
    ExchangeMatrix all(ranks, Density::kAll), one(ranks, Density::kOneEach);
    all.each(note_in(whole));
    one.each(note_in(sample));
    EXPECT_TRUE(all.complete() && one.complete()) << ranks << " ranks";
    EXPECT_EQ(sample, whole) << ranks << " ranks";
  }
}

class SimulatedMatrix : public testing::TestWithParam<std::uint32_t> {};

TEST_P(SimulatedMatrix, IsExact) {
  const Result<Topology> room = preset("uniform:16,1GB/s,1us");
  ASSERT_TRUE(room.ok()) << room.status().message();
  std::vector<std::uint32_t> endpoints(GetParam());
  std::iota(endpoints.begin(), endpoints.end(), 0u);
  FifoNetwork network(*room);
  SimulatedGroup group(network, endpoints);
  MatrixRanks ranks(GetParam(), [&group](MatrixRanks::Exchanges exchanges) { return group.run(exchanges); });
  ExchangeMatrix matrix(GetParam(), ExchangeMatrix::kUsual);
  EXPECT_EQ(matrix.each([&ranks](const MatrixCase& c) { return ranks.run(c); }), "");
  EXPECT_TRUE(matrix.complete());
}

INSTANTIATE_TEST_SUITE_P(Ranks, SimulatedMatrix, testing::ValuesIn(matrix_ranks()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg
