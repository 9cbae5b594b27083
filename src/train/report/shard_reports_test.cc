#include "train/report/shard_reports.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/completion.h"

namespace thalweg {
namespace {

// Answers no report before it is told to.
class AwayStore final : public Store {
 public:
  struct Asked {
    ReportId id;
    std::string text;
    std::shared_ptr<Completion> completion;
  };
  std::vector<Asked> asked;
  // The newest one is answered.
  void answer(Status status = {}) {
    Completion& newest = *asked.back().completion;
    newest.done = true;
    newest.answer.status = std::move(status);
    if (newest.waiter) std::exchange(newest.waiter, {}).resume();
  }

  ShardId shard() const override { return ShardId{0}; }
  bool closing() const override { return false; }
  Step step() const override { return {}; }
  Pending push(TableId, Keys, Rows) override { return made(); }
  Pending pull(TableId, Keys) override { return made(); }
  Pending read(TableId, Keys) override { return made(); }
  Pending advance() override { return made(); }
  Pending end_epoch() override { return made(); }
  Pending end_work() override { return made(); }
  Pending barrier(BarrierId) override { return made(); }
  Pending yield() override { return made(); }
  Pending report(ReportId id, std::string text) override {
    asked.push_back({id, std::move(text), std::make_shared<Completion>()});
    return Completion::pending(asked.back().completion);
  }

 private:
  static Pending made() { return Completion::pending(std::make_shared<Completion>()); }
};

TrainReport of_step(std::uint32_t step, std::size_t samples = 0) {
  TrainReport report;
  report.sum = {1e16 / (1 + step % 7 * step), 1.0 * step, 10};  // The order of additions shows.
  report.pass_rows = 10 * step;
  report.read = {{step, step * std::uint64_t{77}, "there"}};
  report.scores.assign(samples, 0.5f);
  report.labels.assign(samples, 1.0f);
  return report;
}

// Whether it is put without waiting.
bool put(ShardReports& reports, ReportId id, TrainReport report, Status* how = nullptr) {
  Task<Status> task = reports.put(id, std::move(report));
  task.handle().resume();
  const bool done = task.done();
  if (done && how != nullptr) *how = task.take();
  return done;
}

constexpr std::uint32_t kPut = 2000;

TEST(ShardReports, WaitForNobodyAndAllAreTold) {
  AwayStore store;
  ShardReports reports(store, 7, "a.svm");
  TrainMonitor singly(Loss::kLogistic, 1, 1), together(Loss::kLogistic, 1, 1);
  for (std::uint32_t step = 1; step <= kPut; ++step) {
    ASSERT_TRUE(put(reports, {0, step}, of_step(step)));
    EXPECT_TRUE(singly.add(ShardId{0}, {0, step}, to_text(of_step(step))));
  }
  EXPECT_EQ(store.asked.size(), 1u) << "one at a time";
  Task<Status> drained = reports.drain();
  drained.handle().resume();
  for (std::size_t told = 0; told < store.asked.size();) {
    const AwayStore::Asked& next = store.asked[told++];
    EXPECT_LE(next.text.size(), 2 * ShardReports::kTogetherMax);
    EXPECT_TRUE(together.add(ShardId{0}, next.id, next.text));
    EXPECT_FALSE(drained.done());
    store.answer();
  }
  ASSERT_TRUE(drained.done());
  EXPECT_TRUE(drained.take().ok());
  EXPECT_EQ(store.asked.back().id, (ReportId{0, kPut}));
  EXPECT_LT(store.asked.size(), kPut / 100) << "they go together";
  EXPECT_EQ(together.numbers().examples, 10 * kPut);
  EXPECT_EQ(together.numbers().last.loss, singly.numbers().last.loss) << "to the bit";
  EXPECT_EQ(together.numbers().steps, kPut);
}

TEST(ShardReports, HaveABoundAndSamplesOfRowsASmallerOne) {
  AwayStore store;
  ShardReports reports(store, 7, "a.svm");
  constexpr std::size_t kSamples = 1000;
  const std::size_t with_samples = to_text(of_step(1, kSamples)).size(), without = to_text(of_step(1)).size();
  std::uint32_t step = 1;
  while (step < 1000000 && put(reports, {0, step}, of_step(step, kSamples))) ++step;
  const std::size_t sampled = ShardReports::kSampledMax / with_samples;
  const std::size_t most = sampled + ShardReports::kWaitingMax / without;
  EXPECT_LT(step, most);
  EXPECT_GT(step, most / 10 * 9);
}

TEST(ShardReports, TheNextOneTellsThatOneHasFailed) {
  AwayStore store;
  ShardReports reports(store, 7, "a.svm");
  ASSERT_TRUE(put(reports, {0, 1}, of_step(1)));
  ASSERT_TRUE(put(reports, {0, 2}, of_step(2)));
  store.answer({Code::kAborted, "the shard was given to another worker"});
  Status how;
  ASSERT_TRUE(put(reports, {0, 3}, of_step(3), &how));
  EXPECT_EQ(how.code(), Code::kAborted);
  EXPECT_EQ(store.asked.size(), 1u);
}

// An heir tells with others what its predecessor has told: that counts once.
TEST(TrainMonitor, OfSeveralReportsTellsNothingTwice) {
  TrainMonitor monitor(Loss::kLogistic, 1, 1);
  const auto sum = [&] { return monitor.numbers().last.weight; };
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 16},
                          joined({{{0, 8}, to_text(of_step(8))}, {{0, 16}, to_text(of_step(16))}})));
  EXPECT_EQ(sum(), 24);
  const std::string text = joined({{{0, 12}, to_text(of_step(12))}, {{0, 24}, to_text(of_step(24))}});
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 24}, text));
  EXPECT_EQ(sum(), 48);
  EXPECT_EQ(monitor.numbers().examples, 240u);
  ASSERT_EQ(learnt_losses({0, 24}, text).size(), 2u);
  EXPECT_EQ(learnt_losses({0, 24}, text)[0].weight, 12);
  EXPECT_EQ(learnt_losses({1, 1}, to_text(of_step(1))).size(), 0u) << "of held-out rows";
}

TEST(TrainMonitor, RefusesWhatIsNotSeveralReports) {
  TrainMonitor monitor(Loss::kLogistic, 1, 1);
  const std::string one = to_text(of_step(8)), two = joined({{{0, 8}, one}, {{0, 16}, to_text(of_step(16))}});
  EXPECT_FALSE(monitor.add(ShardId{0}, {0, 8}, two)) << "a number that is not above the one before";
  EXPECT_FALSE(monitor.add(ShardId{0}, {0, 24}, joined({{{0, 16}, one}, {{0, 8}, one}, {{0, 24}, one}})));
  EXPECT_FALSE(monitor.add(ShardId{0}, {0, 24}, joined({{{0, 16}, two}, {{0, 24}, one}})))
      << "one below another";
  for (std::size_t cut = 0; cut < two.size(); ++cut)
    EXPECT_FALSE(monitor.add(ShardId{0}, {0, 16}, two.substr(0, cut))) << cut;
  EXPECT_EQ(monitor.numbers().examples, 0u);
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 16}, two));
}

}  // namespace
}  // namespace thalweg
