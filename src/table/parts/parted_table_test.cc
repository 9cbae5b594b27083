#include "table/parts/parted_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/random.h"
#include "table/parts/move_ranges.h"

namespace thalweg {
namespace {

// Counts what it was given; the last part comes first.
class CountedParts final : public SideBySide {
 public:
  std::size_t width() const override { return 2; }
  void run(std::size_t count, const std::function<void(std::size_t)>& part) override {
    for (std::size_t i = count; i > 0; --i) part(i - 1);
    ++runs;
  }
  int runs = 0;
};

struct KeysAndGrads {
  std::shared_ptr<std::vector<std::uint64_t>> keys = std::make_shared<std::vector<std::uint64_t>>();
  std::vector<float> grads;
  Contribution at(std::uint32_t position) const { return {*keys, grads, position}; }
};

KeysAndGrads drawn(Random& random, std::size_t count, const RangeSet& ranges, const TableSpec& spec) {
  std::set<std::uint64_t> placed;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t key = place(random.below(4 * count));
    if (ranges.contains(range_of(key, spec.ranges))) placed.insert(key);
  }
  KeysAndGrads made;
  made.keys->assign(placed.begin(), placed.end());
  for (std::size_t i = 0; i < placed.size() * spec.dim; ++i)
    made.grads.push_back(static_cast<float>(random.unit() - 0.5));
  return made;
}

// One table and the same in parts, which are to agree on everything.
class PartedTables : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  PartedTables() {
    spec_.name = "t", spec_.dim = GetParam(), spec_.ranges = 16;
    spec_.rule.kind = RuleKind::kFtrl;
    spec_.init = {InitSpec::Kind::kUniform, 0.5f, 11};
    whole_ = std::make_unique<SparseTable>(spec_, owned_, nullptr);
    parted_ = std::make_unique<PartedTable>(spec_, owned_, nullptr, threads_);
  }

  KeysAndGrads draw(std::size_t count) { return drawn(random_, count, whole_->owned(), spec_); }

  void expect_same(const KeysAndGrads& asked) {
    ASSERT_EQ(whole_->digest(), parted_->digest());
    std::vector<float> a(asked.keys->size() * spec_.dim), b(a.size());
    whole_->read(*asked.keys, a), parted_->read(*asked.keys, b);
    ASSERT_EQ(a, b);
    std::vector<float> c(asked.keys->size() * whole_->stored_width()), d(c.size());
    std::vector<bool> no_c(asked.keys->size()), no_d(asked.keys->size());
    whole_->read_stored(*asked.keys, c, &no_c), parted_->read_stored(*asked.keys, d, &no_d);
    ASSERT_EQ(c, d);
    ASSERT_EQ(no_c, no_d);
    ASSERT_EQ(whole_->count_absent(*asked.keys), parted_->count_absent(*asked.keys));
    ASSERT_EQ(whole_->stats().rows, parted_->stats().rows);
  }

  // Rows as two shards see them, and what these then push.
  void step(std::size_t count, std::uint32_t number) {
    const KeysAndGrads first = draw(count), second = draw(count);
    const std::vector<Contribution> pushed{first.at(0), second.at(3)};
    for (const auto* one : {&first, &second}) {
      std::vector<float> a(one->grads.size()), b(a.size());
      const std::uint32_t position = one == &first ? 0 : 3;
      whole_->show({0, number}, position, {*one->keys, one->keys}, a);
      parted_->show({0, number}, position, {*one->keys, one->keys}, b);
      ASSERT_EQ(a, b);
      ASSERT_TRUE(parted_->check(one->at(position), owned_).ok());
    }
    whole_->apply(pushed), parted_->apply(pushed);
    expect_same(first);
  }

  TableSpec spec_;
  RangeSpan owned_{0, 16};
  Random random_{7};
  CountedParts threads_;
  std::unique_ptr<SparseTable> whole_;
  std::unique_ptr<PartedTable> parted_;
};

TEST_P(PartedTables, LearnWhatOneTableLearns) {
  ASSERT_EQ(parted_->size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) step(i % 2 == 0 ? 6000 : 50, i);
  EXPECT_GT(threads_.runs, 0);
  const KeysAndGrads written = draw(5000);
  std::vector<float> rows(written.keys->size() * whole_->stored_width(), 0.25f);
  whole_->write(*written.keys, whole_->stored_width(), rows);
  parted_->write(*written.keys, whole_->stored_width(), rows);
  expect_same(draw(5000));
}

TEST_P(PartedTables, TellWhatAStepSumsToBeforeItChangesRows) {
  for (std::uint32_t round = 0; round < 6; ++round) {
    const KeysAndGrads first = draw(5000), second = draw(5000);
    const std::vector<Contribution> parts{first.at(0), second.at(1)};
    // What was shown is added up in another way.
    for (std::uint32_t i = 0; i < 2 && round % 2 == 1; ++i) {
      const KeysAndGrads& one = i == 0 ? first : second;
      std::vector<float> rows(one.grads.size());
      parted_->show({0, round}, i, {*one.keys, one.keys}, rows);
    }
    std::vector<std::uint64_t> keys;
    std::vector<float> sums;
    const std::uint64_t before = parted_->digest();
    parted_->apply(parts, [&](const Payload& payload) {
      EXPECT_EQ(parted_->digest(), before);
      const Contribution sum = contribution_of(payload);
      keys.insert(keys.end(), sum.keys.begin(), sum.keys.end());
      sums.insert(sums.end(), sum.grads.begin(), sum.grads.end());
    });
    const Payload kept = whole_->sum(parts);
    const Contribution whole = contribution_of(kept);
    EXPECT_TRUE(std::equal(keys.begin(), keys.end(), whole.keys.begin(), whole.keys.end()));
    EXPECT_TRUE(std::equal(sums.begin(), sums.end(), whole.grads.begin(), whole.grads.end()));
    whole_->apply_sum();
    expect_same(first);
  }
}

TEST_P(PartedTables, RangesComeAndGo) {
  step(5000, 0);
  const RangeSet gone = RangeSet(2, 7) + RangeSet(11, 12);
  whole_->remove(gone), parted_->remove(gone);
  EXPECT_EQ(parted_->owned(), whole_->owned());
  expect_same(draw(5000));
  ASSERT_TRUE(whole_->add({3, 5}).ok());
  ASSERT_TRUE(parted_->add({3, 5}).ok());
  EXPECT_EQ(parted_->owned(), whole_->owned());
  const KeysAndGrads more = draw(5000);
  const Contribution pushed = more.at(0);
  whole_->apply({&pushed, 1}), parted_->apply({&pushed, 1});
  expect_same(more);
  for (std::uint16_t r = 0; r < spec_.ranges; ++r) {
    std::vector<std::uint64_t> keys_of_whole, keys_of_parted;
    std::vector<float> rows_of_whole, rows_of_parted;
    whole_->copy_rows(RangeId{r}, 0, 100000, keys_of_whole, rows_of_whole);
    parted_->copy_rows(RangeId{r}, 0, 100000, keys_of_parted, rows_of_parted);
    ASSERT_EQ(keys_of_whole, keys_of_parted);
    ASSERT_EQ(rows_of_whole, rows_of_parted);
  }
}

// Rows of a range lie where they lay, learn on in their new table, and outlive the old one.
TEST_P(PartedTables, GetRangesOfAnotherTable) {
  const RangeSet some = RangeSet(1, 4) + RangeSet(9, 16);
  // Cut at other places.
  std::unique_ptr<Table> copies = std::make_unique<PartedTable>(spec_, RangeSet(0, 3), nullptr, threads_);
  ASSERT_TRUE(copies->add({3, 16}).ok());
  for (int round = 0; round < 3; ++round) {
    const KeysAndGrads push = draw(6000);
    const Contribution pushed = push.at(0);
    whole_->apply({&pushed, 1}), copies->apply({&pushed, 1});
  }
  parted_->remove(some);
  ASSERT_TRUE(move_ranges(*copies, *parted_, some).ok());
  EXPECT_EQ(parted_->owned(), RangeSet(owned_));
  EXPECT_EQ(copies->owned(), RangeSet(owned_) - some);
  parted_->remove(RangeSet(owned_) - some);
  ASSERT_TRUE(move_ranges(*copies, *parted_, RangeSet(owned_) - some).ok());
  EXPECT_EQ(copies->stats().rows, 0U);
  copies.reset();
  const KeysAndGrads more = draw(6000);
  const Contribution pushed = more.at(0);
  whole_->apply({&pushed, 1}), parted_->apply({&pushed, 1});
  expect_same(more);
}

// Whatever is wrong with a push is said in the words of one table.
TEST_P(PartedTables, RefuseWhatOneTableRefuses) {
  const auto alike = [&](const Contribution& part, RangeSpan ranges) {
    const Status whole = whole_->check(part, ranges), parted = parted_->check(part, ranges);
    EXPECT_EQ(whole.ok(), parted.ok());
    EXPECT_EQ(whole.message(), parted.message());
    return parted.ok();
  };
  const KeysAndGrads good = draw(6000);
  EXPECT_TRUE(alike(good.at(0), owned_));
  EXPECT_FALSE(alike(good.at(0), {1, 16}));
  EXPECT_FALSE(alike(good.at(0), {0, 17}));
  for (int i = 0; i < 40; ++i) {
    KeysAndGrads bad = good;
    bad.keys = std::make_shared<std::vector<std::uint64_t>>(*good.keys);
    std::swap((*bad.keys)[random_.below(bad.keys->size())], (*bad.keys)[random_.below(bad.keys->size())]);
    alike(bad.at(0), owned_);
    bad.grads[random_.below(bad.grads.size())] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(alike(bad.at(0), owned_));
    bad.grads.pop_back();
    EXPECT_FALSE(alike(bad.at(0), owned_));
  }
  whole_->remove({4, 6}), parted_->remove({4, 6});
  EXPECT_FALSE(alike(good.at(0), owned_));
}

INSTANTIATE_TEST_SUITE_P(OfFloats, PartedTables, ::testing::Values(1U, 3U));

TEST(MoveRanges, TakesDenseRowsToo) {
  TableSpec spec;
  spec.name = "t", spec.kind = TableSpec::Kind::kDense, spec.dim = 3, spec.rows = 40, spec.ranges = 8;
  spec.init = {InitSpec::Kind::kUniform, 0.5f, 11};
  const auto whole = make_table(spec, {0, 8}), to = make_table(spec, {5, 8}), from = make_table(spec, {0, 5});
  const std::uint64_t first = 0, sixth = range_first_row(5, 8, 40);
  const std::vector<float> grads(40 * 3, 0.5f);
  const auto push = [&](Table& table, const std::uint64_t& row, std::uint64_t rows) {
    const Contribution pushed{{&row, 1}, std::span(grads).first(rows * 3)};
    table.apply({&pushed, 1});
  };
  push(**whole, first, 40), push(**from, first, sixth), push(**to, sixth, 40 - sixth);
  ASSERT_TRUE(move_ranges(**from, **to, {0, 5}).ok());
  EXPECT_EQ((*to)->digest(), (*whole)->digest());
  EXPECT_TRUE((*from)->owned().empty());
}

TEST(PartedTable, HasNoMorePartsThanRanges) {
  TableSpec spec;
  spec.name = "t", spec.ranges = 16;
  CountedParts threads;
  EXPECT_EQ(PartedTable(spec, {5, 8}, nullptr, threads).size(), 3U);
  EXPECT_EQ(PartedTable(spec, RangeSet(0, 1) + RangeSet(9, 10), nullptr, threads).size(), 2U);
  EXPECT_EQ(PartedTable(spec, {}, nullptr, threads).size(), 4U);
}

}  // namespace
}  // namespace thalweg
