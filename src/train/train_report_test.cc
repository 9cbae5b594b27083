#include "train/train_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/random.h"

namespace thalweg {
namespace {

TrainReport training(double loss, std::uint64_t rows, float fraction) {
  TrainReport report;
  report.sum = {loss, static_cast<double>(rows), rows};
  report.pass_rows = rows;
  report.skipped_rows = 2;
  report.fraction_done = fraction;
  return report;
}

TEST(TrainMonitor, AddsUpReportsOfAllShards) {
  TrainMonitor monitor(Loss::kLogistic, 2, 2);
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 8}, to_text(training(5, 10, 0.5f))));
  EXPECT_TRUE(monitor.add(ShardId{1}, {0, 8}, to_text(training(3, 10, 1.0f))));
  TrainNumbers numbers = monitor.numbers();
  EXPECT_EQ(numbers.examples, 20u);
  EXPECT_DOUBLE_EQ(numbers.progressive.loss, 8);
  EXPECT_DOUBLE_EQ(numbers.done, (0.5 + 1.0) / 4);
  EXPECT_TRUE(monitor.add(ShardId{1}, {2, 8}, to_text(training(1, 10, 0.5f))));
  numbers = monitor.numbers();
  EXPECT_EQ(numbers.epoch, 1u);
  EXPECT_EQ(numbers.skipped_rows, 4u) << "each bad row once, in the first pass";
  EXPECT_DOUBLE_EQ(numbers.last.loss, 1);
  EXPECT_DOUBLE_EQ(numbers.progressive.loss, 8) << "the second pass saw no row for the first time";
}

TEST(TrainMonitor, HasRoomForPassesThatThereHaveBeenAlone) {
  TrainMonitor monitor(Loss::kLogistic, 2'000'000'000, 8);
  EXPECT_EQ(monitor.numbers().steps, 0u);
  EXPECT_EQ(monitor.numbers().progressive.rows, 0u);
  EXPECT_TRUE(monitor.add(ShardId{3}, {2'000'000'000, 8}, to_text(training(5, 10, 0.5f))));
  EXPECT_EQ(monitor.numbers().epoch, 1'000'000'000u);
  EXPECT_DOUBLE_EQ(monitor.numbers().last.loss, 5);
  EXPECT_EQ(monitor.epoch_numbers(999'999'999).rows, 0u);
  EXPECT_FALSE(monitor.is_scored(999'999'998));
}

// Its predecessor died between steps that servers know and the report of them.
TEST(TrainMonitor, AnHeirsReportCountsWhatWasNotReported) {
  TrainMonitor monitor(Loss::kLogistic, 2, 1);
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 8}, to_text(training(5, 80, 0.5f))));
  TrainReport heirs = training(1, 160, 1.0f);
  heirs.sum = {1, 30, 30};  // The other 50 rows it only walked over.
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 16}, to_text(heirs)));
  EXPECT_EQ(monitor.numbers().examples, 160u);
  EXPECT_EQ(monitor.numbers().skipped_rows, 2u);
  EXPECT_EQ(monitor.epoch_numbers(0).rows, 160u);
  EXPECT_DOUBLE_EQ(monitor.numbers().progressive.loss, 6);
  EXPECT_TRUE(monitor.add(ShardId{0}, {2, 8}, to_text(training(1, 80, 0.5f))));
  EXPECT_EQ(monitor.numbers().examples, 240u);
  EXPECT_EQ(monitor.epoch_numbers(1).rows, 80u);
}

TEST(TrainMonitor, AResumedJobCountsWhatItLearnsItself) {
  TrainMonitor monitor(Loss::kLogistic, 3, 2);
  monitor.begin_within_pass();
  TrainReport walked = training(0, 70, 0.5f);
  walked.sum = {};
  EXPECT_TRUE(monitor.add(ShardId{0}, {2, 7}, to_text(walked)));
  EXPECT_TRUE(monitor.add(ShardId{0}, {2, 16}, to_text(training(1, 160, 1.0f))));
  EXPECT_TRUE(monitor.add(ShardId{1}, {4, 5}, to_text(training(1, 50, 0.5f)))) << "at the begin of a pass";
  EXPECT_EQ(monitor.numbers().examples, 90u + 50u);
  EXPECT_EQ(monitor.numbers().steps, 9u + 5u);
  EXPECT_EQ(monitor.epoch_numbers(1).rows, 160u) << "of all runs";
  EXPECT_EQ(monitor.epoch_numbers(1).steps, 16u);
}

TEST(TrainMonitor, MeasuresASampleOfTheRowsOfAPassesLatterHalf) {
  TrainMonitor monitor(Loss::kLogistic, 2, 2);
  const auto report = [&](std::uint32_t shard, std::uint32_t epoch, std::uint32_t step, float fraction,
                          float score) {
    TrainReport training_report = training(1, 10, fraction);
    training_report.scores = {score, score};
    training_report.labels = {1, 0};
    EXPECT_TRUE(monitor.add(ShardId{shard}, {2 * epoch, step}, to_text(training_report)));
  };
  report(0, 0, 8, 0.4f, 50);
  report(0, 0, 16, 0.9f, 0);
  report(1, 0, 8, 1.0f, 0);
  report(1, 1, 8, -1.0f, 7);  // Of a pipe.
  EXPECT_EQ(monitor.epoch_numbers(0).sampled.sums.rows, 4u);
  EXPECT_NEAR(kLogLoss.of(monitor.epoch_numbers(0).sampled), std::log(2.0), 1e-6);
  EXPECT_NEAR(kLogLoss.constant(monitor.epoch_numbers(0).sampled), std::log(2.0), 1e-6);
  EXPECT_EQ(monitor.epoch_numbers(1).sampled.sums.rows, 2u);
}

TEST(TrainMonitor, OfClassesMeasuresAllRowsOfAPassesLatterHalf) {
  TrainMonitor monitor(Loss::kClasses, 1, 1);
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 8}, to_text(training(500, 10, 0.4f))));
  TrainReport second = training(5, 10, 1.0f);
  second.pass_rows = 25;  // Of which 5 were learnt before, by whoever took the checkpoint.
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 16}, to_text(second)));
  const EpochNumbers pass = monitor.epoch_numbers(0);
  EXPECT_EQ(pass.sampled.sums.rows, 10u);
  EXPECT_DOUBLE_EQ(pass.sampled.sums.loss, 5);
  EXPECT_DOUBLE_EQ(pass.train.loss, 505);
}

// As where weights are those of one label, and rows are sorted by it.
TEST(TrainMonitor, TakesASampleInWhichOnlyLaterRowsHaveWeights) {
  TrainMonitor monitor(Loss::kLogistic, 1, 1);
  TrainReport report = training(1, 3, 1.0f);
  for (const float weight : {1.0f, 1.0f, 3.0f, 1.0f}) report.add_sampled(0, weight > 1 ? 1 : 0, weight);
  EXPECT_EQ(report.weights, std::vector<float>({1, 1, 3, 1}));
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 8}, to_text(report)));
  EXPECT_EQ(monitor.numbers().examples, 3u);
  EXPECT_DOUBLE_EQ(monitor.epoch_numbers(0).sampled.sums.weight, 6);
}

TrainReport scored(Loss loss, std::vector<float> scores, const std::vector<float>& labels,
                   const std::vector<float>& weights = {}) {
  TrainReport report;
  report.held_out.emplace(loss, HeldOutSummary::kShardCellsMax);
  report.held_out->add(scores, labels, weights);
  return report;
}

TEST(TrainMonitor, NoBitDependsOnWhichShardReportsFirst) {
  const auto sums = [](std::initializer_list<std::uint32_t> order) {
    TrainMonitor monitor(Loss::kSquared, 1, 3);
    for (const std::uint32_t shard : order) {
      const double value = std::array{1e16, 1.0, -1e16}[shard];
      const TrainReport held_out = scored(Loss::kSquared, {static_cast<float>(value)}, {1});
      EXPECT_TRUE(monitor.add(ShardId{shard}, {0, 8}, to_text(training(value, 10, 1.0f))));
      EXPECT_TRUE(monitor.add(ShardId{shard}, {1, 1}, to_text(held_out)));
    }
    const EpochNumbers epoch = monitor.epoch_numbers(0);
    return std::pair(epoch.train.loss, epoch.valid.sums.prediction);
  };
  EXPECT_EQ(sums({0, 1, 2}), sums({0, 2, 1}));
  EXPECT_EQ(sums({2, 1, 0}), sums({1, 0, 2}));
}

TEST(TrainMonitor, APassIsScoredOnceAllShardsHaveToldOfTheirRows) {
  TrainMonitor monitor(Loss::kLogistic, 2, 2);
  const std::string some = to_text(training(1, 10, 1.0f)), all = to_text(scored(Loss::kLogistic, {1}, {1}));
  EXPECT_TRUE(monitor.add(ShardId{0}, {1, 1}, all));
  EXPECT_TRUE(monitor.add(ShardId{0}, {1, 1}, all)) << "told again";
  EXPECT_TRUE(monitor.add(ShardId{1}, {0, 8}, some));
  EXPECT_TRUE(monitor.epoch_numbers(0).has_valid);
  EXPECT_FALSE(monitor.is_scored(0));
  EXPECT_TRUE(monitor.add(ShardId{1}, {1, 2}, all));
  EXPECT_TRUE(monitor.is_scored(0));
  EXPECT_FALSE(monitor.is_scored(1));
}

TEST(TrainMonitor, NoticesShardsReadFromDifferentFiles) {
  TrainMonitor monitor(Loss::kLogistic, 1, 2);
  TrainReport report = training(5, 80, 0.5f);
  report.inputs = 1, report.inputs_name = "here/a.svm";
  EXPECT_TRUE(monitor.add(ShardId{1}, {0, 8}, to_text(report)));
  report.inputs_name = "there/a.svm";
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 8}, to_text(report)));
  EXPECT_TRUE(monitor.inputs_agree().ok()) << "another machine may call them otherwise";
  report.inputs = 2, report.inputs_name = std::string(5000, 'b');
  EXPECT_TRUE(monitor.add(ShardId{0}, {0, 16}, to_text(report)));
  const Status status = monitor.inputs_agree();
  EXPECT_EQ(status.code(), Code::kData);
  EXPECT_NE(status.message().find("data shard 1 was read from here/a.svm and data shard 0 from bbb"),
            std::string::npos)
      << status.message();
}

// A report with these points, "p0" and on, the first of them numbered `first`.
TrainReport having_read(std::uint32_t first, std::initializer_list<std::uint64_t> hashes,
                        std::uint64_t all = 0) {
  TrainReport report = training(1, 10, 0.5f);
  for (const std::uint64_t hash : hashes) {
    report.read.push_back({first, hash, "a.svm, byte " + std::to_string(first)});
    ++first;
  }
  report.inputs_name = "a.svm";
  report.read_all = all;
  return report;
}

struct Reading {
  std::uint32_t shard = 0;
  ReportId number;
  TrainReport report;
};

std::string disagreement(std::initializer_list<Reading> readings) {
  TrainMonitor monitor(Loss::kLogistic, 2, 2);
  std::size_t left = readings.size();
  for (const Reading& reading : readings) {
    EXPECT_TRUE(monitor.inputs_agree().ok()) << "only the last one differs";
    EXPECT_TRUE(monitor.add(ShardId{reading.shard}, reading.number, to_text(reading.report)));
    --left;
  }
  EXPECT_EQ(left, 0u);
  const Status status = monitor.inputs_agree();
  if (!status.ok()) {
    EXPECT_EQ(status.code(), Code::kData);
  }
  return status.message();
}

TEST(TrainMonitor, NoticesThatAnHeirReadsAnotherText) {
  const Reading before{0, {0, 16}, having_read(0, {5, 6, 7})};
  EXPECT_EQ(disagreement({before, {0, {0, 24}, having_read(1, {6, 7, 8})}}), "");
  EXPECT_EQ(disagreement({before, {0, {0, 28}, having_read(2, {7, 8}, 9)}}), "");
  EXPECT_EQ(disagreement({before, {1, {0, 16}, having_read(0, {1, 2, 3})}}), "") << "another shard";
  const std::string text = disagreement({before, {0, {0, 24}, having_read(1, {6, 70, 80})}});
  EXPECT_NE(
      text.find(
          "data shard 0 of a.svm, pass 1: between a.svm, byte 1 and a.svm, byte 2 stands something else"),
      std::string::npos)
      << text;
  EXPECT_NE(disagreement({before, {0, {0, 17}, having_read(0, {50})}}).find("its begin and a.svm, byte 0"),
            std::string::npos);
}

// What it has told nobody is known to nobody; what its heir and a later pass tell is compared all the same.
TEST(TrainMonitor, ComparesWhatIsReadBehindPointsThatAnOwnerDiedWith) {
  const Reading before{0, {0, 16}, having_read(0, {5, 6})}, heir{0, {0, 90}, having_read(9, {14, 15})};
  EXPECT_EQ(disagreement({before, heir, {0, {0, 99}, having_read(10, {15, 16})}}), "");
  EXPECT_NE(disagreement({before, heir, {0, {2, 90}, having_read(9, {14, 150})}}), "");
}

TEST(TrainMonitor, NoticesThatALaterPassReadsAnotherText) {
  const Reading first{0, {0, 20}, having_read(0, {5, 6, 7}, 8)};
  EXPECT_EQ(
      disagreement({first, {0, {2, 8}, having_read(0, {5})}, {0, {2, 20}, having_read(0, {5, 6, 7}, 8)}}),
      "");
  EXPECT_NE(
      disagreement({first, {0, {2, 16}, having_read(0, {5, 60})}}).find("pass 2: between a.svm, byte 0 and"),
      std::string::npos);
  EXPECT_NE(disagreement({first, {0, {2, 12}, having_read(0, {5, 6}, 80)}})
                .find("between a.svm, byte 1 and the shard's end"),
            std::string::npos)
      << "fewer rows";
  // Held-out rows are another text.
  EXPECT_EQ(disagreement({first, {0, {1, 1}, having_read(0, {1}, 2)}, {0, {2, 8}, having_read(0, {5})}}), "");
  EXPECT_NE(disagreement({first, {0, {1, 1}, having_read(0, {1}, 2)}, {0, {3, 1}, having_read(0, {3})}}), "");
}

TEST(TrainMonitor, NoticesThatWorkersUnpackOtherTexts) {
  const auto unpacked = [](std::uint64_t hash) {
    TrainReport report = having_read(0, {5}, 6);
    report.unpacked = hash;
    return report;
  };
  EXPECT_EQ(disagreement({{0, {0, 8}, unpacked(3)}, {1, {0, 8}, unpacked(3)}, {1, {1, 1}, unpacked(4)}}), "");
  EXPECT_NE(disagreement({{0, {0, 8}, unpacked(3)}, {1, {0, 8}, unpacked(4)}})
                .find("a.svm: the worker of data shard 1 unpacked another text"),
            std::string::npos);
}

TEST(TrainMonitor, MeasuresHeldOutRowsExactly) {
  TrainMonitor monitor(Loss::kLogistic, 1, 2);
  ASSERT_TRUE(monitor.add(ShardId{0}, {1, 1}, to_text(scored(Loss::kLogistic, {2, -1}, {1, 0}))));
  ASSERT_TRUE(monitor.add(ShardId{1}, {1, 1}, to_text(scored(Loss::kLogistic, {0, 3}, {1, 0}, {1, 2}))));
  const EpochNumbers epoch = monitor.epoch_numbers(0);
  EXPECT_TRUE(epoch.has_valid);
  // Pairs (positive, negative, weight): (2,-1,1) and (0,-1,1) right, (2,3,2) and (0,3,2) wrong.
  EXPECT_DOUBLE_EQ(epoch.valid.auc, 2.0 / 6.0);
  EXPECT_EQ(epoch.valid.sums.rows, 4u);
}

// As the scheduler sums them up when each row travels: sums by shard, then over shards; all scores sorted.
TEST(TrainMonitor, SummariesOfShardsGiveTheBitsThatTheirRowsGive) {
  constexpr std::uint32_t kShards = 3;
  Random random(11);
  TrainMonitor monitor(Loss::kLogistic, 1, kShards);
  ExactAuc auc;
  MetricSums all(Loss::kLogistic);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    HeldOutSummary summary(Loss::kLogistic, HeldOutSummary::kShardCellsMax);
    MetricSums metrics(Loss::kLogistic);
    for (int part = 0; part < 4; ++part) {
      std::vector<float> scores, labels;
      for (int row = 0; row < 5000; ++row) {
        labels.push_back(random.chance(0.2) ? 1.0f : 0.0f);
        scores.push_back(static_cast<float>(random.normal()) + labels.back());
        auc.add(scores.back(), labels.back() > 0);
      }
      summary.add(scores, labels, {});
      metrics.add(scores, labels);
    }
    all.merge(metrics);
    TrainReport report;
    report.held_out = std::move(summary);
    ASSERT_TRUE(monitor.add(ShardId{shard}, {1, 4}, to_text(report)));
  }
  const EpochNumbers epoch = monitor.epoch_numbers(0);
  EXPECT_EQ(epoch.valid.auc, auc.value());
  EXPECT_EQ(epoch.valid.average_precision, auc.average_precision());
  EXPECT_EQ(epoch.valid.sums.absolute, all.sums().absolute);
  EXPECT_EQ(epoch.valid.sums.rows, 60000u);
  EXPECT_EQ(kLogLoss.of(epoch.valid), kLogLoss.of({all.sums()}));
  EXPECT_EQ(kCalibration.of(epoch.valid), kCalibration.of({all.sums()}));
  EXPECT_EQ(monitor.epoch_numbers(0).valid.auc, epoch.valid.auc) << "asked again";
}

TEST(TrainMonitor, ReportsOfManyHeldOutRowsAreBounded) {
  Random random(12);
  HeldOutSummary summary(Loss::kLogistic, HeldOutSummary::kShardCellsMax);
  for (int part = 0; part < 100; ++part) {
    std::vector<float> scores, labels;
    for (int row = 0; row < 4096; ++row) {
      labels.push_back(random.chance(0.5) ? 1.0f : 0.0f);
      scores.push_back(static_cast<float>(random.normal()));
    }
    summary.add(scores, labels, {});
  }
  TrainReport report;
  report.held_out = std::move(summary);
  const std::string text = to_text(report);
  EXPECT_LT(text.size(), 2'700'000u);
  TrainMonitor monitor(Loss::kLogistic, 1, 1);
  ASSERT_TRUE(monitor.add(ShardId{0}, {1, 100}, text));
  EXPECT_NEAR(monitor.epoch_numbers(0).valid.auc, 0.5, 0.005);
}

TEST(TrainMonitor, RefusesWhatIsNoReport) {
  TrainMonitor monitor(Loss::kLogistic, 1, 1);
  const std::string text = to_text(having_read(0, {5, 6, 7}, 8));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(monitor.add(ShardId{0}, {0, 1}, std::string_view(text).substr(0, size)));
  }
  EXPECT_FALSE(monitor.add(ShardId{0}, {0, 1}, text + "x"));
  const std::string held_out = to_text(scored(Loss::kLogistic, {2, -1, 3}, {1, 0, 1}));
  for (std::size_t size = 0; size < held_out.size(); ++size) {
    EXPECT_FALSE(monitor.add(ShardId{0}, {1, 1}, std::string_view(held_out).substr(0, size)));
  }
  std::string unordered = held_out;
  std::swap_ranges(unordered.end() - 20, unordered.end(), unordered.end() - 40);
  EXPECT_FALSE(monitor.add(ShardId{0}, {1, 1}, unordered));
  EXPECT_FALSE(monitor.epoch_numbers(0).has_valid);
  EXPECT_FALSE(monitor.add(ShardId{1}, {0, 1}, text)) << "no such shard";
  EXPECT_FALSE(monitor.add(ShardId{0}, {2, 1}, text)) << "no such pass";
  EXPECT_EQ(monitor.numbers().examples, 0u);
}

}  // namespace
}  // namespace thalweg
