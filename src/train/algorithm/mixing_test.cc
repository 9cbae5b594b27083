#include "train/algorithm/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

Result<MixingMatrix> mixing_of(const std::string& text, std::uint32_t size) {
  const TemporaryFolder folder;
  return mixing_matrix(folder.write("mixing.txt", text), size);
}

TEST(Mixing, ARingsSecondEigenvalueIsThatOfThePaper) {
  for (const auto& [size, expected] : {std::pair(4u, 1.0 / 3), {8u, (1 + std::sqrt(2.0)) / 3}}) {
    const auto ring = mixing_matrix("ring", size);
    ASSERT_TRUE(ring);
    EXPECT_NEAR((*ring)(0, 0), 1.0 / 3, 1e-15);
    EXPECT_NEAR((*ring)(0, 1), 1.0 / 3, 1e-15);
    EXPECT_NEAR((*ring)(0, size - 1), 1.0 / 3, 1e-15);
    EXPECT_NEAR(second_eigenvalue(*ring), expected, 1e-6) << size;
  }
}

TEST(Mixing, EveryGraphIsSymmetricAndAddsUpToOne) {
  for (const char* graph : {"ring", "torus", "exponential", "complete"}) {
    double last = 0;
    for (std::uint32_t size : {1u, 2u, 3u, 4u, 6u, 7u, 9u, 12u, 16u, 25u}) {
      const auto matrix = mixing_matrix(graph, size);
      ASSERT_TRUE(matrix) << graph << ' ' << size << ": " << matrix.status().message();
      EXPECT_TRUE(check(*matrix).ok());
      last = second_eigenvalue(*matrix);
    }
    EXPECT_LT(last, 1) << graph;
  }
  EXPECT_NEAR(second_eigenvalue(*mixing_matrix("complete", 9)), 0, 1e-9);
}

// A step keeps the mean and brings replicas together by the second eigenvalue.
TEST(Mixing, ConsensusComesByTheSecondEigenvalueAndTheMeanStays) {
  for (std::uint32_t size : {4u, 8u}) {
    const auto matrix = mixing_matrix("ring", size);
    Random random(size);
    std::vector<double> x;
    double mean = 0;
    for (std::uint32_t i = 0; i < size; ++i) x.push_back(random.unit()), mean += x.back() / size;
    const auto error = [&] {
      double sum = 0;
      for (const double value : x) sum += (value - mean) * (value - mean);
      return std::sqrt(sum);
    };
    double before = 0, after = 0;
    for (int step = 0; step < 30; ++step) {
      before = error();
      std::vector<double> next(size);
      double now = 0;
      for (std::uint32_t i = 0; i < size; ++i) {
        for (std::uint32_t j = 0; j < size; ++j) next[i] += (*matrix)(i, j) * x[j];
        now += next[i] / size;
      }
      x = next;
      EXPECT_NEAR(now, mean, 1e-12);
      if (step == 14) after = error() / before;
    }
    EXPECT_NEAR(after / second_eigenvalue(*matrix), 1, 0.02) << size;
  }
}

TEST(Mixing, WhatIsNoMixingMatrixIsRefusedWithTheReason) {
  const auto refused = [](const std::string& text, std::uint32_t size, std::string_view expected) {
    const auto matrix = mixing_of(text, size);
    ASSERT_FALSE(matrix) << text;
    EXPECT_NE(matrix.status().message().find(expected), std::string::npos) << matrix.status().message();
  };
  refused("0.5 0.5\n0.6 0.4\n", 2, "0.5 of shard 0 for 1, and 0.6");
  refused("0.5 0.4\n0.4 0.6\n", 2, "add up to 0.9; expected 1");
  refused("1.5 -0.5\n-0.5 1.5\n", 2, "expected 0 to 1");
  refused("1 0\n0 1\n", 2, "never bring all shards together");
  refused("0 1\n1 0\n", 2, "never bring all shards together");
  refused("0.5 0.5\n", 2, "1 lines of numbers; expected 2");
  refused("0.5 0.5\n0.5\n", 2, ":2: 1 numbers; expected 2");
  refused("0.5 x\n", 2, ":1: 'x");
  EXPECT_FALSE(mixing_matrix("rign", 4));
  const TemporaryFolder folder;
  EXPECT_NE(mixing_matrix(folder / "", 4).status().message().find("no such graph, and a directory"),
            std::string::npos);
  EXPECT_FALSE(mixing_matrix("ring", 5000));
  EXPECT_TRUE(mixing_of("0.5, 0.5\n\n0.5\t0.5\n", 2));
}

}  // namespace
}  // namespace thalweg
