#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits.h"
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

// The slices' ranges cover the table once, in order, each on the server that owns it.
void expect_cover(const std::vector<Slice>& slices, const TableSpec& spec, std::uint32_t servers) {
  std::uint16_t next = 0;
  for (const Slice& slice : slices) {
    ASSERT_EQ(slice.ranges.begin, next);
    ASSERT_GT(slice.ranges.size(), 0);
    const RangeSpan owned = server_ranges(spec.ranges, slice.server, servers);
    ASSERT_TRUE(slice.ranges.begin >= owned.begin && slice.ranges.end <= owned.end);
    next = slice.ranges.end;
  }
  ASSERT_EQ(next, spec.ranges);
}

TEST(Slices, OfASparsePushGiveEachKeyAndRowOnce) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto servers = static_cast<std::uint32_t>(1 + random.below(6));
    const TableSpec spec = spec_of(TableSpec::Kind::kSparse, static_cast<std::uint32_t>(1 + random.below(4)),
                                   static_cast<std::uint16_t>(1 + random.below(40)));
    std::vector<std::uint64_t> placed(random.below(200));
    for (auto& key : placed) key = random.next();
    std::sort(placed.begin(), placed.end());
    std::vector<float> values(placed.size() * spec.dim);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Keys keys = Keys::placed(placed);
    const auto slices = slice_push(spec, servers, keys, Rows(values));
    expect_cover(slices, spec, servers);
    std::vector<std::uint64_t> keys_seen;
    std::vector<float> values_seen;
    for (const Slice& slice : slices) {
      for (const std::uint64_t key : slice.keys.as<std::uint64_t>()) {
        ASSERT_TRUE(slice.ranges.contains(range_of(key, spec.ranges)));
        keys_seen.push_back(key);
      }
      const auto floats = slice.values.as<float>();
      values_seen.insert(values_seen.end(), floats.begin(), floats.end());
    }
    ASSERT_EQ(keys_seen, placed);
    ASSERT_EQ(values_seen, values);
    keys_seen.clear();
    for (const Slice& slice : slice_pull(spec, servers, keys)) {
      ASSERT_FALSE(slice.keys.empty());
      const auto of_slice = slice.keys.as<std::uint64_t>();
      keys_seen.insert(keys_seen.end(), of_slice.begin(), of_slice.end());
    }
    ASSERT_EQ(keys_seen, placed);
  }
}

TEST(Slices, OfADenseBlockGiveEachRowOnce) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto servers = static_cast<std::uint32_t>(1 + random.below(6));
    const TableSpec spec = spec_of(TableSpec::Kind::kDense, 2,
                                   static_cast<std::uint16_t>(1 + random.below(20)), 1 + random.below(300));
    const std::uint64_t first = random.below(spec.rows), rows = random.below(spec.rows - first + 1);
    std::vector<float> values(rows * 2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Keys keys = Keys::block(first, rows);
    const auto slices = slice_push(spec, servers, keys, Rows(values));
    expect_cover(slices, spec, servers);
    std::uint64_t next = first;
    for (const Slice& slice : slices) {
      if (slice.keys.empty()) continue;
      ASSERT_EQ(slice.keys.size(), 8u);
      ASSERT_EQ(slice.keys.as<std::uint64_t>()[0], next);
      ASSERT_EQ(slice.values.as<float>()[0], static_cast<float>((next - first) * 2));
      next += slice.values.size() / 8;
      ASSERT_LE(next, range_first_row(slice.ranges.end, spec.ranges, spec.rows));
    }
    ASSERT_EQ(next, first + rows);
    next = first;
    for (const Slice& slice : slice_pull(spec, servers, keys)) {
      ASSERT_EQ(slice.keys.as<std::uint64_t>()[0], next);
      next += slice.keys.as<std::uint64_t>()[1];
    }
    ASSERT_EQ(next, first + rows);
  }
}

TEST(Slices, OfALargeRequestStayBelowTheFramesLimit) {
  const TableSpec spec = spec_of(TableSpec::Kind::kDense, 1 << 10, 256, 40000);
  const std::size_t bytes = spec.rows * spec.dim * sizeof(float);
  ASSERT_GT(bytes, 2 * limits::kFrameBytesMax);
  std::size_t sum = 0;
  for (const Slice& slice :
       slice_push(spec, 2, Keys::block(0, spec.rows), Rows(std::vector<float>(bytes / sizeof(float))))) {
    EXPECT_LE(slice.values.size(), limits::kRequestBytesTarget);
    sum += slice.values.size();
  }
  EXPECT_EQ(sum, bytes);
}

}  // namespace
}  // namespace thalweg
