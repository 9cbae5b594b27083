#include <gtest/gtest.h>

#include <cmath>

#include "base/temporary_folder_for_test.h"
#include "model/format/model_dir.h"
#include "model/metric/metric.h"
#include "net/system_disk.h"
#include "thalweg/trainer.h"

namespace thalweg {

extern const Metric kInformationGain;

namespace {

// Feature 1 stands for a click in three rows of four, feature 2 in one.
std::string clicks(int count) {
  std::string text;
  for (int row = 0; row < count; ++row) {
    const bool first = row % 2 == 0, rare = row / 2 % 4 == 3;
    text += first != rare ? "1 " : "0 ";
    text += first ? "1:1\n" : "2:1\n";
  }
  return text;
}

TEST(Metric, OfAFileOfItsOwnIsToldByItsNameAndSavedWithTheModel) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.files = {folder.write("rows.svm", clicks(4001))};
  options.valid_part = 5;
  options.epochs = 5;
  options.batch = 40;
  options.out = folder / "model";
  options.more.metrics = {&kInformationGain};
  auto trainer = Trainer::open(options);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const TrainResult result = trainer->run();
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  const auto& held_out = result.epochs.back().held_out;
  ASSERT_TRUE(held_out.has_value());
  // Half of the rows are clicks, so the features leave H(1/4) = 0.811 of one bit.
  EXPECT_GT(held_out->metrics.at("information_gain"), 0.1);
  EXPECT_NEAR(held_out->metrics.at("information_gain"), 1 - held_out->logloss / std::log(2.0), 1e-3);
  SystemDisk disk;
  const auto model = ModelReader::open(disk, folder / "model");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->manifest().metrics.at("valid_information_gain"), held_out->metrics.at("information_gain"));
}

TEST(Metric, OfAFileOfItsOwnMeansNothingForAnotherLoss) {
  EXPECT_TRUE(std::isnan(kInformationGain.value(Loss::kSquared, {})));
}

}  // namespace
}  // namespace thalweg
