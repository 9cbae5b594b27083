#include "thalweg/gradients.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

std::vector<GradientSpec> same_sized(std::size_t count, std::uint64_t elements) {
  std::vector<GradientSpec> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back({"layer" + std::to_string(i), elements});
  return tensors;
}

// Small whole numbers, whose sums and means over 1, 2 or 4 ranks are exact.
float value(std::uint32_t rank, std::size_t tensor, std::size_t i, std::uint32_t step) {
  return static_cast<float>((rank * 8 + tensor * 4 + i * 4 + step * 12) % 64);
}

void compute(Gradients& grads, std::uint32_t rank, std::size_t tensor, std::uint32_t step) {
  const auto values = grads.tensor(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(rank, tensor, i, step);
}

std::string check_sum(Gradients& grads, std::uint32_t ranks, std::size_t tensor, std::uint32_t step,
                      float divisor) {
  const auto values = grads.tensor(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float sum = 0;
    for (std::uint32_t r = 0; r < ranks; ++r) sum += value(r, tensor, i, step);
    if (values[i] != sum / divisor) {
      return "tensor " + std::to_string(tensor) + " element " + std::to_string(i) + " is " +
             std::to_string(values[i]) + ", expected " + std::to_string(sum / divisor);
    }
  }
  return "";
}

// Announces in an order of the rank's own, and waits in another.
std::string train(Group& group, const GradientOptions& options, std::size_t tensors, std::uint64_t seed) {
  auto grads = Gradients::create(group, same_sized(tensors, 700), options);
  if (!grads) return grads.status().message();
  Random random(seed * 100 + group.rank());
  std::vector<std::size_t> order(tensors);
  for (std::size_t i = 0; i < tensors; ++i) order[i] = i;
  const float divisor = options.reduction == Reduction::kMean ? static_cast<float>(group.size()) : 1.0f;
  for (std::uint32_t step = 0; step < 5; ++step) {
    const auto shuffle = [&] {
      for (std::size_t i = tensors; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    };
    shuffle();
    for (const std::size_t tensor : order) {
      compute(*grads, group.rank(), tensor, step);
      if (Status status = grads->announce(tensor); !status.ok()) return status.message();
    }
    shuffle();
    for (const std::size_t tensor : order) {
      if (Status status = grads->wait(tensor); !status.ok()) return status.message();
      if (auto wrong = check_sum(*grads, group.size(), tensor, step, divisor); !wrong.empty()) return wrong;
    }
  }
  return "";
}

TEST(Gradients, AreExchangedInWhateverOrderRanksAnnounceThem) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GradientOptions options = seed % 2 == 0 ? GradientOptions{} : GradientOptions::threshold();
    options.bucket_bytes = seed % 3 * 10000;
    options.piece_bytes = seed % 4 * 1000;
    options.credit_bytes = seed % 5 * 4000;
    options.reduction = seed % 2 == 0 ? Reduction::kMean : Reduction::kSum;
    const auto ranks = std::uint32_t{1} << (seed % 3);
    EXPECT_EQ(on_threads(ranks, [&](Group& group) { return train(group, options, 25, seed); }), "");
  }
}

TEST(Gradients, FuseTenThousandTensorsIntoOneOperation) {
  const auto exchanged = [](Group& group, const GradientOptions& options,
                            Gradients::Stats& stats) -> std::string {
    auto grads = Gradients::create(group, same_sized(10000, 1024), options);
    if (!grads) return grads.status().message();
    for (std::size_t t = 0; t < 10000; t += 999) compute(*grads, group.rank(), t, 0);
    if (Status status = grads->announce_all(); !status.ok()) return status.message();
    if (Status status = grads->wait_all(); !status.ok()) return status.message();
    stats = grads->stats();
    return check_sum(*grads, group.size(), 999, 0, 2);
  };
  const auto body = [&](Group& group) -> std::string {
    Gradients::Stats fused, buckets, off;
    GradientOptions none = GradientOptions::threshold();
    none.bucket_bytes = 0;
    if (auto wrong = exchanged(group, GradientOptions::threshold(), fused); !wrong.empty()) return wrong;
    if (auto wrong = exchanged(group, GradientOptions{}, buckets); !wrong.empty()) return wrong;
    if (auto wrong = exchanged(group, none, off); !wrong.empty()) return wrong;
    if (fused.pieces != 1 || off.pieces != 10000) return "operations of the exchange";
    if (buckets.buckets != 2) return "40.96 MB are two buckets of 25 MiB";
    if (group.rank() == 0 && (fused.units != 1 || buckets.units != 2 || off.units != 10000)) return "fused";
    return "";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

TEST(Gradients, CreditsLimitTheBytesUnderWay) {
  const auto body = [](Group& group) -> std::string {
    GradientOptions options;
    options.piece_bytes = 4000;
    options.credit_bytes = 12000;
    auto grads = Gradients::create(group, same_sized(4, 10000), options);
    if (!grads) return grads.status().message();
    if (Status status = grads->announce_all(); !status.ok()) return status.message();
    if (Status status = grads->wait_all(); !status.ok()) return status.message();
    const auto stats = grads->stats();
    return stats.pieces == 40 && stats.in_flight_bytes_max <= 12000 ? "" : "credits";
  };
  EXPECT_EQ(on_threads(3, body), "");
}

// Records that come while pieces begin are acted upon at once: a rank must not sleep on what it has read.
TEST(Gradients, GoOnWhateverMomentTheOrderComesIn) {
  const auto body = [](Group& group) -> std::string {
    GradientOptions options;
    options.piece_bytes = 400;
    options.credit_bytes = 1600;
    options.bucket_bytes = 2000;
    options.stall_timeout = 10s;
    auto grads = Gradients::create(group, same_sized(20, 300), options);
    if (!grads) return grads.status().message();
    for (int step = 0; step < 200; ++step) {
      if (Status status = grads->announce_all(); !status.ok()) return status.message();
      if (Status status = grads->wait_all(); !status.ok()) return status.message();
    }
    return "";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

TEST(Gradients, AStalledGradientIsNamedOnEveryRank) {
  const auto body = [](Group& group) -> std::string {
    GradientOptions options;
    options.stall_timeout = 2s;  // In which all others are heard of.
    auto grads = Gradients::create(group, same_sized(3, 100), options);
    if (!grads) return grads.status().message();
    for (const std::size_t tensor : {0u, 1u, 2u}) {
      if (tensor == 1 && group.rank() == 2) continue;
      if (Status status = grads->announce(tensor); !status.ok()) return status.message();
    }
    const Status status = grads->wait_all();
    const bool named = status.message().find("gradient 1 'layer1'") != std::string::npos &&
                       status.message().find("announced by ranks 0, 1, not by rank 2") != std::string::npos;
    return status.code() == Code::kTimeout && named ? "" : "status: " + status.message();
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(Gradients, ARankThatLeavesEndsTheOthersWait) {
  for (const std::uint32_t culprit : {0u, 1u}) {
    const auto body = [culprit](Group& group) -> std::string {
      auto grads = Gradients::create(group, same_sized(2, 100));
      if (!grads) return grads.status().message();
      if (Status status = grads->announce(1); !status.ok()) return status.message();
      if (group.rank() == culprit) return "";
      const Status status = grads->wait(1);
      const std::string left = "rank " + std::to_string(culprit) + " has destroyed its gradients";
      return status.code() == Code::kAborted && status.message() == left ? "" : "status: " + status.message();
    };
    EXPECT_EQ(on_threads(3, body), "");
  }
}

TEST(Gradients, RefuseWhatCannotBe) {
  const auto body = [](Group& group) -> std::string {
    GradientOptions options;
    options.type = DataType::kF64;
    options.codec = "f16";
    if (Gradients::create(group, same_sized(1, 1), options).status().code() != Code::kUsage)
      return "codec of f64";
    options = {};
    options.codec = "zip";
    if (Gradients::create(group, same_sized(1, 1), options).status().code() != Code::kUsage)
      return "codec zip";
    if (Gradients::create(group, {}).status().code() != Code::kUsage) return "no tensors";
    auto grads = Gradients::create(group, same_sized(2, 10));
    if (!grads) return grads.status().message();
    if (grads->announce(2).code() != Code::kUsage) return "announce 2";
    if (Status status = grads->announce(0); !status.ok()) return status.message();
    if (grads->announce(0).code() != Code::kUsage) return "announced twice";
    if (Status status = grads->announce(1); !status.ok()) return status.message();
    return grads->wait_all().message();
  };
  EXPECT_EQ(on_threads(2, body), "");
}

// Group operations of the same rank go on while gradients are under way.
TEST(Gradients, ShareTheGroupWithItsOtherOperations) {
  const auto body = [](Group& group) -> std::string {
    auto grads = Gradients::create(group, same_sized(8, 5000));
    if (!grads) return grads.status().message();
    for (std::uint32_t step = 0; step < 10; ++step) {
      for (std::size_t t = 8; t-- > 0;) {
        compute(*grads, group.rank(), t, step);
        if (Status status = grads->announce(t); !status.ok()) return status.message();
        std::vector<float> loss(1, 1.0f);
        if (Status status = group.all_reduce<float>(loss); !status.ok()) return status.message();
        if (loss[0] != static_cast<float>(group.size())) return "loss";
      }
      if (Status status = grads->wait_all(); !status.ok()) return status.message();
      for (std::size_t t = 0; t < 8; ++t) {
        if (auto wrong = check_sum(*grads, group.size(), t, step, 4); !wrong.empty()) return wrong;
      }
    }
    return "";
  };
  EXPECT_EQ(on_threads(4, body), "");
}

// Least squares on data of each rank's own: every codec comes to the same minimum as none.
std::string descend(Group& group, const std::string& codec, std::vector<float>& found) {
  GradientOptions options;
  options.codec = codec;
  auto grads = Gradients::create(group, same_sized(4, 50), options);
  if (!grads) return grads.status().message();
  std::vector<float> weights(200, 0.0f);
  for (int step = 0; step < 500; ++step) {
    for (std::size_t t = 4; t-- > 0;) {
      const auto grad = grads->tensor(t);
      for (std::size_t i = 0; i < 50; ++i) {
        const float target = std::sin(static_cast<float>(50 * t + i)) + (group.rank() == 0 ? 0.25f : -0.25f);
        grad[i] = weights[50 * t + i] - target;
      }
      if (Status status = grads->announce(t); !status.ok()) return status.message();
    }
    for (std::size_t t = 0; t < 4; ++t) {
      if (Status status = grads->wait(t); !status.ok()) return status.message();
      const float rate = step < 300 ? 0.05f : 0.01f;
      for (std::size_t i = 0; i < 50; ++i) weights[50 * t + i] -= rate * grads->tensor(t)[i];
    }
  }
  if (group.rank() == 0) found = weights;
  return "";
}

TEST(Gradients, ConvergeUnderEveryCodec) {
  for (const std::string codec : {"", "f16", "bf16", "int8", "top-k:0.1", "random-k:0.1", "sign"}) {
    SCOPED_TRACE(codec);
    std::vector<float> weights;
    ASSERT_EQ(on_threads(2, [&](Group& group) { return descend(group, codec, weights); }), "");
    double error = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      error = std::max(error, std::abs(weights[i] - std::sin(static_cast<double>(i))));
    }
    EXPECT_LT(error, 0.05);
  }
}

}  // namespace
}  // namespace thalweg
