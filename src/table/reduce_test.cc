#include "table/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

#include "base/random.h"

namespace thalweg {
namespace {

TEST(SparseReducer, SumsInOrderWithTheBitsOfASerialSum) {
  SparseReducer reducer;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::size_t dim = 1 + random.below(6), count = random.below(20);
    const bool last_wins = random.chance(0.3);
    std::vector<std::vector<std::uint64_t>> keys(count);
    std::vector<std::vector<float>> grads(count);
    std::map<std::uint64_t, std::vector<float>> expected;
    std::vector<Contribution> parts;
    for (std::size_t p = 0; p < count; ++p) {
      std::set<std::uint64_t> chosen;
      for (std::uint64_t i = random.below(60); i > 0; --i) chosen.insert(random.below(100));
      keys[p].assign(chosen.begin(), chosen.end());
      for (const std::uint64_t key : keys[p]) {
        auto [at, fresh] = expected.try_emplace(key, dim);
        for (std::size_t c = 0; c < dim; ++c) {
          const float g = random.chance(0.1) ? -0.0f : static_cast<float>(random.normal() * 1e3);
          grads[p].push_back(g);
          at->second[c] = fresh || last_wins ? g : at->second[c] + g;
        }
      }
      parts.push_back({keys[p], grads[p]});
    }
    const Contribution got = reducer.reduce(parts, dim, last_wins);
    ASSERT_EQ(got.keys.size(), expected.size());
    ASSERT_EQ(got.grads.size(), expected.size() * dim);
    std::size_t i = 0;
    for (const auto& [key, row] : expected) {
      ASSERT_EQ(got.keys[i], key);
      for (std::size_t c = 0; c < dim; ++c) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got.grads[i * dim + c]), std::bit_cast<std::uint32_t>(row[c]));
      }
      ++i;
    }
  }
}

TEST(DenseReducer, ReturnsTheTouchedIntervalsAlone) {
  DenseReducer reducer;
  const std::uint64_t two = 2, four = 4, ten = 10;
  const float a[4] = {1, 2, 3, 4}, b[2] = {10, 20};
  const std::vector<Contribution> parts = {{{&two, 1}, a}, {{&ten, 1}, b}, {{&four, 1}, b}, {{&two, 1}, {}}};
  const auto intervals = reducer.reduce(parts, 1, false);
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[0].begin, 2u);
  EXPECT_EQ(intervals[0].end, 6u);
  EXPECT_EQ(intervals[1].begin, 10u);
  EXPECT_EQ(intervals[1].end, 12u);
  EXPECT_EQ(std::vector<float>(reducer.sums(2), reducer.sums(2) + 4), (std::vector<float>{1, 2, 13, 24}));
  EXPECT_EQ(reducer.sums(10)[1], 20.0f);
  EXPECT_TRUE(reducer.reduce({}, 1, false).empty());
}

}  // namespace
}  // namespace thalweg
