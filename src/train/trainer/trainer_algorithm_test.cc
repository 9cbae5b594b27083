// Trainings by each algorithm and exchange.
#include <fstream>
#include <thread>
#include <vector>

#include "base/rule_fields.h"
#include "data/files_for_test.h"
#include "data/read_options.h"
#include "net/socket/reserved_port_for_test.h"
#include "thalweg/dense_model.h"
#include "train/algorithm/algorithm.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

TEST_F(TrainerTest, AnAlgorithmSaysWhatAConsistencySays) {
  options_.out.clear();
  const TrainResult lockstep = run(options_);
  options_.algorithm = "sync";
  const TrainResult named = run(options_);
  ASSERT_TRUE(named.status.ok()) << named.status.message();
  EXPECT_EQ(named.model_digest, lockstep.model_digest);
  EXPECT_EQ(named.staleness_max, 0u);
  for (const char* lockstep_too : {"ssp:0", "max-wait:60s"}) {
    options_.algorithm = lockstep_too;
    EXPECT_EQ(run(options_).model_digest, lockstep.model_digest) << lockstep_too;
  }
  options_.algorithm = "ssp:0";
  options_.workers = 1;
  EXPECT_EQ(run(options_).model_digest, lockstep.model_digest) << "ssp:0 by one worker";
  options_.workers = 0;
  options_.algorithm = "backup:0";
  const TrainResult none_late = run(options_);
  EXPECT_EQ(none_late.model_digest, lockstep.model_digest);
  EXPECT_EQ(none_late.pushes_dropped, 0u);
  options_.algorithm = "ssp:2";
  const TrainResult bounded = run(options_);
  ASSERT_TRUE(bounded.status.ok()) << bounded.status.message();
  EXPECT_LE(bounded.staleness_max, 2u);
  options_.algorithm.clear();
  options_.consistency = Consistency::bounded(0);
  EXPECT_EQ(run(options_).model_digest, lockstep.model_digest);
  options_.consistency = Consistency::softsync(2);
  const TrainResult counted = run(options_);
  EXPECT_TRUE(counted.status.ok()) << counted.status.message();
}

TEST_F(TrainerTest, TwoSpellingsMustAgreeAndFewCombine) {
  options_.algorithm = "ssp:2";
  const auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer) << trainer.status().message();
  EXPECT_EQ(trainer->options().consistency, Consistency::bounded(2));
  EXPECT_TRUE(Trainer::open(trainer->options())) << "what was chosen may be given again";
  options_.consistency = Consistency::sync();
  EXPECT_EQ(refused(options_).code(), Code::kUsage);
  options_.consistency.reset();
  options_.combine = Combining::machine();
  EXPECT_NE(refused(options_).message().find("--combine"), std::string::npos);
  for (const char* combines : {"sync", "softsync:2"}) {
    options_.algorithm = combines;
    EXPECT_TRUE(Trainer::open(options_)) << combines;
  }
  options_.algorithm = "rudra";
  EXPECT_NE(refused(options_).message().find("--combine"), std::string::npos);
  options_.algorithm = "rudra-adv:1,tree=3";
  EXPECT_NE(refused(options_).message().find("by tree=K"), std::string::npos);
  options_.combine = Combining::none();
  const auto by_tree = Trainer::open(options_);
  ASSERT_TRUE(by_tree);
  EXPECT_EQ(by_tree->options().combine, Combining::tree(3));
  EXPECT_EQ(by_tree->options().servers, 1u);
  EXPECT_TRUE(Trainer::open(by_tree->options()));
  options_.combine = Combining::machine();
  options_.algorithm.clear();
  options_.consistency = Consistency::async();
  EXPECT_EQ(refused(options_).code(), Code::kUsage);
}

TEST_F(TrainerTest, RudraIsSoftsyncByOneServer) {
  options_.out.clear();
  options_.algorithm = "rudra";
  options_.threads = 3;  // Of softsync, as many servers.
  const auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer) << trainer.status().message();
  EXPECT_EQ(trainer->options().servers, 1u);
  EXPECT_EQ(trainer->options().consistency, Consistency::softsync(1));
  const TrainResult result = run(trainer->options());
  EXPECT_TRUE(result.status.ok()) << result.status.message();
}

TEST_F(TrainerTest, AnExchangeOfTwoShardsHasTheBitsOfServers) {
  options_.out.clear();
  options_.data_shards = 2;
  for (const char* model : {"lr", "fm"}) {
    options_.model = model;
    options_.exchange = "servers";
    const TrainResult servers = run(options_);
    for (const char* exchange : {"auto", "ring", "tree:2", "dense:auto", "dense:ring", "dense:tree:2"}) {
      options_.exchange = exchange;
      const TrainResult result = run(options_);
      ASSERT_TRUE(result.status.ok()) << exchange << ": " << result.status.message();
      EXPECT_GT(result.exchange_seconds_exposed, 0);
      EXPECT_LT(result.idle_share, 1);
      EXPECT_EQ(result.model_digest, servers.model_digest) << model << ' ' << exchange;
      EXPECT_EQ(result.epochs.back().held_out->auc, servers.epochs.back().held_out->auc);
    }
  }
}

// This route adds up as servers do.
TEST_F(TrainerTest, DenseTablesByARouteBesideSparseOnesOnServers) {
  options_.data_shards = 5;
  options_.model = "fm";
  for (const RuleKind rule : {RuleKind::kFtrl, RuleKind::kAdam, RuleKind::kMomentum}) {
    options_.optimizer = rule;
    options_.out.clear();
    options_.exchange = "servers";
    const TrainResult by_servers = run(options_);
    options_.exchange = "dense:binomial-tree";
    for (const std::uint32_t servers : {1u, 3u}) {
      options_.servers = servers;
      const TrainResult result = run(options_);
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      EXPECT_EQ(result.model_digest, by_servers.model_digest) << rule_name(rule) << ' ' << servers;
      EXPECT_EQ(result.model_rows, by_servers.model_rows);
      EXPECT_EQ(result.epochs.front().held_out->auc, by_servers.epochs.front().held_out->auc);
      EXPECT_EQ(result.staleness_max, 0u);
    }
    options_.combine = Combining::machine();
    EXPECT_EQ(run(options_).model_digest, by_servers.model_digest)
        << "sparse pushes are added up on their way";
    options_.combine = Combining::none();
  }
}

// The one with fewer rows has ended its pass while the other goes on, by both ways.
TEST_F(TrainerTest, ShardsOfUnequalPartsShareDenseTablesToo) {
  std::string few;
  for (int row = 0; row < 300; ++row) few += "1 " + std::to_string(row % 7) + ":1\n";
  options_.files.push_back(folder_.write("few.svm", few));
  options_.data_shards = 2, options_.batch = 64, options_.valid_part = 0, options_.epochs = 3;
  const TrainResult by_servers = run(options_);
  options_.exchange = "dense:ring";
  EXPECT_EQ(run(options_).model_digest, by_servers.model_digest);
}

TEST_F(TrainerTest, EveryAlgorithmLearnsClicks) {
  options_.out.clear();
  options_.epochs = 4;
  options_.data_shards = 3;
  for (const char* algorithm :
       {"sync", "ssp:2", "async", "softsync:1", "softsync:3", "rudra:3", "rudra-adv", "rudra-adv:3,tree=1",
        "backup:0", "backup:1", "downpour:fetch=2,push=3", "easgd", "dcasgd", "dcasgd-a"}) {
    options_.algorithm = algorithm;
    const TrainResult result = run(options_);
    ASSERT_TRUE(result.status.ok()) << algorithm << ": " << result.status.message();
    EXPECT_GT(result.epochs.back().held_out->auc, 0.65) << algorithm;
    const std::uint64_t all = 4 * (kRows - kRows / 10);
    const bool passes_over = std::string(algorithm) == "backup:1";
    EXPECT_LE(result.examples, all) << algorithm;
    EXPECT_GE(result.examples, passes_over ? all / 2 : all) << algorithm;
  }
  for (const char* algorithm : {"local:1", "local:8", "fedavg:E=2"}) {
    options_.algorithm = algorithm;
    const TrainResult result = run(options_);
    ASSERT_TRUE(result.status.ok()) << algorithm << ": " << result.status.message();
    EXPECT_GT(result.epochs.back().held_out->auc, 0.65) << algorithm;
    EXPECT_EQ(run(options_).model_digest, result.model_digest) << algorithm << ": the same bits again";
  }
}

// One weight that nothing moves: any algorithm takes it.
class StillModel final : public DenseModel {
 public:
  std::vector<DenseParameter> parameters() const override { return {{"weight", {1}}}; }
  double learn(const DenseRows& rows, std::span<const std::span<const float>>, std::span<float> scores,
               std::span<const std::span<float>> gradients) override {
    std::fill(scores.begin(), scores.end(), 0.0f);
    for (const std::span<float> gradient : gradients) std::fill(gradient.begin(), gradient.end(), 0.0f);
    return static_cast<double>(rows.count);
  }
};

TEST_F(TrainerTest, AlgorithmsThatTakeCheckpointsGoOnFromThem) {
  const DenseModelKind still("still", [](const DenseSizes&) { return std::make_unique<StillModel>(); });
  options_.model = "still", options_.more.models = {still.get()}, options_.loss = Loss::kLogistic;
  options_.out.clear();
  options_.data_shards = 2;
  options_.checkpoint.every_steps = 4;
  std::vector<std::string> kept;
  for (const Algorithm* const algorithm : algorithms()) {
    const std::string name(algorithm->name);
    for (const char* more : {"", ":ring", ":1", ":50ms"}) {
      options_.algorithm = name + more;
      if (Trainer::open(options_)) break;
    }
    TrainerOptions begun = options_;
    ASSERT_TRUE(Trainer::open(begun)) << begun.algorithm << ": " << refused(begun).message();
    begun.checkpoint.directory = folder_ / ("kept-" + std::to_string(kept.size()));
    if (!Trainer::open(begun)) {
      EXPECT_NE(refused(begun).message().find("--algorithm " + name), std::string::npos)
          << refused(begun).message();
      continue;
    }
    kept.push_back(name);
    EXPECT_TRUE(run(begun).status.ok()) << name;
    begun.checkpoint.resume = "auto";
    const TrainResult gone_on = run(begun);
    EXPECT_TRUE(gone_on.status.ok()) << name << ": " << gone_on.status.message();
  }
  EXPECT_EQ(kept, (std::vector<std::string>{"sync", "ssp", "max-wait", "async", "softsync", "rudra",
                                            "rudra-adv", "backup"}));
}

TEST_F(TrainerTest, AHeldOutRowWithMoreInputsIsNamedByItsLine) {
  const DenseModelKind still("still", [](const DenseSizes&) { return std::make_unique<StillModel>(); });
  options_.model = "still", options_.more.models = {still.get()}, options_.loss = Loss::kLogistic;
  options_.valid_part = 0;
  options_.valid = folder_.write("held-out.svm", "1 3:1\n0 123:1\n1 2:1 130:1\n0 5:1\n");
  const TrainResult result = run(options_);
  EXPECT_EQ(result.status.code(), Code::kData);
  EXPECT_NE(
      result.status.message().find("held-out.svm:3: the row has feature 130; model still takes 0 to 123\n"
                                   "hint: train with --inputs 131 or more"),
      std::string::npos)
      << result.status.message();
  options_.inputs = 131;
  EXPECT_TRUE(run(options_).status.ok());
  options_.valid = folder_.write("wide.svm", "1 3:1\n0 2000000:1\n");  // More than any --inputs.
  EXPECT_NE(run(options_).status.message().find("takes 0 to 130\nhint: train with --hash-bits 12"),
            std::string::npos)
      << run(options_).status.message();
}

TEST_F(TrainerTest, AStepWaitsForSomeShard) {
  options_.data_shards = 4;
  options_.algorithm = "backup:3";
  EXPECT_TRUE(Trainer::open(options_));
  for (const char* all : {"backup:4", "backup:5"}) {
    options_.algorithm = all;
    const Status status = refused(options_);
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("expected 0 to 3, or more --data-shards"), std::string::npos)
        << status.message();
  }
  options_.algorithm.clear(), options_.consistency = Consistency::backup(4);
  EXPECT_EQ(refused(options_).code(), Code::kUsage);
}

TEST_F(TrainerTest, FewerClientsLearnFewerRows) {
  options_.data_shards = 4;
  options_.epochs = 6;
  options_.algorithm = "fedavg:C=0.5";
  const TrainResult result = run(options_);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_LT(result.examples, 4 * (kRows - kRows / 10));
  EXPECT_GT(result.examples, 2 * (kRows - kRows / 10));
}

// Packed files are unpacked once for all shards, whose rows wait for them in limited room.
TEST_F(TrainerTest, ClientsThatSitARoundOutHoldUpNoReaderOfPackedRows) {
  const std::string comment = " #" + std::string(50000, 'x') + "\n";
  std::string rows;
  for (std::uint32_t row = 0; rows.size() < 3 * kStashBytes; ++row)
    rows += std::to_string(row % 2) + " " + std::to_string(row % 2 + 1) + ":1" + comment;
  options_.files = {folder_.write("wide.svm.zst", zstd_packed(rows))};
  options_.valid_part = 0;
  options_.data_shards = 4;
  options_.timeout = std::chrono::seconds(30);
  options_.algorithm = "fedavg:C=0.5";
  const TrainResult result = run(options_);
  EXPECT_TRUE(result.status.ok()) << result.status.message();
}

TEST_F(TrainerTest, NodesThatJoinExchangeAmongThemselves) {
  options_.data_shards = 2;
  options_.exchange = "ring";
  const TrainResult here = run(options_);
  ASSERT_TRUE(here.complete) << here.status.message();
  auto trainer = Trainer::open(options_);
  ASSERT_TRUE(trainer);
  TrainNode node;
  node.node.scheduler = "127.0.0.1:" + std::to_string(port_for_this_test());
  std::vector<TrainNodeEnd> ends(3);
  TrainResult result;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { ends[0] = run_train_server(node); });
  threads.emplace_back([&] { ends[1] = run_train_worker(node); });
  threads.emplace_back([&] { ends[2] = run_train_worker(node); });
  threads.emplace_back([&] { result = trainer->run(node.node); });
  for (std::thread& thread : threads) thread.join();
  for (const TrainNodeEnd& end : ends) EXPECT_TRUE(end.status.ok()) << end.status.message();
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.model_digest, here.model_digest);
}

// The others wait for it in an exchange, and must not until their timeout.
TEST_F(TrainerTest, AShardThatFailsTellsWhyAndHoldsNobody) {
  std::ofstream(options_.files[0], std::ios::app) << "1 5:1\n0 6:x\n";
  options_.valid_part = 0;
  options_.timeout = std::chrono::hours(1);
  options_.data_shards = 3;
  for (const auto& [algorithm, exchange] :
       {std::pair("sync", "ring"), {"sync", "dense:ring"}, {"local:2", "auto"}, {"fedavg", "auto"}}) {
    options_.algorithm = algorithm, options_.exchange = exchange;
    const TrainResult result = run(options_);
    EXPECT_EQ(result.status.code(), Code::kData) << algorithm;
    EXPECT_NE(result.status.message().find("clicks.svm:4002"), std::string::npos) << result.status.message();
  }
}

TEST_F(TrainerTest, AnExchangeEndsEarlyWhenItIsAskedTo) {
  options_.epochs = 100000;
  Trainer* running = nullptr;
  options_.on_progress = [&](const TrainProgress& now) {
    if (now.examples > 0) running->close();
  };
  for (const auto& [algorithm, exchange] :
       {std::pair("sync", "auto"), {"sync", "dense:auto"}, {"local:16", "auto"}, {"fedavg:E=2", "auto"}}) {
    options_.algorithm = algorithm, options_.exchange = exchange;
    auto trainer = Trainer::open(options_);
    ASSERT_TRUE(trainer);
    running = &*trainer;
    const TrainResult result = trainer->run();
    EXPECT_EQ(result.status.code(), Code::kAborted) << algorithm << ": " << result.status.message();
    EXPECT_TRUE(result.complete) << algorithm;
  }
}

TEST_F(TrainerTest, WhatMakesNoSenseTogetherIsRefusedWithTheReason) {
  const auto refusal = [this](const char* algorithm, const char* exchange, auto change) {
    TrainerOptions options = options_;
    options.algorithm = algorithm, options.exchange = exchange;
    change(options);
    const Status status = refused(options);
    EXPECT_EQ(status.code(), Code::kUsage) << status.message();
    return status.message();
  };
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  const auto as_is = [](TrainerOptions&) {};
  EXPECT_TRUE(says(refusal("async", "ring", as_is), "--exchange ring makes no sense with --algorithm async"));
  EXPECT_TRUE(says(refusal("local:2", "servers", as_is), "expected auto, ring"));
  EXPECT_TRUE(says(refusal("sync", "rnig", as_is), "'rnig' is unknown"));
  EXPECT_TRUE(says(refusal("sync", "dense:rnig", as_is), "'rnig' is unknown"));
  for (const char* with_servers : {"cpu", "servers:1", "byteps:2", "dense:servers"})
    EXPECT_TRUE(says(refusal("sync", with_servers, as_is), "whose own gradients count for nothing"));
  EXPECT_TRUE(says(refusal("async", "dense:ring", as_is), "whose updates are the servers'"));
  EXPECT_TRUE(
      says(refusal("local:2", "dense:ring", as_is),
           "--exchange dense:ring makes no sense with --algorithm local, whose shards have replicas"));
  EXPECT_TRUE(says(
      refusal("async", "", [](TrainerOptions& o) { o.servers = 1, o.workers = o.data_shards.emplace(8191); }),
      "--servers and --workers, together"));
  EXPECT_TRUE(says(refusal("dpsgd:ring", "", as_is), "makes no sense with --model lr"));
  EXPECT_TRUE(says(refusal("easgd", "", [](TrainerOptions& o) { o.optimizer = RuleKind::kFtrl; }), "ftrl"));
  EXPECT_TRUE(says(refusal("rudra-adv*", "", as_is), "workers would pass on all rows"));
  EXPECT_TRUE(says(refusal("rudra:2", "", [](TrainerOptions& o) { o.servers = 2; }),
                   "--servers 2 makes no sense with --algorithm rudra, which has one server"));
  EXPECT_TRUE(says(refusal("sync", "ring", [](TrainerOptions& o) { o.workers = 2, o.data_shards = 3; }),
                   "expected the same number"));
  EXPECT_TRUE(says(refusal("sync", "ring", [](TrainerOptions& o) { o.combine = Combining::machine(); }),
                   "--combine makes no sense with --exchange ring"));
}

}  // namespace
}  // namespace thalweg
