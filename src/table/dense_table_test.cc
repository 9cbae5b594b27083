#include "table/dense_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "table/init_value.h"
#include "table/rules_for_test.h"

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
        ASSERT_TRUE(table.check(parts.back(), {0, 3}).ok());
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

TEST(DenseTable, StoredRowsMoveFromTableToTable) {
  for (const RuleKind kind : {RuleKind::kSgd, RuleKind::kAdagrad, RuleKind::kAdam}) {
    Random random(static_cast<std::uint64_t>(kind));
    const TableSpec spec = spec_of(kind, 3, 20, 4);
    DenseTable from(spec, {0, 4}, nullptr), to(spec, {0, 4}, nullptr);
    const std::uint64_t first = 0, third = 3;
    std::vector<float> grads(20 * 3), stored(5 * from.stored_width()), rows(5 * 3), moved(5 * 3);
    for (float& g : grads) g = static_cast<float>(random.unit() - 0.5);
    const Contribution part{{&first, 1}, grads};
    from.apply({&part, 1});
    from.read_stored({&third, 1}, stored);
    to.write({&third, 1}, from.stored_width(), stored);
    const Contribution more{{&third, 1}, std::span<const float>(grads).first(5 * 3)};
    from.apply({&more, 1});
    to.apply({&more, 1});
    from.read({&third, 1}, rows);
    to.read({&third, 1}, moved);
    EXPECT_EQ(moved, rows) << static_cast<int>(kind);
    to.write({&third, 1}, 3, grads = std::vector<float>(5 * 3, 7.0f));
    to.read({&third, 1}, moved);
    EXPECT_EQ(moved, grads);
    to.read_stored({&third, 1}, stored);
    for (std::size_t d = 3; d < from.stored_width(); ++d) EXPECT_NE(stored[d], 7.0f) << "the state stays";
  }
}

// Tables that own ranges here and there, and change them, hold together what one table holds.
TEST(DenseTable, AnyRangesTogetherAreTheWholeTable) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const auto ranges = static_cast<std::uint16_t>(2 + random.below(8));
    TableSpec spec = spec_of(RuleKind::kAdagrad, 2, 1 + random.below(40), ranges);
    spec.rule.initial_accumulator = 0.1f;
    DenseTable whole(spec, {0, ranges}, nullptr);
    DenseTable parts[2] = {{spec, RangeSet(), nullptr}, {spec, RangeSet(), nullptr}};
    std::vector<std::size_t> owner(ranges);
    for (std::uint16_t r = 0; r < ranges; ++r) {
      owner[r] = random.below(2);
      ASSERT_TRUE(parts[owner[r]].add(RangeSet(r, static_cast<std::uint16_t>(r + 1))).ok());
    }
    for (int step = 0; step < 6; ++step) {
      std::vector<std::vector<Contribution>> shares(2);
      std::vector<Contribution> all;
      std::vector<std::uint64_t> firsts(ranges);
      std::vector<std::vector<float>> grads(ranges);
      for (std::uint16_t r = 0; r < ranges; ++r) {
        firsts[r] = range_first_row(r, ranges, spec.rows);
        const std::uint64_t rows = range_first_row(r + 1u, ranges, spec.rows) - firsts[r];
        grads[r].resize(rows * 2);
        for (float& g : grads[r]) g = static_cast<float>(random.unit() - 0.5);
        if (rows == 0) continue;
        all.push_back({{&firsts[r], 1}, grads[r], r});
        shares[owner[r]].push_back(all.back());
        const RangeSpan only{r, static_cast<std::uint16_t>(r + 1)};
        ASSERT_TRUE(parts[owner[r]].check(all.back(), only).ok());
        ASSERT_EQ(parts[1 - owner[r]].check(all.back(), only).code(), Code::kRefused);
      }
      whole.apply(all);
      for (std::size_t i = 0; i < 2; ++i) {
        if (!shares[i].empty()) parts[i].apply(shares[i]);
      }
      ASSERT_EQ(parts[0].digest() + parts[1].digest(), whole.digest()) << "seed " << seed;
      const auto moved = static_cast<std::uint16_t>(random.below(ranges));
      const RangeSet only(moved, static_cast<std::uint16_t>(moved + 1));
      DenseTable &from = parts[owner[moved]], &to = parts[owner[moved] = 1 - owner[moved]];
      ASSERT_TRUE(to.add(only).ok());
      from.scan(RangeId{moved},
                [&](const RowsView& view) { ASSERT_TRUE(to.load(RangeId{moved}, view).ok()); });
      from.remove(only);
      ASSERT_EQ(parts[0].digest() + parts[1].digest(), whole.digest()) << "seed " << seed;
      ASSERT_EQ(parts[0].stats().rows + parts[1].stats().rows, spec.rows);
    }
  }
}

TEST(DenseTable, ReadsRowsOfRangesThatLieApart) {
  const TableSpec spec = spec_of(RuleKind::kAdd, 1, 40, 4);
  RangeSet owned(0, 1);
  owned.add({2, 3});
  const DenseTable table(spec, owned, nullptr), whole(spec, {0, 4}, nullptr);
  for (const std::uint64_t first : {0u, 3u, 20u, 25u}) {
    std::vector<float> got(5), expected(5);
    table.read({&first, 1}, got);
    whole.read({&first, 1}, expected);
    EXPECT_EQ(got, expected) << first;
  }
  const std::vector<std::uint64_t> between = {12};
  EXPECT_EQ(table.check({between, std::vector<float>{1}}, {1, 2}).code(), Code::kRefused);
  EXPECT_EQ(table.check({between, std::vector<float>{1}}, {0, 3}).code(), Code::kRefused);
}

// Of more ranges than rows some have none, and those around one that another owns have neighbouring rows.
TEST(DenseTable, TellsWhatPartsSumToWhereRangesLieApart) {
  const TableSpec spec = spec_of(RuleKind::kSgd, 1, 5, 7);
  ASSERT_EQ(range_first_row(3, 7, 5), range_first_row(4, 7, 5));
  const RangeSet owned = RangeSet(1, 3) + RangeSet(4, 7);
  DenseTable table(spec, owned, nullptr), other(spec, owned, nullptr);
  const std::uint64_t first = 0, second = 1, third = 2;
  const std::vector<float> two = {1, 2}, three = {3, 4, 5}, one = {6};
  const std::vector<Contribution> parts = {
      {{&first, 1}, two}, {{&third, 1}, three}, {{&second, 1}, one, 1}, {{&third, 1}, two, 1}};
  std::vector<float> told;
  table.apply(parts, [&](const Payload& sum) {
    const Contribution of_rows = contribution_of(sum);
    ASSERT_EQ(of_rows.keys[0], told.size());
    told.insert(told.end(), of_rows.grads.begin(), of_rows.grads.end());
    other.apply({&of_rows, 1});
  });
  EXPECT_EQ(told, (std::vector<float>{1, 8, 4, 6, 5}));
  EXPECT_EQ(table.digest(), other.digest());
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
  EXPECT_TRUE(table.check({std::vector<std::uint64_t>{49}, std::vector<float>{1, 2}}, {2, 5}).ok());
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
      whole.scan(RangeId{r}, [&](const RowsView& view) { EXPECT_TRUE(copy.load(RangeId{r}, view).ok()); });
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
