// The exchange beside the backward pass: the production pipeline and exchange on the simulated network.
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/pipeline/training_for_test.h"
#include "topology/presets.h"

namespace thalweg {
namespace {

// Ten layers of 3 ms backward and 3 ms exchange each, as in the source documents' test of overlap: 200 kB
// among four ranks on a ring of 100 MB/s.
constexpr std::uint32_t kLayers = 10;
constexpr std::uint32_t kOverlapRanks = 4;
constexpr std::uint64_t kElements = 50'000;
constexpr Picoseconds kMillisecond = 1'000'000'000;

Training ten_layers(const Topology& room) {
  std::vector<GradientSpec> layers;
  for (std::uint32_t i = 0; i < kLayers; ++i) layers.push_back({"layer" + std::to_string(i), kElements});
  GradientOptions options;
  options.bucket_bytes = kElements * sizeof(float);
  options.piece_bytes = 0;
  options.reduction = Reduction::kSum;
  Plan route = *parse_route("ring");
  route.piece_elements = 1250;  // Records of the pipeline wait behind no more than 50 us of them.
  return Training(room, kOverlapRanks, layers, options, route);
}

// A gradient of small whole numbers, so that sums are exact.
float gradient(std::uint32_t rank, std::uint32_t layer, std::size_t i) {
  return static_cast<float>((rank * 7 + layer * 3 + i) % 64);
}

// When all ranks have all sums; with `overlap` a layer's gradient is announced as it is computed, else after
// the last.
Picoseconds train_once(Training& training, bool overlap) {
  for (std::uint32_t rank = 0; rank < kOverlapRanks; ++rank) {
    for (std::uint32_t done = 1; done <= kLayers; ++done) {
      const std::uint32_t layer = kLayers - done;
      training.at(done * 3 * kMillisecond, rank, [&training, rank, layer] {
        const std::span<float> values = training.tensor(rank, layer);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = gradient(rank, layer, i);
      });
      training.at((overlap ? done : kLayers) * 3 * kMillisecond, rank,
                  [&training, rank, layer] { EXPECT_TRUE(training.announce(rank, layer).ok()); });
    }
  }
  const Picoseconds ended = training.run(1000 * kMillisecond);
  for (std::uint32_t rank = 0; rank < kOverlapRanks; ++rank) {
    EXPECT_TRUE(training.pipeline(rank).idle()) << "rank " << rank;
    EXPECT_TRUE(training.pipeline(rank).status().ok()) << training.pipeline(rank).status().message();
  }
  return ended;
}

// SPEC T7: 60 ms one after the other, 33 ms overlapped, and the same sums; T8: buckets travel in the reverse
// of the order of registration.
TEST(Overlap, HidesTheExchangeBehindTheBackwardPass) {
  const Result<Topology> room = preset("uniform:4,100MB/s,1us");
  ASSERT_TRUE(room.ok()) << room.status().message();
  Training serial = ten_layers(*room), overlapped = ten_layers(*room);
  EXPECT_NEAR(seconds(train_once(serial, false)), 60e-3, 0.02 * 60e-3);
  EXPECT_NEAR(seconds(train_once(overlapped, true)), 33e-3, 0.02 * 33e-3);
  for (std::uint32_t rank = 0; rank < kOverlapRanks; ++rank) {
    ASSERT_EQ(overlapped.begun(rank).size(), kLayers);
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      EXPECT_EQ(overlapped.begun(rank)[kLayers - 1 - layer], overlapped.pipeline(rank).block(layer));
      const std::span<float> sums = overlapped.tensor(rank, layer);
      EXPECT_TRUE(std::ranges::equal(serial.tensor(rank, layer), sums));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        float expected = 0;
        for (std::uint32_t other = 0; other < kOverlapRanks; ++other) expected += gradient(other, layer, i);
        ASSERT_EQ(sums[i], expected) << "rank " << rank << " layer " << layer;
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
