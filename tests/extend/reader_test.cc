#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"
#include "data/data_set.h"
#include "thalweg/trainer.h"

namespace thalweg {

extern const RowFormat kYesNoFormat;

namespace {

std::string rows(int count) {
  std::string text;
  for (int row = 0; row < count; ++row)
    text += row % 2 == 0 ? "yes: 2 " + std::to_string(row % 7 + 10) + "\n" : "no: 1\n";
  return text;
}

Result<std::shared_ptr<DataSet>> open(const std::string& path, const std::string& format) {
  ReadOptions options;
  options.paths = {path};
  options.format = format;
  options.formats = {&kYesNoFormat};
  return DataSet::open(std::move(options));
}

TEST(Reader, OfAFileOfItsOwnIsFoundByItsNameAndByLooking) {
  const TemporaryFolder folder;
  const std::string path = folder.write("clicks.txt", "yes: 3 7\nno:\n\nno: 5\n");
  for (const char* format : {"yes-no", "auto"}) {
    const auto data = open(path, format);
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ((*data)->description(), "yes-no");
    auto reader = (*data)->reader(ShardId{0}, 1);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    Batch batch;
    EXPECT_EQ((*reader)->next(10, batch).value(), 3u);
    EXPECT_EQ(batch.labels, (std::vector<float>{1, 0, 0}));
    EXPECT_EQ(batch.keys, (std::vector<Key>{3, 7, 5}));
  }
}

TEST(Reader, HasANameThatNoOtherHas) {
  const TemporaryFolder folder;
  RowFormat as_csv = kYesNoFormat;
  as_csv.name = "csv";
  ReadOptions options;
  options.paths = {folder.write("clicks.txt", "yes: 3 7\n")};
  options.format = "csv";
  options.formats = {&as_csv};
  EXPECT_EQ(DataSet::open(std::move(options)).status().message(),
            "two formats are called 'csv'; expected another name for the application's own");
}

TEST(Reader, OfAFileOfItsOwnNamesTheBadRow) {
  const TemporaryFolder folder;
  const auto data = open(folder.write("clicks.txt", "yes: 3\nno: x\n"), "yes-no");
  ASSERT_TRUE(data.ok()) << data.status().message();
  Batch batch;
  const auto read = (*(*data)->reader(ShardId{0}, 1))->next(10, batch);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("clicks.txt:2:5: saw \"x\", expected a feature's number"),
            std::string::npos)
      << read.status().message();
}

TEST(Reader, OfAFileOfItsOwnTrainsByItsNameAndPredicts) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.files = {folder.write("clicks.txt", rows(2000))};
  options.format = "yes-no";
  EXPECT_NE(
      Trainer::open(options).status().message().find("--format 'yes-no'; expected auto, libsvm, libffm, "),
      std::string::npos);
  options.more.formats = {&kYesNoFormat};
  options.epochs = 2;
  options.out = folder / "model";
  auto trainer = Trainer::open(options);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const TrainResult result = trainer->run();
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.examples, 4000u);
  EXPECT_LT(result.train_loss, 0.3);
  std::vector<float> predictions;
  const Status predicted = predict_rows(
      options.out, options.files, [&](float p) { predictions.push_back(p); }, options.more);
  ASSERT_TRUE(predicted.ok()) << predicted.message();
  ASSERT_EQ(predictions.size(), 2000u);
  EXPECT_GT(predictions[0], 0.8f);
  EXPECT_LT(predictions[1], 0.2f);
}

}  // namespace
}  // namespace thalweg
