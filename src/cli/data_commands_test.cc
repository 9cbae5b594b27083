#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/data_split.h"
#include "cli/data_stats.h"
#include "data/data_set.h"

namespace thalweg {
namespace {

class Directory {
 public:
  Directory() : path_(testing::TempDir() + "thalweg_data_commands_test/") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + name, std::ios::binary) << text;
    return path_ + name;
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path_ + name, std::ios::binary).rdbuf();
    return text.str();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(DistinctKeys, AreWithinTwoPercent) {
  for (const std::uint64_t count : {0, 1, 100, 5000, 40000, 1000000}) {
    DistinctKeys keys;
    for (std::uint64_t repeat = 0; repeat < 2; ++repeat) {
      for (std::uint64_t key = 0; key < count; ++key) keys.add(key * 977);
    }
    EXPECT_NEAR(keys.estimate(), static_cast<double>(count), 0.02 * static_cast<double>(count) + 0.5);
  }
}

TEST(DataStats, CountsWhatABatchHolds) {
  DataStats stats;
  Batch batch;
  batch.labels = {1, 0, 1}, batch.row_begin = {0, 2, 2, 3};
  batch.keys = {7, 8, 7}, batch.values = {0.5f, 2, 1}, batch.fields = {0, 4, 1};
  stats.add(batch);
  batch.values.clear();
  stats.add(batch);
  EXPECT_EQ(stats.rows(), 6u);
  EXPECT_EQ(stats.entries(), 6u);
  EXPECT_EQ(stats.positives(), 4u);
  EXPECT_EQ(stats.fields(), 5u);
  EXPECT_EQ(stats.row_entries().low, 0);
  EXPECT_EQ(stats.row_entries().high, 2);
  EXPECT_EQ(stats.values().sum, 6.5);
  EXPECT_EQ(stats.values().low, 0.5);
  EXPECT_NEAR(stats.distinct_keys(), 2, 0.01);
}

std::string all_rows(ReadOptions options) {
  const auto data = DataSet::open(std::move(options));
  if (!data) return data.status().message();
  const auto reader = (*data)->reader(ShardId{0}, 1);
  Batch batch;
  std::string text;
  while (*(*reader)->next(3, batch) > 0) {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      text += std::to_string(batch.labels[row]);
      for (std::uint32_t e = batch.row_begin[row]; e < batch.row_begin[row + 1]; ++e) {
        text += ' ' + std::to_string(batch.keys[e]);
      }
      text += '\n';
    }
  }
  return text;
}

TEST(SplitRows, PartsAreTheRowsThatTheReaderHoldsOut) {
  const Directory directory;
  std::string one = "# a comment\n", two;
  for (int i = 0; i < 40000; ++i) {
    (i < 25000 ? one : two) += std::to_string(i % 2) + " " + std::to_string(i + 1) + ":1\n";
    if (i % 100 == 7) one += "\n";
  }
  two.pop_back();
  ReadOptions options;
  options.paths = {directory.write("one.svm", one), directory.write("two.svm", two)};
  options.part_modulus = 7;
  const Result<SplitReport> report = split_rows(options, directory.path() + "parts");
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(report->valid_rows, 40000u / 7);
  EXPECT_EQ(report->train_rows + report->valid_rows, 40000u);
  for (const bool held_out : {false, true}) {
    options.part = held_out ? Part::kHeldOut : Part::kTrain;
    ReadOptions part;
    part.paths = {held_out ? report->valid_path : report->train_path};
    EXPECT_EQ(all_rows(part), all_rows(options));
  }
}

TEST(SplitRows, BothPartsGetTheHeader) {
  const Directory directory;
  ReadOptions options;
  options.paths = {directory.write("a.csv", "label,x\n1,2\n0,3\n1,4\n"),
                   directory.write("b.csv", "label,x\n0,5\n")};
  options.part_modulus = 2;
  ASSERT_TRUE(split_rows(options, directory.path() + "parts").is_ok());
  EXPECT_EQ(directory.read("parts/train.csv"), "label,x\n1,2\n1,4\n");
  EXPECT_EQ(directory.read("parts/valid.csv"), "label,x\n0,3\n0,5\n");
}

TEST(SplitRows, LeavesNothingBehindOnAnError) {
  const Directory directory;
  ReadOptions options;
  options.paths = {directory.write("a.svm", "1 1:1\n"), directory.path() + "missing.svm"};
  options.part_modulus = 2;
  EXPECT_FALSE(split_rows(options, directory.path() + "parts").is_ok());
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "parts/train.svm"));
}

}  // namespace
}  // namespace thalweg
