#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class WarmStarts : public TrainerTest {
 protected:
  WarmStarts() { options_.keep_best = false; }  // What goes on is the last pass.
};

bool says(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

// Optimizer state, and the rows that only the second pass finds, included.
TEST_F(WarmStarts, TwoTrainingsOfAPassHaveTheBitsOfOneOfTwo) {
  for (const char* model : {"lr", "fm"}) {
    for (const RuleKind rule : {RuleKind::kFtrl, RuleKind::kAdagrad, RuleKind::kAdam, RuleKind::kMomentum}) {
      TrainerOptions whole = options_;
      whole.model = model, whole.optimizer = rule;
      whole.out = folder_ / "whole";
      const TrainResult expected = run(whole);
      ASSERT_TRUE(expected.status.ok()) << expected.status.message();
      whole.out = folder_ / "first", whole.epochs = 1;
      ASSERT_NE(run(whole).model_digest, expected.model_digest);
      TrainerOptions second = options_;
      second.init = folder_ / "first", second.out = folder_ / "second", second.epochs = 1;
      for (const std::uint32_t servers : {1u, 3u}) {
        second.servers = servers, second.workers = 4 - servers;
        const TrainResult result = run(second);
        ASSERT_TRUE(result.status.ok()) << result.status.message();
        EXPECT_EQ(result.model_digest, expected.model_digest) << model << " " << static_cast<int>(rule);
      }
    }
  }
  EXPECT_NE(lines_.find("goes on with model fm at " + (folder_ / "first")), std::string::npos) << lines_;
}

// Whichever way each of them goes: of two shards any route adds up as servers do.
TEST_F(WarmStarts, ThreeTrainingsOfAPassByAnExchangeHaveTheBitsOfOneOfThree) {
  options_.data_shards = 2;
  options_.model = "fm";
  for (const RuleKind rule : {RuleKind::kFtrl, RuleKind::kAdam}) {
    TrainerOptions whole = options_;
    whole.optimizer = rule, whole.epochs = 3;
    const TrainResult expected = run(whole);
    ASSERT_TRUE(expected.status.ok()) << expected.status.message();
    for (const auto& ways : {std::array{"ring", "ring", "ring"},
                             {"servers", "ring", "servers"},
                             {"dense:ring", "dense:ring", "ring"},
                             {"ring", "servers", "dense:auto"}}) {
      TrainerOptions next = options_;
      next.optimizer = rule, next.epochs = 1;
      for (std::size_t pass = 0; pass < ways.size(); ++pass) {
        next.exchange = ways[pass], next.out = folder_ / ("pass" + std::to_string(pass));
        const TrainResult result = run(next);
        ASSERT_TRUE(result.status.ok()) << result.status.message();
        EXPECT_EQ(result.model_digest == expected.model_digest, pass == 2) << ways[pass] << ' ' << pass;
        next.init = next.out;
      }
    }
  }
}

// Rows that no later pass touches get the state that belongs to their weights, too.
TEST_F(WarmStarts, WeightsAloneGoOnByAnExchange) {
  options_.data_shards = 2, options_.epochs = 1;
  options_.exchange = "ring";
  ASSERT_TRUE(run(options_).complete);
  TrainerOptions fewer = options_;
  fewer.files = {folder_.write("few.svm", "1 3:1 101:1\n0 4:1 102:1\n")};
  fewer.valid_part = 0, fewer.init = options_.out, fewer.init_weights_only = true;
  std::vector<std::uint64_t> digests;
  for (const char* exchange : {"servers", "ring", "dense:ring"}) {
    fewer.exchange = exchange, fewer.out = folder_ / "fewer";
    const TrainResult few = run(fewer);
    ASSERT_TRUE(few.status.ok()) << few.status.message();
    TrainerOptions next = options_;
    next.init = fewer.out, next.out = folder_ / "next";
    next.exchange = exchange;
    const TrainResult result = run(next);
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    digests.push_back(result.model_digest);
  }
  EXPECT_EQ(digests[1], digests[0]);
  EXPECT_EQ(digests[2], digests[0]);
}

TEST_F(WarmStarts, LocalStepsGoOnFromTheirMean) {
  options_.algorithm = "local:4", options_.data_shards = 3, options_.epochs = 4;
  const TrainResult whole = run(options_);
  options_.epochs = 2;
  ASSERT_TRUE(run(options_).complete);
  options_.init = options_.out, options_.out = folder_ / "second";
  EXPECT_EQ(run(options_).model_digest, whole.model_digest);
}

TEST_F(WarmStarts, WeightsAloneGoOnByAnyRule) {
  options_.epochs = 1;
  ASSERT_TRUE(run(options_).complete);
  TrainerOptions next = options_;
  next.init = options_.out, next.out = folder_ / "next";
  next.optimizer = RuleKind::kSgd;
  const Status other = refused(next);
  EXPECT_EQ(other.code(), Code::kUsage);
  EXPECT_TRUE(says(other, "optimizer state of the model at " + options_.out + " is that of ftrl"))
      << other.message();
  next.init_weights_only = true, next.rate = 0.0f, next.bias_rate = 0.0f;
  const TrainResult still = run(next);
  ASSERT_TRUE(still.complete) << still.status.message();
  next.init.clear(), next.init_weights_only = false;
  const TrainResult none = run(next);
  EXPECT_GT(still.epochs.back().held_out->auc, 0.65) << "the weights are there, and nothing moves them";
  EXPECT_EQ(none.epochs.back().held_out->auc, 0.5);
}

// The cells of each line in the opposite order.
std::string turned(const std::string& table) {
  std::string out, line;
  for (std::istringstream lines(table); std::getline(lines, line);) {
    std::string back, cell;
    for (std::istringstream cells(line); std::getline(cells, cell, ',');)
      back.insert(0, back.empty() ? cell : cell + ",");
    out += back + "\n";
  }
  return out;
}

TEST_F(WarmStarts, FieldsAreTheModelsInAnyOrderOfColumns) {
  options_.files = {csv_};
  options_.label_column = "click";
  options_.epochs = 1;
  for (const char* model : {"ffm", "lr"}) {
    options_.model = model;
    ASSERT_TRUE(run(options_).complete);
    TrainerOptions still = options_;
    still.init = options_.out, still.init_weights_only = true, still.out = folder_ / "still";
    still.optimizer = RuleKind::kSgd, still.rate = 0.0f, still.bias_rate = 0.0f;
    if (still.model == "ffm") still.factor_optimizer = RuleKind::kSgd, still.factor_rate = 0.0f;
    const TrainResult same = run(still);
    still.files = {folder_.write("turned.csv", turned(read_text(csv_)))};
    const TrainResult other = run(still);
    ASSERT_TRUE(same.complete && other.complete) << same.status.message() << other.status.message();
    EXPECT_NEAR(same.epochs.back().held_out->logloss, other.epochs.back().held_out->logloss, 1e-6) << model;
    EXPECT_EQ(same.model_digest, other.model_digest) << model;
  }
}

TEST_F(WarmStarts, KnowsTheColumnsOfItsData) {
  options_.files = {csv_};
  options_.label_column = "click";
  ASSERT_TRUE(run(options_).complete);
  TrainerOptions next = options_;
  next.label_column.clear();
  next.init = options_.out, next.out = folder_ / "next";
  ASSERT_TRUE(run(next).complete);
  next.columns = "hour:num";
  EXPECT_TRUE(says(refused(next), "--columns hour:num, but the model at")) << refused(next).message();
  next.columns.clear();
  next.weight_column = "hour";
  EXPECT_TRUE(says(refused(next), "column \"hour\" is weight here, and the model was trained with it as"))
      << refused(next).message();
  next.weight_column.clear();
  next.files = {folder_.write("other.csv", "ad,day,click\nad1,h2,1\n")};
  EXPECT_TRUE(says(refused(next), "has no column \"hour\"")) << refused(next).message();
  const std::string svm = folder_.write("other.svm", "1 3:1 117:1\n0 4:1 103:1\n");
  next.files = {svm};
  EXPECT_EQ(refused(next).message(),
            svm +
                ": looks like libsvm, expected CSV with the columns that the model was trained with: "
                "ad:cat,hour:cat,click:label");
}

TEST_F(WarmStarts, WhatDiffersIsRefusedWithTheReason) {
  options_.model = "fm", options_.epochs = 1;
  ASSERT_TRUE(run(options_).complete);
  const auto refusal = [this](auto change) {
    TrainerOptions next;
    next.files = options_.files;
    next.init = options_.out;
    change(next);
    const Status status = refused(next);
    EXPECT_EQ(status.code(), Code::kUsage) << status.message();
    return status;
  };
  EXPECT_TRUE(says(refusal([](TrainerOptions& o) { o.model = "lr"; }), "has model fm; leave --model out"));
  EXPECT_TRUE(
      says(refusal([](TrainerOptions& o) { o.rank = 4; }),
           "--rank 4, but the model at " + options_.out + " has 8; leave --rank out, or train a new model"));
  EXPECT_TRUE(says(refusal([](TrainerOptions& o) { o.loss = Loss::kSquared; }), "has logistic"));
  EXPECT_TRUE(says(refusal([](TrainerOptions& o) { o.hash_bits = 18; }), "has 64-bit ids"));
  EXPECT_TRUE(says(refusal([](TrainerOptions& o) { o.factor_optimizer = RuleKind::kSgd; }),
                   "--init-weights " + options_.out));
  for (const bool weights : {false, true}) {
    const Status taken = refusal([&](TrainerOptions& o) {
      o.algorithm = "downpour";
      o.init_weights_only = weights;
    });
    EXPECT_TRUE(says(taken, (weights ? "--init-weights " : "--init ") + options_.out +
                                " makes no sense with --algorithm downpour: each data shard would begin"))
        << taken.message();
    EXPECT_TRUE(says(taken, "expected sync")) << taken.message();
    EXPECT_FALSE(says(taken, "--optimizer")) << taken.message();
  }
  TrainerOptions next = options_;
  next.init = options_.files[0];
  EXPECT_EQ(refused(next).code(), Code::kModel);
}

TEST_F(WarmStarts, FieldsThatDifferAreNamedByTheirFlag) {
  options_.files = {folder_.write("rows.ffm", "1 0:3:1 1:4:1\n0 0:5:1 1:4:1\n")};
  options_.model = "ffm", options_.valid_part = 0, options_.keep_bad = true;
  ASSERT_TRUE(run(options_).complete);
  TrainerOptions next = options_;
  next.init = options_.out, next.out = folder_ / "next", next.fields = 3;
  EXPECT_TRUE(says(refused(next), "--fields 3, but the model at " + options_.out +
                                      " has 2; leave --fields out, or train a new model"))
      << refused(next).message();
  next.fields.reset();
  EXPECT_TRUE(run(next).complete);
}

// In another format a feature has another key, so that nothing that was learnt would count.
TEST_F(WarmStarts, RowsWhoseFeaturesHaveOtherIdsAreRefused) {
  ASSERT_TRUE(run(options_).status.ok());
  TrainerOptions next = options_;
  next.init = options_.out, next.out = folder_ / "next", next.files = {csv_};
  EXPECT_TRUE(
      says(refused(next), "clicks.csv: is CSV, whose features have other ids than those that the model at"))
      << refused(next).message();
  next.files = options_.files;
  ASSERT_TRUE(run(next).status.ok());
  next.init = next.out, next.files = {csv_};
  EXPECT_FALSE(refused(next).ok()) << "the model that went on says so, too";
}

}  // namespace
}  // namespace thalweg
