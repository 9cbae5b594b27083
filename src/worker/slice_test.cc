#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "base/limits.h"
#include "base/placed_keys.h"
#include "base/random.h"
#include "placement/placement.h"
#include "worker/request.h"

namespace thalweg {
namespace {

TableSpec spec_of(TableSpec::Kind kind, std::uint32_t dim, std::uint16_t ranges, std::uint64_t rows = 0) {
  TableSpec spec;
  spec.kind = kind;
  spec.dim = dim;
  spec.ranges = ranges;
  spec.rows = rows;
  return spec;
}

// Even at first, then moved about.
Placement draw_placement(Random& random, std::uint16_t ranges) {
  const auto servers = static_cast<std::uint32_t>(1 + random.below(6));
  Placement placement = Placement::even(ranges, servers, static_cast<std::uint32_t>(1 + random.below(3)));
  for (std::uint64_t moves = random.below(4); moves > 0; --moves) {
    const auto begin = static_cast<std::uint16_t>(random.below(ranges));
    const auto end = static_cast<std::uint16_t>(begin + 1 + random.below(ranges - begin));
    placement.move({begin, end}, {static_cast<std::uint32_t>(random.below(servers))});
  }
  return placement;
}

std::vector<Slice> slice_all(const TableSpec& spec, const Placement& placement, const Payload& whole) {
  return slice(spec, placement, {0, spec.ranges}, whole);
}

// As when the map changes while all of them are unanswered.
std::vector<Slice> slice_again(const TableSpec& spec, const Placement& placement,
                               const std::vector<Slice>& slices) {
  std::vector<Slice> all;
  for (const Slice& old : slices) {
    auto anew = slice(spec, placement, old.ranges, old.payload);
    std::ranges::move(anew, std::back_inserter(all));
  }
  return all;
}

// The slices' ranges cover the table once, in order, each owned by one server.
void expect_cover(const std::vector<Slice>& slices, const TableSpec& spec, const Placement& placement) {
  std::uint16_t next = 0;
  for (const Slice& one : slices) {
    ASSERT_EQ(one.ranges.begin, next);
    ASSERT_GT(one.ranges.size(), 0);
    ASSERT_TRUE(placement.owner(one.ranges).has_value());
    next = one.ranges.end;
  }
  ASSERT_EQ(next, spec.ranges);
}

void expect_sparse(const std::vector<Slice>& slices, const TableSpec& spec,
                   const std::vector<std::uint64_t>& placed, const std::vector<float>& values) {
  std::vector<std::uint64_t> keys_seen;
  std::vector<float> values_seen;
  for (const Slice& one : slices) {
    for (const std::uint64_t key : one.payload.keys.as<std::uint64_t>()) {
      ASSERT_TRUE(one.ranges.contains(range_of(key, spec.ranges)));
      keys_seen.push_back(key);
    }
    const auto floats = one.payload.values.as<float>();
    values_seen.insert(values_seen.end(), floats.begin(), floats.end());
  }
  ASSERT_EQ(keys_seen, placed);
  ASSERT_EQ(values_seen, values);
}

TEST(Slices, OfASparseRequestGiveEachKeyAndRowOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const TableSpec spec = spec_of(TableSpec::Kind::kSparse, static_cast<std::uint32_t>(1 + random.below(4)),
                                   static_cast<std::uint16_t>(1 + random.below(40)));
    const Placement placement = draw_placement(random, spec.ranges);
    const Placement next = draw_placement(random, spec.ranges);
    std::vector<std::uint64_t> placed(random.below(200));
    for (auto& key : placed) key = random.next();
    std::sort(placed.begin(), placed.end());
    std::vector<float> values(placed.size() * spec.dim);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Keys keys = placed_keys(placed);
    const auto push = slice_all(spec, placement, payload_of_push(keys, Rows(values)));
    expect_cover(push, spec, placement);
    expect_sparse(push, spec, placed, values);
    const auto again = slice_again(spec, next, push);
    expect_cover(again, spec, next);
    expect_sparse(again, spec, placed, values);
    const auto pull = slice_all(spec, placement, payload_of_pull(keys));
    expect_sparse(pull, spec, placed, {});
    expect_sparse(slice_again(spec, next, pull), spec, placed, {});
  }
}

void expect_dense(const std::vector<Slice>& slices, const TableSpec& spec, std::uint64_t first,
                  std::uint64_t rows, bool push) {
  std::uint64_t next = first;
  for (const Slice& one : slices) {
    if (one.payload.empty()) continue;
    const auto keys = one.payload.keys.as<std::uint64_t>();
    ASSERT_EQ(keys.size(), push ? 1u : 2u);
    ASSERT_EQ(keys[0], next);
    ASSERT_GE(keys[0], range_first_row(one.ranges.begin, spec.ranges, spec.rows));
    if (push) {
      ASSERT_EQ(one.payload.values.as<float>()[0], static_cast<float>((next - first) * 2));
    }
    next += push ? one.payload.values.size() / 8 : keys[1];
    ASSERT_LE(next, range_first_row(one.ranges.end, spec.ranges, spec.rows));
  }
  ASSERT_EQ(next, first + rows);
}

TEST(Slices, OfADenseBlockGiveEachRowOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const TableSpec spec = spec_of(TableSpec::Kind::kDense, 2,
                                   static_cast<std::uint16_t>(1 + random.below(20)), 1 + random.below(300));
    const Placement placement = draw_placement(random, spec.ranges);
    const Placement next = draw_placement(random, spec.ranges);
    const std::uint64_t first = random.below(spec.rows), rows = random.below(spec.rows - first + 1);
    std::vector<float> values(rows * 2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Keys keys = Keys::block(first, rows);
    const auto push = slice_all(spec, placement, payload_of_push(keys, Rows(values)));
    expect_cover(push, spec, placement);
    expect_dense(push, spec, first, rows, true);
    const auto again = slice_again(spec, next, push);
    expect_cover(again, spec, next);
    expect_dense(again, spec, first, rows, true);
    const auto pull = slice_all(spec, placement, payload_of_pull(keys));
    expect_dense(pull, spec, first, rows, false);
    expect_dense(slice_again(spec, next, pull), spec, first, rows, false);
  }
}

// Who keeps copies behind an owner is nothing to who asks it.
TEST(Slices, AreOneForEachOwnerWhateverItsChains) {
  const TableSpec spec = spec_of(TableSpec::Kind::kDense, 1, 256, 4096);
  const Placement placement = Placement::even(256, 3, 2);
  ASSERT_GT(placement.runs().size(), 3u);
  const auto slices = slice_all(spec, placement, payload_of_pull(Keys::block(0, spec.rows)));
  expect_cover(slices, spec, placement);
  EXPECT_EQ(slices.size(), 3u);
  EXPECT_EQ(slice(spec, placement, {100, 120}, payload_of_pull(Keys::block(1600, 320))).size(), 1u);
}

TEST(Slices, OfALargeRequestStayBelowTheFramesLimit) {
  const TableSpec spec = spec_of(TableSpec::Kind::kDense, 1 << 10, 256, 40000);
  const std::size_t bytes = spec.rows * spec.dim * sizeof(float);
  ASSERT_GT(bytes, 2 * limits::kFrameBytesMax);
  std::size_t sum = 0;
  const Rows rows(std::vector<float>(bytes / sizeof(float)));
  for (const Slice& one :
       slice_all(spec, Placement::even(256, 2), payload_of_push(Keys::block(0, spec.rows), rows))) {
    EXPECT_LE(one.payload.values.size(), limits::kRequestBytesTarget);
    sum += one.payload.values.size();
  }
  EXPECT_EQ(sum, bytes);
}

}  // namespace
}  // namespace thalweg
