#include "exchange/pipeline/bucket_layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "exchange/pipeline/piece_queue.h"

namespace thalweg {
namespace {

std::vector<GradientSpec> same_sized(std::size_t count, std::uint64_t elements) {
  return std::vector<GradientSpec>(count, GradientSpec{"w", elements});
}

TEST(BucketLayout, FillsBucketsInReverseOrderOfRegistration) {
  const std::vector<GradientSpec> tensors{{"a", 10}, {"b", 20}, {"c", 30}};
  const BucketLayout layout(tensors, 4, 200);
  ASSERT_EQ(layout.buckets().size(), 2u);
  EXPECT_EQ(layout.block(0u), (Block{0, 30}));  // c
  EXPECT_EQ(layout.block(1u), (Block{30, 20}));
  EXPECT_EQ(layout.block(2u), (Block{50, 10}));
  EXPECT_EQ(layout.buckets()[0], (PositionRun{0, 2}));
  EXPECT_EQ(layout.bucket_of(2), 1u);
  EXPECT_EQ(layout.position_at(0), 0u);
  EXPECT_EQ(layout.position_at(29), 0u);
  EXPECT_EQ(layout.position_at(30), 1u);
  EXPECT_EQ(layout.position_at(59), 2u);
}

TEST(BucketLayout, CountsBucketsAsBytesDividedByTheirSize) {
  for (const std::uint64_t mib : {1, 5, 25, 64}) {
    for (const std::size_t count : {1u, 255u, 256u, 6400u, 6401u, 10000u}) {
      const auto tensors = same_sized(count, 1024);  // 4 KB: packs evenly.
      const std::uint64_t bucket = mib << 20, bytes = count * 4096;
      EXPECT_EQ(BucketLayout(tensors, 4, bucket).buckets().size(), (bytes + bucket - 1) / bucket) << count;
    }
  }
  EXPECT_EQ(BucketLayout(same_sized(10000, 1024), 4, 0).buckets().size(), 10000u);
}

TEST(BucketLayout, GivesALargeTensorItsOwnBucket) {
  const std::vector<GradientSpec> tensors{{"a", 1}, {"large", 100}, {"c", 1}};
  EXPECT_EQ(BucketLayout(tensors, 4, 64).buckets().size(), 3u);
}

std::uint64_t units_of(const GradientOptions& options, std::uint64_t* pieces = nullptr) {
  const auto tensors = same_sized(10000, 1024);
  const BucketLayout layout(tensors, 4, options.bucket_bytes);
  PieceQueue queue(layout, options);
  for (std::uint32_t p = 0; p < layout.positions(); ++p) queue.add(p, Instant{});
  std::uint64_t elements = 0, count = 0;
  for (; const auto piece = queue.front(); ++count) {
    elements += piece->count;
    queue.pop();
  }
  EXPECT_EQ(elements, layout.elements());
  if (pieces) *pieces = count;
  return queue.units();
}

TEST(PieceQueue, FusesTenThousandSmallTensorsIntoOneOperation) {
  std::uint64_t pieces = 0;
  EXPECT_EQ(units_of(GradientOptions::threshold(), &pieces), 1u);
  EXPECT_EQ(pieces, 1u);
  GradientOptions off = GradientOptions::threshold();
  off.bucket_bytes = 0;
  EXPECT_EQ(units_of(off), 10000u);
  GradientOptions buckets;
  EXPECT_EQ(units_of(buckets, &pieces), 2u);  // 40.96 MB in buckets of 25 MiB.
  EXPECT_EQ(pieces, 7u + 4u);                 // Of 25 MiB and of the rest, in pieces of 4 MiB.
  buckets.bucket_bytes = 0;
  EXPECT_EQ(units_of(buckets), 10000u);
}

TEST(PieceQueue, LetsAMoreUrgentBucketOvertakeBetweenPieces) {
  const auto tensors = same_sized(3, 4);
  GradientOptions options;
  options.bucket_bytes = 16;
  options.piece_bytes = 8;
  const BucketLayout layout(tensors, 4, options.bucket_bytes);
  PieceQueue queue(layout, options);
  queue.add(0, Instant{});
  EXPECT_EQ(queue.front(), (Block{0, 2}));
  queue.pop();
  queue.add(2, Instant{});
  queue.add(1, Instant{});
  std::vector<std::uint64_t> begins;
  for (; const auto piece = queue.front(); queue.pop()) begins.push_back(piece->begin);
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{8, 10, 4, 6, 2}));
  EXPECT_EQ(queue.units(), 3u);
}

TEST(PieceQueue, ByThresholdFusesReadyNeighboursOnly) {
  const auto tensors = same_sized(6, 1);
  GradientOptions options = GradientOptions::threshold();
  options.bucket_bytes = 8;
  const BucketLayout layout(tensors, 4, options.bucket_bytes);
  PieceQueue queue(layout, options);
  for (const std::uint32_t position : {0u, 1u, 2u, 4u}) queue.add(position, Instant{});
  std::vector<Block> pieces;
  for (; const auto piece = queue.front(); queue.pop()) pieces.push_back(*piece);
  EXPECT_EQ(pieces, (std::vector<Block>{{4, 1}, {1, 2}, {0, 1}}));
}

}  // namespace
}  // namespace thalweg
