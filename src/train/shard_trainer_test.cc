// One shard's training on a store that answers at once: what its reports say, and what the reporter makes of
// it.
#include "train/shard_trainer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "base/completion.h"
#include "base/temporary_folder_for_test.h"
#include "model/model.h"
#include "train/train_report.h"

namespace thalweg {
namespace {

struct Report {
  ReportId id;
  std::string text;
};

class InstantStore final : public Store {
 public:
  explicit InstantStore(Step first) : step_(first) {}
  std::vector<Report> reports;
  bool answers_reports = true;

  ShardId shard() const override { return ShardId{0}; }
  bool closing() const override { return false; }
  Step step() const override { return step_; }
  Pending push(TableId, Keys, Rows) override { return done(); }
  Pending pull(TableId, Keys keys) override {  // A table of lr has one float a row.
    Answer answer;
    answer.rows = Rows(std::vector<float>(keys.size()));
    return done(std::move(answer));
  }
  Pending read(TableId table, Keys keys) override { return pull(table, std::move(keys)); }
  Pending advance() override { return step_ = step_.next(), done(); }
  Pending end_epoch() override { return step_ = step_.next_epoch(), done(); }
  Pending end_work() override { return step_ = kEndOfWork, done(); }
  Pending barrier(BarrierId) override { return done(); }
  Pending report(ReportId id, std::string text) override {
    reports.push_back({id, std::move(text)});
    if (answers_reports) return done();
    asked_ = std::make_shared<Completion>();
    return Completion::pending(asked_);
  }
  // The report on its way is answered, and the shard goes on.
  void answer_report() {
    const auto answered = std::exchange(asked_, nullptr);
    answered->done = true;
    if (answered->waiter) answered->waiter.resume();
  }
  Pending yield() override { return done(); }

 private:
  static Pending done(Answer answer = {}) { return Completion::ended(std::move(answer)); }
  Step step_;
  std::shared_ptr<Completion> asked_;
};

// The last 5 batches lie behind the last point that a report has.
constexpr std::uint32_t kTrainerRows = 455, kTrainerBatch = 10, kTrainerSteps = 46, kEpochs = 2;

class ShardTrainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spec_.epochs = kEpochs;
    spec_.batch_rows = kTrainerBatch;
    spec_.shards = 1;
  }

  // Rows of 900 bytes, so that the file is read in many blocks, and its head has 72. The label of row `other`
  // is not what it would be.
  std::string file(const std::string& name, std::uint32_t other = kTrainerRows) const {
    std::ofstream out(folder_ / name, std::ios::binary);
    for (std::uint32_t row = 0; row < kTrainerRows; ++row) {
      out << (row + (row == other)) % 2;
      for (std::uint32_t i = 0; i < 100; ++i) out << ' ' << row * 100 + i + 100000 << ":1";
      out << '\n';
    }
    return folder_ / name;
  }
  // What the shard reports that is trained from `first` on.
  std::vector<Report> train(const std::string& path, Step first = {}) {
    spec_.train.paths = {path};
    const auto inputs = open_inputs(spec_);
    EXPECT_TRUE(inputs.ok()) << inputs.status().message();
    InstantStore store(first);
    Task<Status> task = train_shard(store, *inputs);
    task.handle().resume();
    EXPECT_TRUE(task.done());
    const Status status = task.take();
    EXPECT_TRUE(status.ok()) << status.message();
    return std::move(store.reports);
  }

  TemporaryFolder folder_;
  TrainSpec spec_;
};

// As the scheduler hands reports on: of one number once.
class Reporter {
 public:
  Status take(const Report& report) {
    if (last_ < report.id) {
      EXPECT_TRUE(monitor.add(ShardId{0}, report.id, report.text));
    }
    last_ = std::max(last_, report.id);
    return monitor.inputs_agree();
  }
  // Those that an owner sent before it died.
  void take_before(const std::vector<Report>& reports, ReportId end) {
    for (const Report& report : reports) {
      if (report.id < end) {
        EXPECT_TRUE(take(report).ok());
      }
    }
  }
  TrainMonitor monitor{Loss::kLogistic, kEpochs, 1};

 private:
  ReportId last_;
};

TEST_F(ShardTrainerTest, AnHeirWithTheSameFileAgreesAndCountsEveryRowWhereverItBegins) {
  const std::string path = file("a");
  const std::vector<Report> owner = train(path);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::uint32_t step = 1; step <= kTrainerSteps; ++step) {
      for (const std::uint32_t reported : {step, step + 1}) {  // It died before or after it had reported.
        Reporter reporter;
        reporter.take_before(owner, {2 * epoch, reported});
        for (const Report& report : train(path, {epoch, step})) {
          const Status status = reporter.take(report);
          ASSERT_TRUE(status.ok()) << status.message();
        }
        EXPECT_EQ(reporter.monitor.numbers().examples, kEpochs * kTrainerRows) << epoch << "." << step;
      }
    }
  }
}

TEST_F(ShardTrainerTest, AnHeirTellsOfAPassThatItsPredecessorEndedAndDidNotTellOf) {
  const std::string path = file("a");
  const std::vector<Report> owner = train(path);
  for (const std::uint32_t reported : {1u, 17u, kTrainerSteps, kTrainerSteps + 1}) {
    Reporter reporter;
    reporter.take_before(owner, {0, reported});
    for (const Report& report : train(path, {1, 0})) EXPECT_TRUE(reporter.take(report).ok());
    EXPECT_EQ(reporter.monitor.numbers().examples, kEpochs * kTrainerRows) << reported;
    EXPECT_EQ(reporter.monitor.epoch_numbers(0).steps, kTrainerSteps);
  }
}

TEST_F(ShardTrainerTest, NoStepWaitsForAReportAndTheNextPassForAll) {
  const std::vector<Report> calm = train(file("a"));
  const auto inputs = open_inputs(spec_);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  InstantStore store({});
  store.answers_reports = false;
  Task<Status> task = train_shard(store, *inputs);
  task.handle().resume();
  EXPECT_EQ(store.step(), (Step{1, 0})) << "the servers know that the pass is over";
  EXPECT_EQ(store.reports.size(), 1u);
  store.answer_report();
  EXPECT_EQ(store.reports.size(), 2u) << "those that have come meanwhile go together";
  EXPECT_EQ(store.step(), (Step{1, 0}));
  store.answer_report();
  EXPECT_EQ(store.step(), (Step{2, 0}));
  while (!task.done()) store.answer_report();
  EXPECT_TRUE(task.take().ok());
  EXPECT_EQ(store.reports.size(), 2 * kEpochs);
  Reporter as_calm, reporter;
  for (const Report& report : calm) EXPECT_TRUE(as_calm.take(report).ok());
  for (const Report& report : store.reports) EXPECT_TRUE(reporter.take(report).ok());
  EXPECT_EQ(reporter.monitor.numbers().examples, kEpochs * kTrainerRows);
  EXPECT_EQ(reporter.monitor.numbers().last.loss, as_calm.monitor.numbers().last.loss);
  EXPECT_EQ(reporter.monitor.epoch_numbers(1).sampled.sums.rows,
            as_calm.monitor.epoch_numbers(1).sampled.sums.rows);
}

TEST_F(ShardTrainerTest, AnHeirWithAnotherFileIsFoundOutBeforeItLearns) {
  const std::vector<Report> owner = train(file("a"));
  for (const auto& [other, step] :
       {std::pair(100u, 18u), std::pair(100u, 25u), std::pair(150u, 24u), std::pair(310u, 39u)}) {
    Reporter reporter;
    reporter.take_before(owner, {0, step});
    const std::vector<Report> heir = train(file("b", other), {0, step});
    const Status status = reporter.take(heir.at(0));
    EXPECT_EQ(heir.at(0).id, (ReportId{0, step}));
    EXPECT_EQ(status.code(), Code::kData) << other;
    EXPECT_NE(status.message().find("/b, pass 1: between "), std::string::npos) << status.message();
    EXPECT_EQ(reporter.monitor.numbers().last.weight, (step - 1) / 8 * 8 * kTrainerBatch)
        << "nothing was learnt of it";
  }
}

TEST_F(ShardTrainerTest, AnotherModuleThanWhereTheJobWasStartedIsFoundOut) {
  TrainSpec spec;
  spec.model.script = folder_.write("net.pt", "one");
  spec.script_hash = *hash_of(spec.model.script);
  EXPECT_TRUE(open_inputs(spec).ok());
  folder_.write("net.pt", "two");
  const Status status = open_inputs(spec).status();
  EXPECT_EQ(status.code(), Code::kData);
  EXPECT_NE(status.message().find("net.pt: is another module here"), std::string::npos) << status.message();
}

TEST_F(ShardTrainerTest, ALaterPassOverAnotherFileIsFoundOut) {
  const std::vector<Report> owner = train(file("a"));
  for (const std::uint32_t other : {100u, 200u, kTrainerRows - 1}) {
    Reporter reporter;
    reporter.take_before(owner, {2, 0});
    Status status;
    for (const Report& report : train(file("b", other), {1, 1})) status = reporter.take(report);
    EXPECT_EQ(status.code(), Code::kData) << other;
    EXPECT_NE(status.message().find("/b, pass 2: between "), std::string::npos) << status.message();
  }
}

TEST_F(ShardTrainerTest, BadHeldOutRowsAreCountedOnceForAllPasses) {
  spec_.valid.paths = {folder_.write("valid", "1 5:1\nbad\n0 6:1\nworse\n")};
  spec_.valid.max_bad_rows = 2;
  std::uint32_t scored = 0;
  for (const Report& report : train(file("a"))) scored += report.id.epoch % 2;
  EXPECT_EQ(scored, kEpochs);
}

TEST_F(ShardTrainerTest, HeldOutScoresDoNotTravelAndWhoeverReportsTheLastPartTellsOfAll) {
  constexpr std::uint32_t kHeldOut = 10000;  // 3 parts.
  std::string text;
  for (std::uint32_t row = 0; row < kHeldOut; ++row) text += std::to_string(row % 2) + " 5:1\n";
  spec_.valid.paths = {folder_.write("valid", text)};
  const std::vector<Report> owner = train(file("a"));
  for (std::uint32_t reported = 1; reported <= 4; ++reported) {
    Reporter reporter;
    reporter.take_before(owner, {1, reported});
    for (const Report& report : owner) {  // An heir scores all rows again.
      EXPECT_TRUE(reporter.take(report).ok());
      if (report.id.epoch % 2 == 1) {
        EXPECT_LT(report.text.size(), 600u);
      }
    }
    const EpochNumbers numbers = reporter.monitor.epoch_numbers(0);
    EXPECT_EQ(numbers.valid.sums.rows, kHeldOut);
    EXPECT_EQ(numbers.valid.auc, 0.5);
  }
}

}  // namespace
}  // namespace thalweg
