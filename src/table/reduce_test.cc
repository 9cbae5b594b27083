#include "table/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

using Row = std::vector<float>;

// By the definition: the sum of block [first, first + 2^level) is that of its left half plus that of its
// right.
std::optional<Row> tree_sum(const std::map<std::uint32_t, Row>& rows, std::uint32_t first, int level,
                            bool last_wins) {
  if (level == 0) {
    const auto found = rows.find(first);
    return found == rows.end() ? std::nullopt : std::optional(found->second);
  }
  auto left = tree_sum(rows, first, level - 1, last_wins);
  auto right = tree_sum(rows, first + (1u << (level - 1)), level - 1, last_wins);
  if (!left || !right) return left ? left : right;
  for (std::size_t c = 0; c < left->size(); ++c)
    (*left)[c] = last_wins ? (*right)[c] : (*left)[c] + (*right)[c];
  return left;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

float draw_value(Random& random) {
  return random.chance(0.1) ? -0.0f : static_cast<float>(random.normal() * 1e3);
}

constexpr int kLevels = 5;
constexpr std::uint32_t kPositions = 1u << kLevels;

// Contributions at random positions, and what they own.
struct SparseCase {
  std::vector<std::uint32_t> positions;
  std::vector<std::vector<std::uint64_t>> keys;
  std::vector<Row> grads;
  std::map<std::uint64_t, std::map<std::uint32_t, Row>> by_key;

  SparseCase(Random& random, std::size_t dim) {
    const double density = random.unit();
    for (std::uint32_t position = 0; position < kPositions; ++position) {
      if (!random.chance(density)) continue;
      std::set<std::uint64_t> chosen;
      for (std::uint64_t i = random.below(60); i > 0; --i) chosen.insert(random.below(100));
      positions.push_back(position);
      keys.emplace_back(chosen.begin(), chosen.end());
      grads.emplace_back();
      for (const std::uint64_t key : chosen) {
        Row& row = by_key[key][position];
        for (std::size_t c = 0; c < dim; ++c) row.push_back(draw_value(random));
        grads.back().insert(grads.back().end(), row.begin(), row.end());
      }
    }
  }
  std::vector<Contribution> parts(std::uint32_t first, std::uint32_t end) const {
    std::vector<Contribution> out;
    for (std::size_t p = 0; p < positions.size(); ++p) {
      if (positions[p] >= first && positions[p] < end) out.push_back({keys[p], grads[p], positions[p]});
    }
    return out;
  }
};

TEST(SparseReducer, SumsByTheTreeOverPositions) {
  SparseReducer reducer;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::size_t dim = 1 + random.below(6);
    const bool last_wins = random.chance(0.3);
    const SparseCase all(random, dim);
    const Contribution got = reducer.reduce(all.parts(0, kPositions), dim, last_wins);
    ASSERT_EQ(got.keys.size(), all.by_key.size());
    ASSERT_EQ(got.grads.size(), all.by_key.size() * dim);
    std::size_t i = 0;
    for (const auto& [key, rows] : all.by_key) {
      ASSERT_EQ(got.keys[i], key);
      ASSERT_TRUE(same_bits(got.grads.subspan(i * dim, dim), *tree_sum(rows, 0, kLevels, last_wins))) << seed;
      ++i;
    }
  }
}

// The contributions of a block, summed elsewhere, stand in for it: no bit changes.
TEST(SparseReducer, ABlockSummedBeforehandChangesNoBit) {
  SparseReducer reducer, elsewhere;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::size_t dim = 1 + random.below(3);
    const SparseCase all(random, dim);
    const Contribution whole = reducer.reduce(all.parts(0, kPositions), dim, false);
    const std::vector<std::uint64_t> keys(whole.keys.begin(), whole.keys.end());
    const Row grads(whole.grads.begin(), whole.grads.end());
    std::vector<std::vector<std::uint64_t>> block_keys;
    std::vector<Row> block_grads;
    std::vector<Contribution> parts;
    block_keys.reserve(kPositions), block_grads.reserve(kPositions);
    for (std::uint32_t first = 0; first < kPositions;) {
      std::uint32_t count = 1;
      while (first % (2 * count) == 0 && first + 2 * count <= kPositions && random.chance(0.6)) count *= 2;
      const Contribution block = elsewhere.reduce(all.parts(first, first + count), dim, false);
      block_keys.emplace_back(block.keys.begin(), block.keys.end());
      block_grads.emplace_back(block.grads.begin(), block.grads.end());
      parts.push_back({block_keys.back(), block_grads.back(), first});
      first += count;
    }
    const Contribution again = reducer.reduce(parts, dim, false);
    ASSERT_TRUE(std::equal(again.keys.begin(), again.keys.end(), keys.begin(), keys.end()));
    ASSERT_TRUE(same_bits(again.grads, grads)) << seed;
  }
}

TEST(DenseReducer, SumsByTheTreeOverPositions) {
  constexpr std::uint64_t kRows = 40;
  DenseReducer reducer;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::size_t dim = 1 + random.below(4);
    const bool last_wins = random.chance(0.3);
    const double density = random.unit();
    std::vector<std::uint64_t> first(kPositions);
    std::vector<Row> grads(kPositions);
    std::vector<Contribution> parts;
    std::map<std::uint64_t, std::map<std::uint32_t, Row>> by_row;
    for (std::uint32_t p = 0; p < kPositions; ++p) {
      if (!random.chance(density)) continue;
      first[p] = random.below(kRows);
      for (std::uint64_t row = first[p], end = row + random.below(kRows - row + 1); row < end; ++row) {
        for (std::size_t c = 0; c < dim; ++c) by_row[row][p].push_back(draw_value(random));
        grads[p].insert(grads[p].end(), by_row[row][p].begin(), by_row[row][p].end());
      }
      parts.push_back({{&first[p], 1}, grads[p], p});
    }
    std::map<std::uint64_t, Row> sums;
    for (const auto& [row, of_row] : by_row) sums[row] = *tree_sum(of_row, 0, kLevels, last_wins);
    reducer.start(parts, dim, last_wins);
    auto next = sums.begin();
    reducer.each_sum([&](std::uint64_t row, const float* got, std::uint64_t rows) {
      for (std::uint64_t i = 0; i < rows; ++i, ++next) {
        ASSERT_EQ(next->first, row + i);
        ASSERT_TRUE(same_bits({got + i * dim, dim}, next->second)) << seed;
      }
    });
    ASSERT_EQ(next, sums.end());
    for (const RowInterval& run : reducer.touched()) {
      const std::uint64_t begin = run.begin + random.below(run.end - run.begin);
      const RowInterval some{begin, begin + 1 + random.below(run.end - begin)};
      Row got((some.end - some.begin) * dim);
      reducer.sum(some, got.data());
      for (std::uint64_t row = some.begin; row < some.end; ++row)
        ASSERT_TRUE(same_bits(std::span(got).subspan((row - begin) * dim, dim), sums.at(row))) << seed;
    }
  }
}

// More rows than are added up at a time, by a sum that comes to the same in any number of pieces.
TEST(DenseReducer, SumsMoreThanTheCacheHolds) {
  constexpr std::size_t kDim = 3, kRows = 10'000;
  DenseReducer reducer;
  Random random(1);
  std::vector<Row> grads(4, Row(kRows * kDim));
  std::vector<Contribution> parts;
  const std::uint64_t first = 5;
  for (std::uint32_t p = 0; p < grads.size(); ++p) {
    for (float& value : grads[p]) value = draw_value(random);
    parts.push_back({{&first, 1}, grads[p], p});
  }
  Row expected(kRows * kDim), whole(kRows * kDim), piecewise;
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = (grads[0][i] + grads[1][i]) + (grads[2][i] + grads[3][i]);
  reducer.start(parts, kDim, false);
  reducer.sum({first, first + kRows}, whole.data());
  EXPECT_TRUE(same_bits(whole, expected));
  int calls = 0;
  reducer.each_sum([&](std::uint64_t, const float* sums, std::uint64_t rows) {
    piecewise.insert(piecewise.end(), sums, sums + rows * kDim);
    ++calls;
  });
  EXPECT_TRUE(same_bits(piecewise, expected));
  EXPECT_GT(calls, 1);
  EXPECT_LT(reducer.bytes(), kRows * kDim * sizeof(float)) << "sums of all rows are kept";
}

TEST(DenseReducer, ReturnsTheTouchedIntervalsAlone) {
  DenseReducer reducer;
  const std::uint64_t two = 2, four = 4, ten = 10;
  const float a[4] = {1, 2, 3, 4}, b[2] = {10, 20};
  const std::vector<Contribution> parts = {
      {{&two, 1}, a}, {{&ten, 1}, b, 1}, {{&four, 1}, b, 2}, {{&two, 1}, {}, 3}};
  reducer.start(parts, 1, false);
  const auto intervals = reducer.touched();
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[0].begin, 2u);
  EXPECT_EQ(intervals[0].end, 6u);
  EXPECT_EQ(intervals[1].begin, 10u);
  EXPECT_EQ(intervals[1].end, 12u);
  Row first(4), second(2);
  reducer.sum(intervals[0], first.data());
  reducer.sum(intervals[1], second.data());
  EXPECT_EQ(first, (Row{1, 2, 13, 24}));
  EXPECT_EQ(second, (Row{10, 20}));
  reducer.start({}, 1, false);
  EXPECT_TRUE(reducer.touched().empty());
}

}  // namespace
}  // namespace thalweg
