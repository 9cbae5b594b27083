#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/command/commands.h"
#include "cli/options/resolve.h"
#include "cli/options/trainer_options.h"
#include "cli/path_for_test.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

class TrainOptions : public testing::Test {
 protected:
  ~TrainOptions() override { std::filesystem::remove(path_); }

  // What `thalweg train WORDS` makes of `rows` rows of `entries` entries.
  TrainerOptions spec(int rows, int entries, std::vector<std::string> words) {
    std::ofstream file(path_);
    for (int r = 0; r < rows; ++r) {
      file << r % 2;
      for (int e = 1; e <= entries; ++e) file << ' ' << e << ":1";
      file << '\n';
    }
    file.close();
    words.insert(words.begin(), {"train", path_});
    const auto line = parse_command_line(program_commands(), words);
    EXPECT_TRUE(line) << line.status().message();
    const auto options = resolve(*line, {});
    EXPECT_TRUE(options) << options.status().message();
    const auto trainer = Trainer::open(trainer_options(*options, 0));
    EXPECT_TRUE(trainer) << trainer.status().message();
    return trainer->options();
  }

  std::string path_ = test_path("train_options.svm");
};

TEST_F(TrainOptions, ClicksAreLearntByFtrlAndRatingsByAdagrad) {
  EXPECT_EQ(spec(9, 2, {}).optimizer, RuleKind::kFtrl);
  EXPECT_EQ(spec(9, 2, {"--model", "fm"}).optimizer, RuleKind::kFtrl);
  EXPECT_EQ(spec(9, 2, {"--loss", "squared"}).optimizer, RuleKind::kAdagrad);
}

TEST_F(TrainOptions, AFileMayHoldValuesForOtherChoices) {
  const std::string config = test_path("other_choices.toml");
  std::ofstream(config) << "[model]\nrank = 8\n[train]\nlayer_rate = 0.5\n";
  EXPECT_EQ(spec(9, 2, {"--config", config, "--model", "lr"}).rank, std::nullopt);
  EXPECT_EQ(spec(9, 2, {"--config", config, "--model", "fm"}).rank, 8u);
  std::filesystem::remove(config);
}

TEST_F(TrainOptions, FactorRateFallsWithThePairsOfARow) {
  EXPECT_FLOAT_EQ(spec(9, 1, {"--model", "fm"}).factor_rate.value(), 0.2f);
  EXPECT_FLOAT_EQ(spec(9, 5, {"--model", "fm"}).factor_rate.value(), 0.2f);
  EXPECT_FLOAT_EQ(spec(9, 10, {"--model", "fm"}).factor_rate.value(), 6.0f / 45);
  EXPECT_FLOAT_EQ(spec(9, 39, {"--model", "fm"}).factor_rate.value(), 6.0f / 741);
  EXPECT_FLOAT_EQ(spec(9, 39, {"--model", "fm", "--factor-rate", "0.5"}).factor_rate.value(), 0.5f);
}

TEST_F(TrainOptions, BiasMakesUpForTheEntriesThatRowsLack) {
  EXPECT_EQ(*spec(9, 2, {}).bias_rate, 20 * 0.1f);
  EXPECT_EQ(*spec(9, 10, {"--rate", "0.5"}).bias_rate, 4 * 0.5f);
  EXPECT_EQ(spec(9, 20, {}).bias_rate, std::nullopt);
  for (const char* other : {"sgd", "adagrad"})
    EXPECT_EQ(spec(9, 2, {"--optimizer", other}).bias_rate, std::nullopt);
  EXPECT_EQ(*spec(9, 2, {"--bias-rate", "0.3"}).bias_rate, 0.3f);
}

TEST_F(TrainOptions, RateOfSgdIsForTheSumOverAStepsRows) {
  EXPECT_FLOAT_EQ(spec(9, 2, {"--optimizer", "sgd", "--batch", "100"}).rate.value(), 0.0075f);
  EXPECT_FLOAT_EQ(spec(9, 2, {"--optimizer", "sgd", "--batch", "1000"}).rate.value(), 0.00075f);
  EXPECT_FLOAT_EQ(spec(9, 2, {"--batch", "1000"}).rate.value(), 0.1f);
}

bool help_says(std::string_view option, const std::string& text) {
  return find_option(option)->help.find(text) != std::string_view::npos;
}

TEST_F(TrainOptions, TheHelpNamesTheDefaultsThatAreTaken) {
  const auto rate = [&](std::vector<std::string> words) {
    return fmt::format("{:.3g}", spec(9, 2, std::move(words)).rate.value());
  };
  EXPECT_TRUE(help_says("rate", "unset is " + rate({}) + " for ftrl"));
  EXPECT_TRUE(
      help_says("rate", fmt::format("{} for adagrad ({} for squared loss, times the spread of its labels "
                                    "where that is far from 1, and for poisson, {} for classes)",
                                    rate({"--optimizer", "adagrad"}), rate({"--loss", "squared"}),
                                    rate({"--loss", "classes"}))));
  EXPECT_EQ(rate({"--loss", "poisson"}), rate({"--loss", "squared"}));
  EXPECT_TRUE(help_says("rate", rate({"--optimizer", "rmsprop"}) + " for rmsprop"));
  for (const char* name : {"adam", "adamw"}) EXPECT_EQ(rate({"--optimizer", name}), "0.01");
  EXPECT_TRUE(help_says("rate", "0.01 for the others"));
  EXPECT_TRUE(help_says("rate", "over --batch " + rate({"--optimizer", "sgd", "--batch", "1"}) + " for sgd"));
  for (const char* name : {"momentum", "nesterov"}) {
    EXPECT_EQ(rate({"--optimizer", name, "--batch", "1"}), "0.1");
    EXPECT_EQ(rate({"--optimizer", name, "--batch", "1", "--loss", "squared"}), "0.025");
  }
  EXPECT_TRUE(
      help_says("rate", "0.1 for momentum and nesterov (a quarter of that for squared loss and poisson)"));
  const TrainerOptions fm = spec(9, 2, {"--model", "fm"});
  EXPECT_TRUE(help_says("rank", fmt::format("unset is {}", *fm.rank)));
  EXPECT_TRUE(help_says("init-scale", fmt::format("unset is {}", fm.init_scale)));
  EXPECT_TRUE(help_says("data-shards", fmt::format("unset is {}", *fm.data_shards)));
}

TEST_F(TrainOptions, TheHelpNamesEveryAlgorithm) {
  for (const Algorithm* algorithm : algorithms()) {
    const std::string name(algorithm->name);
    EXPECT_TRUE(help_says("algorithm", ' ' + name + ',') || help_says("algorithm", ' ' + name + ':') ||
                help_says("algorithm", ' ' + name + ';'))
        << name;
  }
}

TEST_F(TrainOptions, PenaltiesDependOnRuleAndLossAndCanBeSwitchedOff) {
  EXPECT_EQ(spec(9, 2, {}).l2, 10.0f);
  EXPECT_EQ(spec(9, 2, {"--l2", "0"}).l2, 0.0f);
  EXPECT_EQ(spec(9, 2, {"--optimizer", "adagrad"}).l2, 0.0f);
  EXPECT_EQ(spec(9, 2, {"--model", "fm"}).factor_l2, 0.02f);
  EXPECT_EQ(spec(9, 2, {"--model", "fm", "--loss", "squared"}).factor_l2, 0.5f);
}

TEST_F(TrainOptions, AnAlgorithmIsAConsistencyByAnotherName) {
  for (const auto& [algorithm, sync] : {std::pair("sync", "bsp"), {"ssp:4", "ssp:4"}, {"async", "async"}}) {
    EXPECT_EQ(spec(9, 2, {"--algorithm", algorithm}).consistency.value(),
              spec(9, 2, {"--sync", sync}).consistency.value())
        << algorithm;
  }
  EXPECT_EQ(spec(9, 2, {}).consistency.value(), Consistency::sync());
}

TEST_F(TrainOptions, BatchGrowsWithTheRows) {
  EXPECT_EQ(spec(1000, 10, {}).batch.value(), 256u);
  const std::uint32_t rows = 50000;
  const std::uint32_t fewer_steps = spec(rows, 10, {"--model", "fm"}).batch.value();
  EXPECT_GT(fewer_steps, rows / 100);
  EXPECT_LT(fewer_steps, rows / 25);
  EXPECT_EQ(spec(1000, 10, {"--batch", "77"}).batch.value(), 77u);
}

}  // namespace
}  // namespace thalweg
