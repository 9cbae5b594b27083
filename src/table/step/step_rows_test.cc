#include "table/step/step_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "base/cases_for_test.h"
#include "base/random.h"
#include "table/sparse_table.h"

namespace thalweg {
namespace {

TableSpec shown_spec(RuleKind kind, std::uint32_t dim) {
  TableSpec spec;
  spec.name = "t", spec.dim = dim, spec.ranges = 16;
  spec.rule.kind = kind;
  spec.init = {InitSpec::Kind::kNormal, 0.1f, 5};
  return spec;
}

// What one shard pulls and then pushes.
struct ShardStep {
  std::uint32_t position = 0;
  std::vector<std::uint64_t> keys;
  std::vector<float> grads;
  Contribution part() const { return {keys, grads, position}; }
};

std::vector<ShardStep> some_step(Random& random, std::uint32_t dim, std::size_t keys_most) {
  std::vector<ShardStep> step;
  for (std::uint32_t position = 0; position < 13; ++position) {
    if (random.chance(0.3)) continue;
    ShardStep shard{position, {}, {}};
    std::set<std::uint64_t> keys;
    for (std::uint64_t i = random.below(keys_most) + 1; i > 0; --i) keys.insert(place(random.below(2000)));
    shard.keys.assign(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size() * dim; ++i)
      shard.grads.push_back(random.chance(0.1) ? -0.0f : static_cast<float>(random.normal()));
    step.push_back(std::move(shard));
  }
  return step;
}

std::vector<Contribution> parts_of(const std::vector<ShardStep>& step) {
  std::vector<Contribution> parts;
  for (const ShardStep& shard : step) parts.push_back(shard.part());
  return parts;
}

std::size_t distinct_keys(const std::vector<ShardStep>& step) {
  std::set<std::uint64_t> keys;
  for (const ShardStep& shard : step) keys.insert(shard.keys.begin(), shard.keys.end());
  return keys.size();
}

void expect_same_bits(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
}

// Pulls of a step as the server answers them: each list of keys in memory of its own.
void show_all(SparseTable& table, Step step, const std::vector<ShardStep>& shards, const SparseTable& like) {
  for (const ShardStep& shard : shards) {
    const auto keys = std::make_shared<const std::vector<std::uint64_t>>(shard.keys);
    std::vector<float> shown(keys->size() * table.spec().dim), expected(shown.size());
    table.show(step, shard.position, {*keys, keys}, shown);
    like.read(shard.keys, expected);
    expect_same_bits(shown, expected);
  }
}

TEST(KeyNumbers, AreSortedByTheirKeys) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const RangeSet owned = RangeSet(0, 2) + RangeSet(9, 12);
    KeyNumbers numbers;
    numbers.reset(owned, 16);
    std::vector<std::uint32_t> out;
    for (int list = 0; list < 3; ++list) {
      // Most are near the end of a range, the last one too, so that they go past the last slot.
      std::set<std::uint64_t> keys;
      for (std::uint64_t i = random.below(30); i > 0; --i) {
        const std::uint32_t range = random.chance(0.5) ? 11 : 9;
        keys.insert(range_first_key(range + 1, 16) - 1 - random.below(random.chance(0.5) ? 40 : 1ull << 59));
      }
      const std::vector<std::uint64_t> sorted(keys.begin(), keys.end());
      out.resize(sorted.size());
      numbers.add(sorted, out.data());
    }
    std::vector<std::uint64_t> keys;
    std::vector<std::uint32_t> of;
    numbers.sort(keys, of);
    ASSERT_EQ(keys.size(), numbers.keys().size());
    ASSERT_TRUE(std::ranges::is_sorted(keys));
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(numbers.keys()[of[i]], keys[i]);
    ASSERT_EQ(std::set<std::uint32_t>(of.begin(), of.end()).size(), of.size());
  }
}

TEST(StepRows, ChangeNoBit) {
  for (const RuleKind kind : {RuleKind::kFtrl, RuleKind::kAdagrad, RuleKind::kAdam, RuleKind::kAssign}) {
    for (const std::uint32_t dim : {1u, 3u, 8u, 40u}) {
      Random random(100 * dim + static_cast<std::uint64_t>(kind));
      const TableSpec spec = shown_spec(kind, dim);
      SparseTable shown(spec, {0, 16}, nullptr), plain(spec, {0, 16}, nullptr);
      for (std::uint32_t s = 0; s < 30 / kEveryForTest; ++s) {
        std::vector<ShardStep> step = some_step(random, dim, 400);
        if (step.empty()) continue;
        show_all(shown, {0, s}, step, plain);
        if (random.chance(0.2))
          step.back().keys.pop_back(), step.back().grads.resize(step.back().keys.size() * dim);
        if (random.chance(0.2)) step.erase(step.begin());
        shown.apply(parts_of(step));
        plain.apply(parts_of(step));
        ASSERT_EQ(shown.digest(), plain.digest()) << "rule " << static_cast<int>(kind) << ", dim " << dim;
      }
    }
  }
}

// Once a distinct key of a step, and what has to be made once more, for where it goes.
TEST(StepRows, AKeyIsLookedUpOnceAStepWhateverShardsHaveIt) {
  for (const std::uint32_t dim : {1u, 4u}) {
    Random random(dim);
    const TableSpec spec = shown_spec(RuleKind::kFtrl, dim);
    SparseTable table(spec, {0, 16}, nullptr), plain(spec, {0, 16}, nullptr);
    std::size_t rows = 0;
    for (std::uint32_t s = 0; s < 20; ++s) {
      const std::vector<ShardStep> step = some_step(random, dim, 1500);
      if (step.empty()) continue;
      const std::uint64_t before = table.lookups();
      show_all(table, {0, s}, step, plain);
      EXPECT_EQ(table.lookups() - before, distinct_keys(step));
      table.apply(parts_of(step));
      plain.apply(parts_of(step));
      const std::uint64_t made = table.stats().rows - rows;
      rows = table.stats().rows;
      EXPECT_EQ(table.lookups() - before, distinct_keys(step) + made);
    }
    EXPECT_LT(table.lookups(), plain.lookups() / 2);
  }
}

TEST(StepRows, WhatAWideRowBeginsWithIsComputedOnce) {
  constexpr std::uint32_t kDim = 40;
  Random random(3);
  SparseTable table(shown_spec(RuleKind::kAdagrad, kDim), {0, 16}, nullptr);
  const SparseTable untouched(table.spec(), {0, 16}, nullptr);
  const std::vector<ShardStep> step = some_step(random, kDim, 1500);
  show_all(table, {0, 0}, step, untouched);
  table.apply(parts_of(step));
  EXPECT_EQ(table.stats().rows, distinct_keys(step));
  EXPECT_EQ(table.initials_drawn(), distinct_keys(step));
}

// Rows lie elsewhere after any change, and nobody who was shown them earlier may be served by where they lay.
TEST(StepRows, AreForgottenWhenTheTableChanges) {
  Random random(9);
  const TableSpec spec = shown_spec(RuleKind::kAdagrad, 2);
  SparseTable table(spec, {0, 16}, nullptr), plain(spec, {0, 16}, nullptr);
  const std::vector<ShardStep> first = some_step(random, 2, 300);
  table.apply(parts_of(first)), plain.apply(parts_of(first));
  for (int change = 0; change < 4; ++change) {
    const std::vector<ShardStep> step = some_step(random, 2, 300), other = some_step(random, 2, 300);
    const Step now{1, static_cast<std::uint32_t>(change)};
    show_all(table, now, step, plain);
    for (SparseTable* each : {&table, &plain}) {
      if (change == 0) each->apply(parts_of(other));
      if (change == 1) each->write(other[0].keys, 2, other[0].grads);
      if (change == 2) {
        each->remove({3, 9});
        EXPECT_TRUE(each->add({3, 9}).ok());
      }
    }
    if (change == 3) show_all(table, now.next(), other, plain);
    table.apply(parts_of(step)), plain.apply(parts_of(step));
    EXPECT_EQ(table.digest(), plain.digest()) << change;
  }
}

// A push of the memory that was shown, as drivers hand it on.
TEST(StepRows, KeysThatWereShownAreNotCheckedAgain) {
  const TableSpec spec = shown_spec(RuleKind::kFtrl, 1);
  SparseTable table(spec, {0, 16}, nullptr);
  Random random(5);
  ShardStep shard = some_step(random, 1, 500)[0];
  const auto keys = std::make_shared<const std::vector<std::uint64_t>>(shard.keys);
  std::vector<float> shown(keys->size());
  table.show({0, 0}, shard.position, {*keys, keys}, shown);
  const Contribution same{*keys, shard.grads, shard.position};
  const auto looked_at = [&](const Contribution& part, RangeSpan ranges, Code expected) {
    const std::uint64_t before = table.keys_checked();
    EXPECT_EQ(table.check(part, ranges).code(), expected);
    return table.keys_checked() - before;
  };
  EXPECT_EQ(looked_at(same, {0, 16}, Code::kOk), 0U);
  EXPECT_EQ(looked_at(shard.part(), {0, 16}, Code::kOk), keys->size()) << "the same keys elsewhere";
  EXPECT_EQ(looked_at(same, {0, 2}, Code::kRefused), keys->size()) << "the push is of other ranges";
  shard.grads[0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(looked_at(same, {0, 16}, Code::kNonFinite), 0U);
  table.write(shard.keys, 1, shown);
  EXPECT_EQ(looked_at(same, {0, 16}, Code::kNonFinite), keys->size()) << "what was shown is forgotten";
}

// What nobody pushes to is kept for one step at most.
TEST(StepRows, WhoOnlyLooksLeavesNothingBehind) {
  const TableSpec spec = shown_spec(RuleKind::kFtrl, 1);
  SparseTable table(spec, {0, 16}, nullptr);
  Random random(3);
  const std::vector<ShardStep> step = some_step(random, 1, 500);
  for (std::uint32_t s = 0; s < 3; ++s) show_all(table, {0, s}, step, table);
  const std::uint64_t bytes = table.stats().bytes;
  for (std::uint32_t s = 3; s < 100; ++s) show_all(table, {0, s}, step, table);
  EXPECT_EQ(table.stats().bytes, bytes);
}

// Slots for half of them would have the first ones walk past each other, each past all before it.
TEST(KeyNumbers, HaveRoomForAListOfManyFromItsBegin) {
  constexpr std::size_t kKeys = 400'000;
  std::vector<std::uint64_t> keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) keys[i] = place(i);
  std::ranges::sort(keys);
  KeyNumbers numbers;
  numbers.reset(RangeSet(0, 16), 16);
  std::vector<std::uint32_t> found(kKeys);
  numbers.add(std::span(keys).first(10), found.data());
  numbers.add(keys, found.data());
  for (std::size_t i = 0; i < kKeys; ++i) ASSERT_EQ(found[i], i);
  constexpr std::size_t kBytesAKey =
      sizeof(std::uint64_t) + 2 * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  EXPECT_LT(numbers.bytes(), kBytesAKey * kKeys * 11 / 10);
}

TEST(KeyNumbers, GoByTheFirstTime) {
  Random random(1);
  KeyNumbers numbers;
  for (const RangeSet& owned : {RangeSet(0, 16), RangeSet(3, 4), RangeSet(0, 1) + RangeSet(15, 16)}) {
    for (const std::size_t lists : {std::size_t{1}, std::size_t{5}, std::size_t{40}}) {
      numbers.reset(owned, 16);
      std::vector<std::uint64_t> expected;
      for (std::size_t list = 0; list < lists; ++list) {
        std::set<std::uint64_t> chosen;
        while (chosen.size() < 300) {
          const std::uint64_t key = place(random.below(50000));
          if (owned.contains(range_of(key, 16))) chosen.insert(key);
        }
        const std::vector<std::uint64_t> keys(chosen.begin(), chosen.end());
        std::vector<std::uint32_t> found(keys.size());
        numbers.add(keys, found.data());
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const auto known = std::find(expected.begin(), expected.end(), keys[i]);
          ASSERT_EQ(found[i], static_cast<std::size_t>(known - expected.begin()));
          if (known == expected.end()) expected.push_back(keys[i]);
        }
      }
      EXPECT_TRUE(std::ranges::equal(numbers.keys(), expected));
    }
  }
}

}  // namespace
}  // namespace thalweg
