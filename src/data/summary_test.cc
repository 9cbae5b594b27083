#include "data/summary.h"

#include <gtest/gtest.h>

#include <sstream>

#include "data/files_for_test.h"
#include "data/numbered_rows_for_test.h"

namespace thalweg {
namespace {

std::shared_ptr<DataSet> open_summary(const std::string& path, std::uint64_t max_bad_rows = 0) {
  ReadOptions options;
  options.paths = {path};
  options.max_bad_rows = max_bad_rows;
  Result<std::shared_ptr<DataSet>> data = DataSet::open(options);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return data ? *data : nullptr;
}

TEST(Summary, CountsRowsEntriesAndKeys) {
  const TemporaryFolder directory;
  const std::string path = directory.write("a", "1 3:1 9:0.5\n-1 3:1\n0:2 7:1 3:1 3:1\nbad\n2\n");
  const Result<Summary> s = summarize(*open_summary(path, UINT64_MAX));
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_EQ(s->rows, 4u);
  EXPECT_EQ(s->positives, 2u);
  EXPECT_EQ(s->smallest_label, -1.0f);
  EXPECT_EQ(s->largest_label, 2.0f);
  EXPECT_TRUE(s->weighted);
  EXPECT_EQ(s->entries, 6u);
  EXPECT_EQ(s->fewest_entries, 0u);
  EXPECT_EQ(s->most_entries, 3u);
  EXPECT_EQ(s->values_not_one, 1u);
  EXPECT_EQ(s->smallest_value, 0.5f);
  EXPECT_EQ(s->largest_value, 1.0f);
  EXPECT_EQ(s->distinct_keys, 3.0);
  EXPECT_TRUE(s->distinct_keys_exact);
  EXPECT_EQ(s->smallest_key, 3u);
  EXPECT_EQ(s->largest_key, 9u);
  EXPECT_EQ(s->fields, 0u);
  EXPECT_EQ(s->bad_rows, 1u);
  ASSERT_EQ(s->bad_row_examples.size(), 1u);
  EXPECT_NE(s->bad_row_examples[0].find("a:4:1: saw \"bad\""), std::string::npos);
}

TEST(Summary, RealData) {
  const std::string path = test_data("frappe/frappe.validation.libfm");
  if (path.empty()) GTEST_SKIP() << "real data is absent: set THALWEG_TEST_DATA";
  const Result<Summary> s = summarize(*open_summary(path));
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->rows, 57722u);
  EXPECT_EQ(s->positives, 19063u);
  EXPECT_EQ(s->fewest_entries, 10u);
  EXPECT_EQ(s->most_entries, 10u);
  EXPECT_EQ(s->smallest_key, 0u);
  EXPECT_EQ(s->largest_key, 5381u);
}

TEST(DistinctKeys, ExactThenEstimated) {
  DistinctKeys keys;
  for (int pass = 0; pass < 2; ++pass) {
    for (Key k = 0; k < DistinctKeys::kExactKeys; ++k) keys.add(k * 3);
    EXPECT_TRUE(keys.exact());
    EXPECT_EQ(keys.count(), static_cast<double>(DistinctKeys::kExactKeys));
  }
  for (Key k = 0; k < 3000000; ++k) keys.add(k * 3);
  EXPECT_FALSE(keys.exact());
  EXPECT_NEAR(keys.count(), 3e6, 0.03 * 3e6);
}

TEST(Split, EveryNthRowGoesToTheSecondFile) {
  const TemporaryFolder directory;
  std::ostringstream kept, held;
  const auto data = open_summary(directory.write("a.gz", gzipped("# x\n1 1:1\n\n0 2:1 \r\n1 3:1\n0 4:1")));
  const Result<SplitReport> report = split_rows(*data, 2, kept, held);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rows_kept, 2u);
  EXPECT_EQ(report->rows_held_out, 2u);
  EXPECT_EQ(kept.str(), "1 1:1\n1 3:1\n");
  EXPECT_EQ(held.str(), "0 2:1 \r\n0 4:1\n");
}

TEST(Split, AHeaderGoesToBothFiles) {
  const TemporaryFolder directory;
  std::ostringstream kept, held;
  ASSERT_TRUE(
      split_rows(*open_summary(directory.write("a", "label,x\r\n1,1\r\n0,2\r\n1,3\r\n")), 3, kept, held)
          .ok());
  EXPECT_EQ(kept.str(), "label,x\r\n1,1\r\n0,2\r\n");
  EXPECT_EQ(held.str(), "label,x\r\n1,3\r\n");
  EXPECT_EQ(split_rows(*open_summary(directory / "a"), 1, kept, held).status().code(), Code::kUsage);
}

TEST(Split, BadRowsAreLeftOutWhereRowsAreLookedAt) {
  const TemporaryFolder directory;
  ReadOptions read;
  read.paths = {directory.write("a", "1 1:1\n0 x\n1 3:1\n0 4:1\nno\n1 6:1")};
  std::ostringstream kept, held;
  EXPECT_EQ(split_rows(**DataSet::open(read), 2, kept, held)->rows_left_out, 0u);
  EXPECT_EQ(held.str(), "0 x\n0 4:1\n1 6:1\n") << "as they stand";
  read.keep_lines = read.answer_bad_rows = true;
  EXPECT_EQ(split_rows(**DataSet::open(read), 2, kept, held).status().code(), Code::kData);
  read.max_bad_rows = 2;
  kept.str(""), held.str("");
  const auto report = split_rows(**DataSet::open(read), 2, kept, held);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(kept.str(), "1 1:1\n1 3:1\n");
  EXPECT_EQ(held.str(), "0 4:1\n1 6:1\n");
  EXPECT_EQ(report->rows_left_out, 2u);
}

TEST(Split, AFullDiskIsAnError) {
  std::ofstream full("/dev/full", std::ios::binary);
  if (!full) GTEST_SKIP() << "no /dev/full here";
  const TemporaryFolder directory;
  std::ostringstream held;
  const Result<SplitReport> report =
      split_rows(*open_summary(directory.write("a", "1 1:1\n0 2:1\n")), 2, full, held);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kIo);
}

TEST(Summary, OfManyColumnsOneLineHasTheFirst) {
  const TemporaryFolder directory;
  std::string header = "label", row = "1";
  for (int c = 0; c < 10000; ++c) header += ",c" + std::to_string(c), row += ",0.5";
  const std::string text =
      open_data(files({directory.write("a.csv", header + "\n" + row + "\n")}))->description();
  EXPECT_TRUE(text.starts_with("csv, 10001 columns: label:label, c0:num, ")) << text;
  EXPECT_TRUE(text.ends_with(", c38:num and 9961 more")) << text;
}

}  // namespace
}  // namespace thalweg
