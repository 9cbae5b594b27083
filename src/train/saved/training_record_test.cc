#include "train/saved/training_record.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "base/hash/hash.h"
#include "model/format/model_dir.h"
#include "model/format/model_report.h"
#include "net/system_disk.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class TrainingRecordTest : public TrainerTest {
 protected:
  TrainingRecordTest() { ::setenv("SOURCE_DATE_EPOCH", "1764082800", 1); }
  ~TrainingRecordTest() override { ::unsetenv("SOURCE_DATE_EPOCH"); }
  static TrainingRecord record_of(const TrainResult& trained) {
    const auto model = ModelReader::open(SystemDisk(), trained.model);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model->manifest().training.value_or(TrainingRecord());
  }
  static std::string hash_of_text(const std::string& text) {
    return digest_text(hash64(text.data(), text.size()));
  }
};

TEST_F(TrainingRecordTest, IsKeptWithTheModel) {
  std::string rows;
  for (int row = 0; row < 9000; ++row) rows += row % 3 == 0 ? "1 1:1 2:1 3:1\n" : "0 4:1 2:1 3:1\n";
  options_.files = {folder_.write("a.svm", rows), folder_.write("b.svm", "1 1:1\n0 4:1\n")};
  options_.batch = 500;
  options_.data_shards = 4;
  options_.epochs = 3;
  const TrainResult trained = run(options_);
  ASSERT_TRUE(trained.complete) << trained.status.message();
  const TrainingRecord record = record_of(trained);
  EXPECT_EQ(record.date, "2025-11-25T15:00:00Z");
  EXPECT_EQ(record.batch, 500u);
  EXPECT_EQ(record.data_shards, 4u);
  EXPECT_EQ(record.epochs, 3u);
  EXPECT_EQ(record.learnt_epochs, 3u);
  EXPECT_EQ(record.best_epoch, trained.best_epoch);
  EXPECT_EQ(record.kept_epoch, trained.kept_epoch);
  EXPECT_GT(record.kept_epoch, 0u);
  ASSERT_EQ(record.files.size(), 2u);
  EXPECT_EQ(record.files[0].name, options_.files[0]);
  EXPECT_EQ(record.files[0].bytes, rows.size());
  ASSERT_GT(rows.size(), kTrainedFileEnd);
  EXPECT_EQ(record.files[0].head, hash_of_text(rows.substr(0, kTrainedFileEnd)));
  EXPECT_EQ(record.files[0].tail, hash_of_text(rows.substr(rows.size() - kTrainedFileEnd)));
  EXPECT_EQ(record.files[1].head, hash_of_text("1 1:1\n0 4:1\n"));
  EXPECT_EQ(record.files[1].tail, record.files[1].head);
  options_.files[0] = folder_.write("a.svm", "1" + rows.substr(1, rows.size() - 2) + "\n");
  EXPECT_EQ(record_of(run(options_)), record) << "of the same files, the same";
}

TEST_F(TrainingRecordTest, SaysHowManyPassesAnEarlyEndHasLeft) {
  options_.epochs = 100'000;
  options_.keep_bad = true;
  std::optional<Trainer> trainer;
  options_.on_epoch = [&](const TrainEpoch& epoch) {
    if (epoch.number == 2) trainer->close();
  };
  auto opened = Trainer::open(options_);
  ASSERT_TRUE(opened) << opened.status().message();
  trainer.emplace(std::move(opened).value());
  const TrainResult ended = trainer->run();
  EXPECT_EQ(ended.status.code(), Code::kAborted);
  const TrainingRecord record = record_of(ended);
  EXPECT_EQ(record.epochs, 100'000u);
  EXPECT_GE(record.learnt_epochs, 2u);
  EXPECT_LT(record.learnt_epochs, 100'000u);
  EXPECT_NE(to_text(record).find(fmt::format("{} of 100000 epochs", record.learnt_epochs)),
            std::string::npos);
}

TEST_F(TrainingRecordTest, WhatACommandWritesIsNamedAlone) {
  options_.more.from_command = "cat %s";
  const TrainingRecord record = record_of(run(options_));
  ASSERT_EQ(record.files.size(), 1u);
  EXPECT_EQ(record.files[0], (TrainedFile{options_.files[0], 0, "", ""}));
  ::unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_NE(record_of(run(options_)).date, record.date);
}

}  // namespace
}  // namespace thalweg
