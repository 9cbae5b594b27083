#include "table/dense_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "table/init_value.h"
#include "table/testing_rules.h"

namespace thalweg {
namespace {

TableSpec spec_of(RuleKind kind, std::uint32_t dim, std::uint64_t rows, std::uint16_t ranges) {
  TableSpec spec;
  spec.kind = TableSpec::Kind::kDense;
  spec.name = std::string("d"), spec.dim = dim, spec.rows = rows, spec.ranges = ranges;
  spec.rule.kind = kind;
  spec.init = {InitSpec::Kind::kNormal, 0.5f, 4};
  return spec;
}

TEST(DenseTable, FollowsAnArrayUnderOverlappingParts) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const auto dim = static_cast<std::uint32_t>(1 + random.below(5));
    const std::uint64_t rows = 1 + random.below(60);
    const TableSpec spec = spec_of(RuleKind::kSgd, dim, rows, 3);
    DenseTable table(spec, {0, 3}, nullptr);
    std::vector<float> oracle(rows * dim);
    for (std::uint64_t r = 0; r < rows; ++r)
      fill_initial(spec.init, r, std::span(oracle).subspan(r * dim, dim));
    for (int step = 0; step < 10; ++step) {
      std::map<std::size_t, float> sums;
      std::vector<std::uint64_t> firsts;
      std::vector<std::vector<float>> grads;
      for (std::uint64_t p = 0; p <= random.below(6); ++p) {
        firsts.push_back(random.below(rows));
        grads.emplace_back(random.below(rows - firsts.back() + 1) * dim);
        for (std::size_t i = 0; i < grads.back().size(); ++i) {
          const float g = grads.back()[i] = static_cast<float>(random.unit() - 0.5);
          const auto [at, fresh] = sums.try_emplace(firsts.back() * dim + i, g);
          if (!fresh) at->second += g;
        }
      }
      std::vector<Contribution> parts;
      for (std::size_t p = 0; p < firsts.size(); ++p) {
        parts.push_back({{&firsts[p], 1}, grads[p]});
        ASSERT_TRUE(table.check(parts.back(), {0, 3}).is_ok());
      }
      table.apply(parts);
      for (const auto& [i, sum] : sums) oracle[i] = oracle[i] - spec.rule.rate * (sum + 0.0f * oracle[i]);
    }
    const std::uint64_t zero = 0;
    std::vector<float> got(rows * dim);
    table.read({&zero, 1}, got);
    ASSERT_EQ(got, oracle) << "seed " << seed;
  }
}

TEST(DenseTable, LastPartWinsForAssign) {
  TableSpec spec = spec_of(RuleKind::kAssign, 1, 4, 1);
  DenseTable table(spec, {0, 1}, nullptr);
  const std::uint64_t zero = 0, one = 1;
  const float a[3] = {1, 2, 3}, b[3] = {7, 8, 9};
  table.apply(std::vector<Contribution>{{{&zero, 1}, a}, {{&one, 1}, b}});
  std::vector<float> got(4);
  table.read({&zero, 1}, got);
  EXPECT_EQ(got, (std::vector<float>{1, 7, 8, 9}));
}

TEST(DenseTable, RefusesBadBlocks) {
  const TableSpec spec = spec_of(RuleKind::kAdd, 2, 100, 10);
  const DenseTable table(spec, {2, 5}, nullptr);
  const auto refused = [&](std::vector<std::uint64_t> keys, std::vector<float> grads, Code code,
                           const char* what) {
    const Status status = table.check({keys, grads}, {2, 5});
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  };
  refused({}, {1, 2}, Code::kRefused, "expected its first row alone");
  refused({20, 21}, {1, 2, 3, 4}, Code::kRefused, "expected its first row alone");
  refused({19}, {1, 2}, Code::kRefused, "row 19");
  refused({50}, {1, 2}, Code::kRefused, "row 50");
  refused({49}, {1, 2, 3, 4}, Code::kRefused, "end by row 50");
  refused({20}, {1, 2, 3}, Code::kRefused, "3 values");
  refused({20}, {1, 2, NAN, 4}, Code::kNonFinite, "key 21");
  EXPECT_TRUE(table.check({std::vector<std::uint64_t>{49}, std::vector<float>{1, 2}}, {2, 5}).is_ok());
}

TEST(DenseTable, DigestAddsUpOverServersAndSurvivesScanAndLoad) {
  for (const testing::NamedRule& rule : testing::all_rules()) {
    TableSpec spec = spec_of(rule.spec.kind, 3, 5000, 7);
    spec.rule = rule.spec;
    DenseTable whole(spec, {0, 7}, nullptr), copy(spec, {0, 7}, nullptr);
    DenseTable left(spec, {0, 3}, nullptr), right(spec, {3, 7}, nullptr);
    std::vector<float> grads(15000);
    Random random(2);
    for (float& g : grads) g = static_cast<float>(random.unit() - 0.5);
    const std::uint64_t zero = 0, middle = range_first_row(3, 7, 5000);
    const std::span<const float> all(grads);
    for (int step = 0; step < 3; ++step) {
      whole.apply(std::vector<Contribution>{{{&zero, 1}, all}});
      left.apply(std::vector<Contribution>{{{&zero, 1}, all.first(middle * 3)}});
      right.apply(std::vector<Contribution>{{{&middle, 1}, all.subspan(middle * 3)}});
    }
    EXPECT_EQ(left.digest() + right.digest(), whole.digest()) << rule.name;
    EXPECT_NE(copy.digest(), whole.digest()) << rule.name;
    for (std::uint16_t r = 0; r < 7; ++r) {
      whole.scan(RangeId{r}, [&](const RowsView& view) { EXPECT_TRUE(copy.load(RangeId{r}, view).is_ok()); });
    }
    EXPECT_EQ(copy.digest(), whole.digest()) << rule.name;
    EXPECT_GE(whole.stats().bytes, 5000 * whole.stored_width() * sizeof(float));
    EXPECT_EQ(whole.stats().rows, 5000u);
  }
}

class Counting : public CustomRule {
 public:
  std::size_t state_floats(std::size_t) const override { return 2; }
  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = grad[i];
    state[1] += 1.0f;
  }
};

TEST(DenseTable, KeepsACustomRulesStateByRow) {
  TableSpec spec = spec_of(RuleKind::kCustom, 3, 4, 1);
  spec.init = {};
  DenseTable table(spec, {0, 1}, std::make_shared<Counting>());
  const std::uint64_t two = 2;
  const float g[3] = {1, 2, 3};
  table.apply(std::vector<Contribution>{{{&two, 1}, g}});
  table.scan(RangeId{0}, [](const RowsView& view) {
    ASSERT_EQ(view.width, 5u);
    const std::vector<float> row(view.rows.begin() + 10, view.rows.begin() + 15);
    EXPECT_EQ(row, (std::vector<float>{1, 2, 3, 0, 1}));
  });
}

}  // namespace
}  // namespace thalweg
