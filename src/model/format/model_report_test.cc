#include "model/format/model_report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

ModelSpec lr_spec() { return {}; }

std::vector<TestTable> lr_tables(std::vector<std::uint64_t> keys, std::vector<float> rows) {
  std::vector<TestTable> tables = test_tables(lr_spec(), 0, 1);
  for (TestTable& table : tables) table.width = 1;
  tables[0].rows = {0.5f};
  tables[1].keys = std::move(keys);
  tables[1].rows = std::move(rows);
  return tables;
}

TEST(ModelReport, SummaryCountsAndMeasures) {
  TemporaryFolder folder;
  SystemDisk disk;
  ASSERT_TRUE(save_model(folder / "m", lr_spec(), lr_tables({1, 5, 9, 12}, {3, 0, -4, 0})).ok());
  const Result<ModelSummary> summary = inspect_model(*ModelReader::open(disk, folder / "m"));
  ASSERT_TRUE(summary.ok());
  const TableSummary& weights = summary->tables[1];
  EXPECT_EQ(weights.rows, 4u);
  EXPECT_EQ(weights.zero_rows, 2u);
  EXPECT_DOUBLE_EQ(weights.mean, -0.25);
  EXPECT_DOUBLE_EQ(weights.rms, 2.5);
  EXPECT_DOUBLE_EQ(weights.max_abs, 4);
  const std::string text = to_text(*summary);
  for (const char* part : {"lr, logistic", "weights", "valid_auc", "epochs", "digest"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

TEST(ModelReport, DiffMergesKeysOfBothModels) {
  TemporaryFolder folder;
  SystemDisk disk;
  ASSERT_TRUE(save_model(folder / "a", lr_spec(), lr_tables({1, 5, 9, 12}, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(save_model(folder / "b", lr_spec(), lr_tables({0, 5, 9, 13, 14}, {7, 2, 3.5f, 7, 7})).ok());
  const ModelReader a = *ModelReader::open(disk, folder / "a"), b = *ModelReader::open(disk, folder / "b");
  const ModelDiff diff = *diff_models(a, b);
  const TableDiff& weights = diff.tables[1];
  EXPECT_EQ(weights.common_keys, 2u);
  EXPECT_EQ(weights.only_left, 2u);
  EXPECT_EQ(weights.only_right, 3u);
  EXPECT_EQ(weights.different_rows, 1u);
  EXPECT_DOUBLE_EQ(weights.max_abs_difference, 0.5);
  EXPECT_FALSE(diff.equal());
  EXPECT_TRUE(diff_models(a, a)->equal());
  EXPECT_NE(to_text(diff).find("different"), std::string::npos);
}

TEST(ModelReport, DiffNamesTablesOfOneModelOnlyAndShowsNan) {
  TemporaryFolder folder;
  SystemDisk disk;
  ASSERT_TRUE(save_model(folder / "lr", lr_spec(), lr_tables({1}, {std::nanf("")})).ok());
  ASSERT_TRUE(save_model(folder / "lr2", lr_spec(), lr_tables({1}, {2})).ok());
  ASSERT_TRUE(save_model(folder / "fm", fm_spec(), test_tables(fm_spec(), 3, 1)).ok());
  ASSERT_TRUE(save_model(folder / "fm2", fm_spec(2), test_tables(fm_spec(2), 3, 1)).ok());
  const ModelReader lr = *ModelReader::open(disk, folder / "lr"),
                    fm = *ModelReader::open(disk, folder / "fm");
  EXPECT_EQ(diff_models(fm, lr)->only_left, std::vector<std::string>{"factors"});
  EXPECT_EQ(diff_models(lr, fm)->only_right, std::vector<std::string>{"factors"});
  EXPECT_TRUE(
      std::isnan(diff_models(lr, *ModelReader::open(disk, folder / "lr2"))->tables[1].max_abs_difference));
  EXPECT_EQ(diff_models(fm, *ModelReader::open(disk, folder / "fm2")).status().code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
