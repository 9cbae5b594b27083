// Ranks that train together through compressed all-reduces come to where uncompressed ones come.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "exchange/codec/codec.h"
#include "exchange/loop_ranks_for_test.h"

namespace thalweg {
namespace {

using Vectors = std::vector<std::vector<float>>;
constexpr std::uint32_t kRanks = 4;

// A loss that is a mean over ranks, each with its own data.
struct Problem {
  std::size_t size = 0;
  float rate = 0;
  std::uint64_t steps = 0;
  std::function<double(const std::vector<float>&)> loss;
  std::function<void(std::uint32_t rank, const std::vector<float>& at, std::vector<float>& gradient)>
      gradient;
};

// Samples whose features grow rarer and whose classes overlap.
Problem logistic_regression() {
  constexpr std::size_t kSize = 300, kSamples = 100;
  struct Sample {
    std::vector<float> x;
    float y;
  };
  Random random(11);
  std::vector<double> truth(kSize);
  for (double& weight : truth) weight = random.normal();
  auto data = std::make_shared<std::vector<std::vector<Sample>>>(kRanks);
  for (auto& samples : *data) {
    for (std::size_t s = 0; s < kSamples; ++s) {
      Sample sample{std::vector<float>(kSize), 0};
      double score = 0;
      for (std::size_t i = 0; i < kSize; ++i) {
        if (random.chance(10.0 / (10.0 + static_cast<double>(i))))
          sample.x[i] = static_cast<float>(random.normal());
        score += truth[i] * static_cast<double>(sample.x[i]);
      }
      sample.y = random.chance(1.0 / (1.0 + std::exp(-score / 3))) ? 1.0f : -1.0f;
      samples.push_back(std::move(sample));
    }
  }
  const auto margin = [](const Sample& sample, const std::vector<float>& w) {
    double sum = 0;
    for (std::size_t i = 0; i < kSize; ++i)
      sum += static_cast<double>(w[i]) * static_cast<double>(sample.x[i]);
    return sum * static_cast<double>(sample.y);
  };
  Problem problem{kSize, 0.5f, 300, {}, {}};
  problem.loss = [=](const std::vector<float>& w) {
    double sum = 0;
    for (const auto& samples : *data) {
      for (const Sample& sample : samples) sum += std::log1p(std::exp(-margin(sample, w)));
    }
    return sum / (kRanks * kSamples);
  };
  problem.gradient = [=](std::uint32_t rank, const std::vector<float>& w, std::vector<float>& gradient) {
    gradient.assign(kSize, 0.0f);
    for (const Sample& sample : (*data)[rank]) {
      const double slope = -static_cast<double>(sample.y) / (1.0 + std::exp(margin(sample, w))) / kSamples;
      for (std::size_t i = 0; i < kSize; ++i) gradient[i] += static_cast<float>(slope) * sample.x[i];
    }
  };
  return problem;
}

// Ranks whose own least losses lie far apart: |w - centre|^2 / 2 each. In the first coordinates they pull
// apart and hard, three one way and one the other, so that magnitudes and majorities both mislead.
Problem disagreement() {
  constexpr std::size_t kSize = 64;
  auto centres = std::make_shared<Vectors>(kRanks, std::vector<float>(kSize));
  Random random(5);
  for (std::size_t i = 0; i < kSize; ++i) {
    const auto common = static_cast<float>(random.normal());
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      const float apart = i < 16 ? (r == i % kRanks ? -30.0f : 10.0f) : 0.0f;
      (*centres)[r][i] = common + apart;
    }
  }
  Problem problem{kSize, 0.05f, 600, {}, {}};
  problem.loss = [=](const std::vector<float>& w) {  // Above the least.
    double sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      double mean = 0;
      for (const auto& centre : *centres) mean += static_cast<double>(centre[i]) / kRanks;
      sum += std::pow(static_cast<double>(w[i]) - mean, 2) / 2;
    }
    return sum;
  };
  problem.gradient = [=](std::uint32_t rank, const std::vector<float>& w, std::vector<float>& gradient) {
    gradient.resize(kSize);
    for (std::size_t i = 0; i < kSize; ++i) gradient[i] = w[i] - (*centres)[rank][i];
  };
  return problem;
}

// The mean of the ranks' gradients, as codec.h says.
std::vector<float> compressed_mean(LoopRanks& ranks, const Codec& codec, const Vectors& gradients,
                                   Vectors& residuals, CodecRound round) {
  const std::size_t count = gradients[0].size(), size = codec.encoded_bytes(count);
  std::vector<std::vector<std::byte>> encoded(kRanks, std::vector<std::byte>(size));
  for (std::uint32_t r = 0; r < kRanks; ++r) codec.encode(gradients[r], residuals[r], round, encoded[r]);
  std::vector<float> mean(count);
  const auto add = [&](std::span<const std::byte> bytes) {
    const Status status = codec.decode_add(bytes, round, 1.0f / kRanks, mean);
    ASSERT_TRUE(status.ok()) << status.message();
  };
  if (const auto arithmetic = codec.arithmetic()) {
    ranks.all_reduce(*arithmetic, encoded);
    add(encoded[0]);
  } else {
    const std::vector<std::byte> all = ranks.all_gather(encoded);
    for (std::uint32_t r = 0; r < kRanks; ++r) add(std::span(all).subspan(r * size, size));
  }
  return mean;
}

// The loss after training; without a codec by plain sums. The rate falls in the second half, so that what
// feedback still owes is paid.
double trained(const Problem& problem, const Codec* codec, bool feedback) {
  LoopRanks ranks(kRanks, "ring");
  std::vector<float> w(problem.size);
  Vectors gradients(kRanks), residuals(kRanks, std::vector<float>(feedback ? problem.size : 0));
  for (std::uint64_t step = 0; step < problem.steps; ++step) {
    for (std::uint32_t r = 0; r < kRanks; ++r) problem.gradient(r, w, gradients[r]);
    const auto half = static_cast<float>(problem.steps) / 2;
    const float rate =
        problem.rate * std::min(1.0f, half / (4 * std::max(0.0f, static_cast<float>(step) - half) + half));
    if (codec) {
      gradients[0] = compressed_mean(ranks, *codec, gradients, residuals, {step, 0});
    } else {
      ranks.all_reduce(Arithmetic::of(DataType::kF32, Reduction::kMean), gradients);
    }
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * gradients[0][i];
  }
  return problem.loss(w);
}

struct Margins {
  const char* codec;
  double logistic;      // Loss with feedback over loss without compression, at most.
  double disagreement;  // Of the first loss, at most, with feedback.
  double without;       // Of the first loss, at least, without feedback; 0 where nothing is known.
};

class CodecConvergence : public testing::TestWithParam<Margins> {};

TEST_P(CodecConvergence, WithFeedbackReachesTheUncompressedLoss) {
  const Problem problem = logistic_regression();
  const double plain = trained(problem, nullptr, false);
  const double start = problem.loss(std::vector<float>(problem.size));
  ASSERT_LT(plain, 0.5 * start);
  const double compressed = trained(problem, make_codec(*parse_codec(GetParam().codec)).get(), true);
  EXPECT_LE(compressed, GetParam().logistic * plain) << plain << " uncompressed, from " << start;
  RecordProperty("loss_to_uncompressed", std::to_string(compressed / plain));
}

// Where every element has the same curvature, 1, it is clear how far a codec lets the rate go: uncompressed
// up to 2.
double left_at_rate(const char* name, float rate) {
  Problem problem = disagreement();
  const double start = problem.loss(std::vector<float>(problem.size));
  problem.rate = rate;
  return trained(problem, make_codec(*parse_codec(name)).get(), true) / start;
}

TEST(RandomKConvergence, TakesTheRatesThatWaitingInTurnAllows) {
  // Each of 10 elements waits for 9 steps and then moves by 10 gradients, so that it takes rates up to 0.2;
  // drawn anew in each step it would diverge from 0.105 on.
  for (const float rate : {0.05f, 0.12f, 0.15f, 0.18f})
    EXPECT_LT(left_at_rate("random-k:0.1", rate), 0.01) << rate;
  EXPECT_LT(left_at_rate("top-k:0.1", 0.15f), 0.1);
}

TEST(RandomKConvergence, NeedsARateBelowTwiceItsShareOverTheCurvature) {
  EXPECT_GT(left_at_rate("random-k:0.1", 0.5f), 1e6);
}

TEST_P(CodecConvergence, FeedbackIsWhatBringsDisagreeingRanksTogether) {
  const Problem problem = disagreement();
  const double start = problem.loss(std::vector<float>(problem.size));
  const auto codec = make_codec(*parse_codec(GetParam().codec));
  const double with = trained(problem, codec.get(), true), without = trained(problem, codec.get(), false);
  EXPECT_LE(with, GetParam().disagreement * start);
  EXPECT_GE(without, GetParam().without * start);
  RecordProperty("with_to_start", std::to_string(with / start));
  RecordProperty("without_to_start", std::to_string(without / start));
}

INSTANTIATE_TEST_SUITE_P(Codecs, CodecConvergence,
                         testing::Values(Margins{"f16", 1.001, 0.001, 0}, Margins{"bf16", 1.001, 0.001, 0},
                                         Margins{"int8", 1.001, 0.001, 0},
                                         Margins{"top-k:0.1", 1.01, 0.01, 10},
                                         Margins{"random-k:0.1", 1.01, 0.01, 0},
                                         Margins{"sign", 1.01, 0.02, 10}),
                         [](const auto& margins) {
                           std::string plain = margins.param.codec;
                           for (char& c : plain) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return plain;
                         });

}  // namespace
}  // namespace thalweg
