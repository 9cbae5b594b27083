// Published scaling of data-parallel training: steps of 512 GPUs by the production pipeline and exchange on a
// simulated network. docs/published.md has the inputs and where they are from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "exchange/pipeline/training_for_test.h"
#include "exchange/plan/layout.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

// Layers in the order of the forward pass, and what share of a backward pass each takes: that of its
// products.
struct Layers {
  std::vector<GradientSpec> layers;
  std::vector<double> products;

  void add(std::uint64_t weights, std::uint64_t others, double uses) {
    layers.push_back({fmt::format("layer{}", layers.size()), weights + others});
    products.push_back(static_cast<double>(weights) * uses);
  }
  // A kernel of so many weights for each of side x side places, with so many further numbers a channel.
  void convolve(std::uint64_t in, std::uint64_t out, std::uint64_t kernel, double side,
                std::uint64_t others) {
    add(in * out * kernel * kernel, others * out, side * side);
  }
  std::uint64_t parameters() const {
    return std::accumulate(layers.begin(), layers.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const GradientSpec& layer) { return sum + layer.elements; });
  }
};

// Simonyan and Zisserman 2015, configuration D.
Layers vgg16() {
  Layers net;
  std::uint64_t in = 3;
  double side = 224;
  for (const auto& [channels, layers] : {std::pair{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    const auto out = static_cast<std::uint64_t>(channels);
    for (int i = 0; i < layers; ++i, in = out) net.convolve(in, out, 3, side, 1);
    side /= 2;
  }
  net.add(25088 * 4096, 4096, 1);
  net.add(4096 * 4096, 4096, 1);
  net.add(4096 * 1000, 1000, 1);
  return net;
}

// He et al. 2016, table 1; two numbers a channel for each batch normalisation.
Layers resnet101() {
  Layers net;
  net.convolve(3, 64, 7, 112, 2);
  std::uint64_t in = 64;
  double side = 56;
  for (const auto& [width, blocks] : {std::pair{64, 3}, {128, 4}, {256, 23}, {512, 3}}) {
    const auto middle = static_cast<std::uint64_t>(width), out = 4 * middle;
    for (int i = 0; i < blocks; ++i, in = out) {
      if (i == 0) net.convolve(in, out, 1, side, 2);
      net.convolve(in, middle, 1, side, 2);
      net.convolve(middle, middle, 3, side, 2);
      net.convolve(middle, out, 1, side, 2);
    }
    side /= 2;
  }
  net.add(2048 * 1000, 1000, 1);
  return net;
}

// Szegedy et al. 2016: 94 convolutions and a last layer of 2048 to 1000. The convolutions are taken to be
// alike.
Layers inception_v3() {
  constexpr std::uint64_t kConvolutions = 94, kLast = 2048 * 1000, kAll = 23'900'000;
  Layers net;
  for (std::uint64_t i = 0; i < kConvolutions; ++i) net.add((kAll - kLast) / kConvolutions, 0, 300);
  net.add(kLast, 1000, 1);
  return net;
}

// The part of a step that is computing, by a ring and buckets as large as Horovod's fusion buffer. A gradient
// of 64 images takes 64/`images_per_second`, a third of it forward.
double efficiency(const Layers& net, double images_per_second) {
  constexpr std::uint32_t kRanks = 512;
  const Topology room = room_of("rack-25g", kRanks);
  GradientOptions options = GradientOptions::threshold();
  options.fusion = GradientOptions::Fusion::kBuckets;  // What happens to be ready is many more operations.
  Training training(room, kRanks, net.layers, options, *parse_route("ring"), true);
  const double step = 64 / images_per_second, forward = step / 3;
  const double all = std::accumulate(net.products.begin(), net.products.end(), 0.0);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    double done = forward;
    for (std::size_t layer = net.layers.size(); layer-- > 0;) {
      done += (step - forward) * net.products[layer] / all;
      training.at(static_cast<Picoseconds>(done * 1e12), rank, [&training, rank, layer] {
        EXPECT_TRUE(training.announce(rank, static_cast<std::uint32_t>(layer)).ok());
      });
    }
  }
  const double ended = seconds(training.run(10'000'000'000'000));
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(training.pipeline(rank).idle()) << rank;
  return step / std::max(ended, step);
}

TEST(Published, ModelsHaveTheSizesThatTheirPapersSay) {
  EXPECT_EQ(vgg16().parameters(), 138'357'544u);
  EXPECT_EQ(resnet101().parameters(), 44'549'160u);
  EXPECT_NEAR(static_cast<double>(inception_v3().parameters()), 23.9e6, 0.01e6);
  const auto products = [](const Layers& net) {
    return std::accumulate(net.products.begin(), net.products.end(), 0.0);
  };
  EXPECT_NEAR(products(vgg16()), 15.5e9, 0.1e9);
  EXPECT_NEAR(products(resnet101()), 7.6e9, 0.3e9);
}

// Horovod's documentation says 90, 90 and 68 % of 512 times one GPU; the page says what ours are.
TEST(Published, HorovodScalesTo512Gpus) {
  struct Scaling {
    Layers net;
    double images_per_second;
    double published;
    double ours;
  };
  for (const auto& [net, images_per_second, published, ours] :
       {Scaling{inception_v3(), 142, 0.90, 0.951}, Scaling{resnet101(), 129, 0.90, 0.922},
        Scaling{vgg16(), 154, 0.68, 0.715}}) {
    const double found = efficiency(net, images_per_second);
    EXPECT_NEAR(found, published, 0.1 * published) << net.parameters();
    EXPECT_NEAR(found, ours, 0.001) << net.parameters();
  }
}

}  // namespace
}  // namespace thalweg
