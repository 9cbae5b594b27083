// Which pass's model is kept, when training ends early, and what is not saved.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <filesystem>

#include "train/trainer_for_test.h"

namespace thalweg {
namespace {

// Few rows with an entry of their own each, which passes learn by heart.
class KeepBest : public TrainerTest {
 protected:
  KeepBest() {
    Random random(9);
    options_.files = {folder_.write("few.svm", rows(random, 600, 1))};
    options_.valid = folder_.write("valid.svm", rows(random, 2000, 1));
    options_.valid_part = 0;
    options_.epochs = 8;
    options_.rate = 0.5f;
    options_.l2 = 0.0f;
  }
  // `sign` -1: labels are the other way round.
  static std::string rows(Random& random, std::uint32_t count, int sign) {
    std::string text;
    for (std::uint32_t row = 0; row < count; ++row) {
      const auto a = static_cast<unsigned>(random.unit() * 10),
                 b = static_cast<unsigned>(random.unit() * 900);
      const double chance = 0.5 + sign * 0.05 * (static_cast<double>(a) - 4.5);
      text += fmt::format("{} {}:1 {}:1\n", random.chance(chance) ? 1 : 0, a, 100 + b);
    }
    return text;
  }
  TrainerOptions with(std::uint32_t epochs, std::optional<bool> best) const {
    TrainerOptions options = options_;
    options.epochs = epochs;
    options.keep_best = best;
    return options;
  }
};

TEST_F(KeepBest, IsTheModelOfThatPassWhoeverTrains) {
  const TrainResult kept = run(options_);
  ASSERT_TRUE(kept.status.ok()) << kept.status.message();
  ASSERT_EQ(kept.epochs.size(), 8u);
  ASSERT_GT(kept.kept_epoch, 0u);
  ASSERT_LT(kept.kept_epoch, 8u) << "more passes do worse";
  EXPECT_EQ(kept.kept_epoch, kept.best_epoch);
  const TrainResult shorter = run(with(kept.kept_epoch, false));
  EXPECT_EQ(kept.model_digest, shorter.model_digest);
  EXPECT_EQ(kept.valid_loss, shorter.valid_loss);
  const TrainResult last = run(with(8, false));
  EXPECT_NE(kept.model_digest, last.model_digest);
  EXPECT_EQ(last.kept_epoch, 8u);
  EXPECT_GT(*last.valid_loss, *kept.valid_loss);
  options_.servers = 3, options_.workers = 2;
  EXPECT_EQ(run(options_).model_digest, kept.model_digest);
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / ""))
    entries += entry.path().filename().string().starts_with("model") ? 1 : 0;
  EXPECT_EQ(entries, 1u) << "models of other passes are gone";
}

TEST_F(KeepBest, PatienceEndsATrainingThatGetsNoBetter) {
  const TrainResult whole = run(options_);
  options_.patience = 2;
  options_.epochs = 100;
  const TrainResult ended = run(options_);
  ASSERT_TRUE(ended.status.ok()) << ended.status.message();
  EXPECT_EQ(ended.epochs.size(), whole.kept_epoch + 2u);
  EXPECT_EQ(ended.model_digest, whole.model_digest);
  options_.algorithm = "local:4";
  const TrainResult replicas = run(options_);
  ASSERT_TRUE(replicas.status.ok()) << replicas.status.message();
  EXPECT_EQ(replicas.epochs.size(), replicas.kept_epoch + 2u);
}

TEST_F(KeepBest, AModelThatIsWorseThanNoneIsNotSaved) {
  Random random(4);
  options_.valid = folder_.write("other.svm", rows(random, 2000, -1));
  const TrainResult bad = run(options_);
  EXPECT_TRUE(bad.complete);
  EXPECT_TRUE(bad.model.empty());
  EXPECT_NE(bad.not_kept.find("worse than that of no features"), std::string::npos) << bad.not_kept;
  EXPECT_FALSE(std::filesystem::exists(options_.out));
  options_.keep_bad = true;
  const TrainResult kept = run(options_);
  EXPECT_EQ(kept.model, options_.out);
  EXPECT_TRUE(kept.not_kept.empty());
}

TEST_F(KeepBest, WhatMakesNoSenseIsRefused) {
  options_.keep_best = true;
  options_.checkpoint.directory = folder_ / "kept";
  EXPECT_NE(refused(options_).message().find("--keep best makes no sense with checkpoints"),
            std::string::npos);
  options_.checkpoint.directory.clear();
  options_.valid.clear();
  EXPECT_NE(refused(options_).message().find("--keep best needs held-out rows"), std::string::npos);
  options_.keep_best.reset();
  options_.patience = 1;
  EXPECT_NE(refused(options_).message().find("--patience goes with --keep best"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
