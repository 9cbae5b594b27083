#include "exchange/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "exchange/pipeline/pipeline_world_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Settings = PipelineWorld::Settings;

std::vector<GradientSpec> equal_gradients(std::size_t count, std::uint64_t elements) {
  std::vector<GradientSpec> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back({"layer" + std::to_string(i), elements});
  return tensors;
}

// A gradient that depends on rank, tensor and element, with small whole numbers, so that sums are exact.
float value(std::uint32_t rank, std::uint32_t tensor, std::size_t i, std::uint32_t step) {
  return static_cast<float>((rank * 7 + tensor * 3 + i + step) % 64);
}

void compute(PipelineWorld& world, std::uint32_t rank, std::uint32_t tensor, std::uint32_t step) {
  const auto grads = world.tensor(rank, tensor);
  for (std::size_t i = 0; i < grads.size(); ++i) grads[i] = value(rank, tensor, i, step);
}

// Ten layers whose backward pass takes 3 ms each.
constexpr std::uint32_t kPipelineLayers = 10;
Settings ten_layers(std::uint32_t ranks) {
  Settings settings;
  settings.ranks = ranks;
  settings.tensors = equal_gradients(kPipelineLayers, 7500);  // 30 KB at 10 MB/s.
  settings.options.bucket_bytes = 30000;
  settings.options.piece_bytes = 10000;
  settings.options.credit_bytes = 20000;
  settings.ns_per_byte = 100;
  return settings;
}

// The exchange is slower than the backward pass, so pieces queue: the first layers' overtake.
TEST(Pipeline, ExchangesFirstWhatTheNextForwardPassNeedsFirst) {
  Settings settings = ten_layers(2);
  settings.ns_per_byte = 1000;
  PipelineWorld world(settings);
  std::vector<Instant> done(kPipelineLayers, kNever);
  for (std::uint32_t r = 0; r < 2; ++r) {
    for (std::uint32_t l = 0; l < kPipelineLayers; ++l) {
      world.at(Instant{} + (l + 1) * 3ms, [&world, r, l] { world.announce(r, kPipelineLayers - 1 - l); });
    }
  }
  world.on_change = [&](std::uint32_t r) {
    for (std::uint32_t layer = 0; layer < kPipelineLayers && r == 1; ++layer) {
      if (world.now() >= Instant{} + 30ms && world.pipeline(r).done(layer))
        done[layer] = std::min(done[layer], world.now());
    }
  };
  world.run();
  EXPECT_TRUE(world.pipeline(0).idle() && world.pipeline(1).idle());
  // What was exchanged after the last layer was announced, at 30 ms, ends in the order of the forward pass.
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end() - 1));
  // Two pieces of 10 ms are under way at 30 ms; then the first layer's three go.
  EXPECT_LE(done[0].ns, Duration(80ms).count());
  EXPECT_LE(world.pipeline(0).stats().in_flight_bytes_max, settings.options.credit_bytes);
}

Settings random_settings(Random& random) {
  Settings settings;
  settings.ranks = 1 + static_cast<std::uint32_t>(random.below(8));
  const std::size_t count = 1 + random.below(40);
  settings.tensors = equal_gradients(count, 1);
  for (auto& tensor : settings.tensors) tensor.elements = 1 + random.below(200);
  settings.options.fusion =
      random.chance(0.5) ? GradientOptions::Fusion::kBuckets : GradientOptions::Fusion::kThreshold;
  settings.options.bucket_bytes = random.below(4) * 500;
  settings.options.piece_bytes = random.below(4) * 100;
  settings.options.credit_bytes = random.below(4) * 300;
  settings.seed = random.next();
  settings.delay_max = Duration(static_cast<std::int64_t>(random.below(100'000)));
  settings.split = random.chance(0.5);
  settings.ns_per_byte = random.unit() * 100;
  settings.per_operation = Duration(static_cast<std::int64_t>(random.below(10'000)));
  return settings;
}

// Every rank announces in an order of its own, at times of its own, and begins a gradient's next step as soon
// as this one is done.
TEST(Pipeline, AgreesWhateverOrderRanksAnnounceIn) {
  constexpr std::uint32_t kSteps = 3;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Settings settings = random_settings(random);
    PipelineWorld world(settings);
    const auto count = static_cast<std::uint32_t>(settings.tensors.size());
    std::vector<std::vector<std::uint32_t>> step(settings.ranks, std::vector<std::uint32_t>(count));
    std::vector<std::vector<bool>> pending(settings.ranks, std::vector<bool>(count, true));
    const auto announce_later = [&](std::uint32_t r, std::uint32_t t) {
      world.at(world.now() + Duration(static_cast<std::int64_t>(random.below(200'000))), [&, r, t] {
        compute(world, r, t, step[r][t]);
        pending[r][t] = false;
        world.announce(r, t);
      });
    };
    for (std::uint32_t r = 0; r < settings.ranks; ++r) {
      for (std::uint32_t t = 0; t < count; ++t) announce_later(r, t);
    }
    world.on_change = [&](std::uint32_t r) {
      for (std::uint32_t t = 0; t < count; ++t) {
        if (pending[r][t] || !world.pipeline(r).done(t)) continue;
        pending[r][t] = true;
        const auto grads = world.tensor(r, t);
        float expected = 0;
        for (std::uint32_t other = 0; other < settings.ranks; ++other)
          expected += value(other, t, 0, step[r][t]);
        ASSERT_EQ(grads[0], expected);
        if (++step[r][t] < kSteps) announce_later(r, t);
      }
    };
    world.run();
    EXPECT_TRUE(world.announce_error().ok()) << world.announce_error().message();
    for (std::uint32_t r = 0; r < settings.ranks; ++r) {
      EXPECT_TRUE(world.pipeline(r).status().ok()) << world.pipeline(r).status().message();
      EXPECT_TRUE(world.pipeline(r).idle()) << "rank " << r;
      EXPECT_EQ(world.begun(r), world.begun(0));
      for (std::uint32_t t = 0; t < count; ++t)
        ASSERT_EQ(step[r][t], kSteps) << "rank " << r << " tensor " << t;
      const std::uint64_t credit = settings.options.credit_bytes;
      const std::uint64_t most = world.pipeline(r).stats().in_flight_bytes_max;
      std::uint64_t largest = 0;
      for (const Block& piece : world.begun(r)) largest = std::max(largest, piece.count * 4);
      EXPECT_LE(most, credit > 0 ? std::max(credit, largest) : most);
    }
    if (HasFailure()) return;
  }
}

TEST(Pipeline, NamesTheRanksThatHaveNotAnnouncedAStalledGradient) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Settings settings = random_settings(random);
    settings.ranks = 2 + static_cast<std::uint32_t>(random.below(6));
    settings.options.stall_timeout = 50ms;
    PipelineWorld world(settings);
    const auto silent = static_cast<std::uint32_t>(random.below(settings.ranks));
    const auto forgotten = static_cast<std::uint32_t>(random.below(settings.tensors.size()));
    for (std::uint32_t r = 0; r < settings.ranks; ++r) {
      for (std::uint32_t t = 0; t < settings.tensors.size(); ++t) {
        if (r == silent && t == forgotten) continue;
        world.at(Instant{} + Duration(static_cast<std::int64_t>(random.below(200'000))),
                 [&, r, t] { world.announce(r, t); });
      }
    }
    std::vector<Instant> failed(settings.ranks, kNever);
    world.on_change = [&](std::uint32_t r) {
      if (!world.pipeline(r).status().ok()) failed[r] = std::min(failed[r], world.now());
    };
    world.run();
    std::string have;
    for (std::uint32_t r = 0; r < settings.ranks; ++r) {
      if (r != silent) have += (have.empty() ? "" : ", ") + std::to_string(r);
    }
    const std::string who =
        "gradient " + std::to_string(forgotten) + " 'layer" + std::to_string(forgotten) + "'";
    for (std::uint32_t r = 0; r < settings.ranks; ++r) {
      const Status& status = world.pipeline(r).status();
      EXPECT_EQ(status.code(), Code::kTimeout) << "rank " << r;
      EXPECT_NE(status.message().find(who), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(" " + have + ", not by rank " + std::to_string(silent)),
                std::string::npos)
          << status.message();
    }
    for (const Instant time : failed) EXPECT_LE(time, Instant{} + 60ms);
  }
}

TEST(Pipeline, SaysThatTheCoordinatorIsSilent) {
  Settings settings;
  settings.tensors = equal_gradients(1, 1);
  settings.options.stall_timeout = 1s;
  PipelineWorld world(settings);
  world.set_dead(0);
  world.announce(1, 0);
  world.run();
  EXPECT_EQ(world.now(), Instant{} + 1500ms);
  EXPECT_EQ(world.pipeline(1).status().code(), Code::kTimeout);
  EXPECT_NE(world.pipeline(1).status().message().find("rank 0, which coordinates"), std::string::npos);
}

TEST(Pipeline, FindsRanksWithOtherGradients) {
  Settings settings;
  settings.tensors = equal_gradients(2, 8);
  Settings other = settings;
  other.tensors[1].elements = 9;
  const auto hash_differs = [](const Status& status) {
    return status.code() == Code::kRefused && status.message().find("other gradients") != std::string::npos;
  };
  PipelineWorld mixed(settings,
                      [&](std::uint32_t rank) { return rank == 0 ? settings.tensors : other.tensors; });
  mixed.announce(0, 0);
  mixed.announce(1, 0);
  mixed.run();
  EXPECT_TRUE(hash_differs(mixed.pipeline(0).status())) << mixed.pipeline(0).status().message();
  EXPECT_TRUE(hash_differs(mixed.pipeline(1).status())) << mixed.pipeline(1).status().message();
}

TEST(Pipeline, RefusesAGradientThatIsUnderWay) {
  Settings settings;
  settings.tensors = equal_gradients(2, 8);
  PipelineWorld world(settings);
  Pipeline& mine = world.pipeline(0);
  EXPECT_TRUE(mine.announce(1, Instant{}).ok());
  EXPECT_EQ(mine.announce(1, Instant{}).code(), Code::kUsage);
  EXPECT_EQ(mine.announce(2, Instant{}).code(), Code::kUsage);
  EXPECT_EQ(Pipeline::check({}, {}).code(), Code::kUsage);
  EXPECT_EQ(Pipeline::check(equal_gradients(1, 0), {}).code(), Code::kUsage);
  EXPECT_EQ(Pipeline::check(equal_gradients(2, std::uint64_t{1} << 63), {}).code(), Code::kUsage);
}

TEST(Pipeline, NamesAGradientThatItsBucketWaitsFor) {
  Settings settings;
  settings.tensors = equal_gradients(3, 8);
  PipelineWorld world(settings);
  for (const std::uint32_t r : {0u, 1u}) {
    world.announce(r, 0);
    world.announce(r, 2);
  }
  world.run();
  for (const std::uint32_t r : {0u, 1u}) {
    const std::string& text = world.pipeline(r).status().message();
    EXPECT_NE(text.find("gradient 1 'layer1' has been waited for 60 s: announced by no rank"),
              std::string::npos)
        << text;
  }
}

TEST(Pipeline, ARankThatFailsEndsAllPipelines) {
  for (const std::uint32_t culprit : {0u, 2u}) {
    Settings settings;
    settings.ranks = 4;
    settings.tensors = equal_gradients(2, 8);
    PipelineWorld world(settings);
    for (std::uint32_t r = 0; r < 4; ++r) world.announce(r, 0);
    world.pipeline(culprit).fail({Code::kData, "a bad row"});
    world.pump(culprit);
    world.run();
    for (std::uint32_t r = 0; r < 4; ++r) EXPECT_EQ(world.pipeline(r).status().message(), "a bad row");
  }
}

}  // namespace
}  // namespace thalweg
