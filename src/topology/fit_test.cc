#include "topology/fit.h"

#include <gtest/gtest.h>

#include <random>

#include "topology/room_for_test.h"
#include "topology/topology.h"

namespace thalweg {
namespace {

std::vector<Sample> measured(double latency, double bytes_per_second) {
  std::vector<Sample> samples;
  for (double bytes = 8; bytes <= 1 << 26; bytes *= 2)
    samples.push_back({bytes, latency + bytes / bytes_per_second});
  return samples;
}

TEST(Fit, FindsTheLineOfExactSamples) {
  const Result<LinkFit> fit = fit_link(measured(2e-6, 16e9));
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->speed.latency_ns, 2000u);
  EXPECT_NEAR(fit->speed.bytes_per_second, 16e9, 16e3);
  EXPECT_LT(fit->error, 1e-6);
}

TEST(Fit, ShrugsOffNoiseAndOutliers) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> noise(0.97, 1.03);
  std::vector<Sample> samples = measured(5e-6, 2.5e9);
  for (Sample& sample : samples) sample.seconds *= noise(random);
  samples[3].seconds *= 50;  // A rank that was put to sleep.
  samples[20].seconds *= 8;
  const Result<LinkFit> fit = fit_link(samples);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(static_cast<double>(fit->speed.latency_ns), 5000, 250);
  EXPECT_NEAR(fit->speed.bytes_per_second, 2.5e9, 0.125e9);
  EXPECT_LT(fit->error, 0.05);
}

TEST(Fit, KeepsParametersAtZeroOrAbove) {
  const Result<LinkFit> fit = fit_link({{1000, 0.9e-6}, {2000, 2e-6}, {4000, 4.1e-6}});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->speed.latency_ns, 0u);
  EXPECT_NEAR(fit->speed.bytes_per_second, 1e9, 0.1e9);
}

TEST(Fit, RefusesWhatIsNoLink) {
  EXPECT_EQ(fit_link({}).status().message(),
            "no link fits the samples: 0 of them; expected two different sizes or more");
  EXPECT_EQ(fit_link({{8, 1}, {8, 2}}).status().code(), Code::kUsage);
  EXPECT_EQ(fit_link({{8, 1}, {16, 0}}).status().code(), Code::kUsage);
  EXPECT_EQ(fit_link({{8, 2}, {16, 2}, {1e6, 1}}).status().message(),
            "no link fits the samples: larger ones took no longer; expected time to grow with size");
}

TEST(Fit, AMeasuredRoomIsATopology) {
  const Result<Topology> topology = Topology::make(measured_room("this machine", 4, {5e9, 300}));
  ASSERT_TRUE(topology);
  std::vector<LinkIndex> path;
  topology->path(1, 3, path);
  EXPECT_EQ(topology->latency_ns(path), 300u);
  EXPECT_EQ(narrowest(*topology, path), 5e9);
  EXPECT_EQ(topology->even_levels(), std::vector<std::uint32_t>{4});
}

}  // namespace
}  // namespace thalweg
