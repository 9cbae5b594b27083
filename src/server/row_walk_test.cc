#include "server/row_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/mix.h"
#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint16_t kWalkRanges = 7;

TableSpec walked_table(Random& random) {
  TableSpec spec;
  spec.name = "walked";
  spec.dim = static_cast<std::uint32_t>(1 + random.below(80));
  spec.ranges = kWalkRanges;
  spec.rule.kind = random.chance(0.5) ? RuleKind::kAdagrad : RuleKind::kAdam;
  spec.init = {InitSpec::Kind::kUniform, 0.5f};
  if (random.chance(0.4)) {
    spec.kind = TableSpec::Kind::kDense;
    spec.rows = 1 + random.below(900);
  }
  return spec;
}

using AllRows = std::map<std::uint64_t, std::vector<float>>;

void add_rows(AllRows& all, std::span<const std::uint64_t> keys, std::span<const float> rows,
              std::size_t width) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto row = rows.subspan(i * width, width);
    ASSERT_TRUE(all.emplace(keys[i], std::vector<float>(row.begin(), row.end())).second)
        << "a row came twice";
  }
}

AllRows rows_of_table(const Table& table) {
  AllRows all;
  for (std::uint16_t range = 0; range < kWalkRanges; ++range) {
    table.scan(RangeId{range},
               [&](const RowsView& view) { add_rows(all, view.keys, view.rows, view.width); });
  }
  return all;
}

// Some rows that are there and some that are not, as a push of all ranges has them.
void change_some(Random& random, Table& table, RowWalk* walk) {
  const TableSpec& spec = table.spec();
  std::vector<std::uint64_t> keys;
  std::size_t rows = 0;
  if (spec.kind == TableSpec::Kind::kDense) {
    keys.push_back(random.below(spec.rows));
    rows = 1 + random.below(spec.rows - keys[0]);
  } else {
    for (Key key = 0; key < 400; ++key) {
      if (random.chance(0.1)) keys.push_back(place(key));
    }
    std::ranges::sort(keys);
    rows = keys.size();
  }
  std::vector<float> grads(rows * spec.dim);
  for (float& grad : grads) grad = static_cast<float>(random.unit() - 0.5);
  const Contribution change{keys, grads};
  if (walk != nullptr) walk->before(change);
  table.apply({&change, 1});
}

void load_some(Random& random, Table& table, RowWalk& walk) {
  if (table.spec().kind == TableSpec::Kind::kDense) return;
  const Key key = random.below(400);
  const std::vector<std::uint64_t> keys{place(key)};
  const std::vector<float> row(table.stored_width(), 3.0f);
  walk.before_rows(keys);
  ASSERT_TRUE(table.load(range_of(keys[0], kWalkRanges), {keys, row, row.size()}).ok());
}

TEST(RowWalk, HasRowsAsTheyWereWhateverChangesMeanwhile) {
  std::size_t while_changed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const TableSpec spec = walked_table(random);
    const auto table = std::move(*make_table(spec, RangeSpan{0, kWalkRanges}));
    for (std::uint64_t i = random.below(6); i > 0; --i) change_some(random, *table, nullptr);
    const AllRows wanted = rows_of_table(*table);
    RowWalk walk(*table);
    AllRows found;
    for (;;) {
      for (std::uint64_t i = random.below(3); i > 0; --i) change_some(random, *table, &walk);
      if (random.chance(0.3)) load_some(random, *table, walk);
      const auto rows = walk.next(1 + random.below(20'000));
      if (!rows) break;
      const auto keys = rows->rows.keys.as<std::uint64_t>();
      ASSERT_FALSE(keys.empty());
      ASSERT_EQ(rows->width, table->stored_width());
      if (!found.empty()) {
        ASSERT_GT(keys.front(), found.rbegin()->first) << "rows ascend";
      }
      add_rows(found, keys, rows->rows.values.as<float>(), rows->width);
    }
    ASSERT_EQ(found, wanted) << "seed " << seed;
    while_changed += wanted != rows_of_table(*table);
    EXPECT_FALSE(walk.next(1000).has_value());
  }
  EXPECT_GT(while_changed, 200u);
}

TEST(RowWalk, KeepsNoMoreThanHasChangedAndIsToCome) {
  Random random(3);
  TableSpec spec = walked_table(random);
  spec.kind = TableSpec::Kind::kSparse;
  spec.rows = 0;
  const auto table = std::move(*make_table(spec, RangeSpan{0, kWalkRanges}));
  for (int i = 0; i < 60; ++i) change_some(random, *table, nullptr);
  RowWalk walk(*table);
  EXPECT_EQ(walk.kept(), 0u);
  for (int i = 0; i < 40; ++i) change_some(random, *table, &walk);
  const std::size_t all = walk.kept();
  EXPECT_GT(all, 300u);
  EXPECT_LE(all, 400u) << "a row that changes again is kept once";
  std::size_t before = all;
  while (walk.next(std::size_t{1} << 20)) {
    EXPECT_LT(walk.kept(), before);
    before = walk.kept();
  }
  change_some(random, *table, &walk);
  EXPECT_EQ(walk.kept(), before) << "nothing is to come";
}

}  // namespace
}  // namespace thalweg
