#include "data/column/row_sample.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/files_for_test.h"

namespace thalweg {
namespace {

class RowSample : public ::testing::Test {
 protected:
  std::string sample(const std::vector<std::string>& paths, bool header) {
    auto files =
        open_input_files(paths, {}, {}, false, [](const InputFile&) { return Result<std::string>(""); });
    EXPECT_TRUE(files.ok()) << files.status().message();
    std::string rows = sample_rows(files->full, header, {}).value();
    EXPECT_GE(rows.size(), kTextPad);
    rows.resize(rows.size() - kTextPad);
    return rows;
  }
  const TemporaryFolder folder_;
};

TEST_F(RowSample, SmallFilesAreSeenWholeWithoutTheirHeaders) {
  const std::string a = folder_.write("a.csv", "\xef\xbb\xbfh\n1\n2\n"), b = folder_.write("b.csv", "h\n3");
  EXPECT_EQ(sample({a, b}, true), "1\n2\n3\n");
  EXPECT_EQ(sample({b}, false), "h\n3\n");
}

TEST_F(RowSample, LargeFilesAreSeenFromBeginToEndInWholeLines) {
  std::string text = "h\n";
  for (int i = 0; i < 500000; ++i) text += std::to_string(1000000 + i) + "\n";
  const std::string rows = sample({folder_.write("a.csv", text)}, true);
  EXPECT_LE(rows.size(), kSampleBytes);
  EXPECT_GE(rows.size(), kSampleBytes * 9 / 10);
  EXPECT_EQ(rows.size() % 8, 0u) << "each line has seven digits";
  EXPECT_EQ(rows.substr(0, 8), "1000000\n");
  const int last = std::stoi(rows.substr(rows.size() - 8));
  EXPECT_GE(last, 1000000 + 490000);
  for (std::size_t at = 0; at + 8 <= rows.size(); at += 8) ASSERT_EQ(rows[at + 7], '\n');
}

TEST_F(RowSample, OfRowsLongerThanAPieceManyAreSeenToo) {
  constexpr std::size_t kRowBytes = 40000;
  std::string text = std::string(2 * kRowBytes, 'h') + "\n";
  for (int i = 0; i < 400; ++i) text += std::string(kRowBytes, static_cast<char>('a' + i % 26)) + "\n";
  for (const std::string& path : {folder_.write("a.csv", text), folder_.write("a.csv.gz", gzipped(text))}) {
    const std::string rows = sample({path}, true);
    EXPECT_EQ(rows.size() % (kRowBytes + 1), 0u) << path;
    EXPECT_GE(rows.size(), 40 * kRowBytes) << path;
    EXPECT_EQ(rows.front(), 'a') << path;
  }
}

TEST_F(RowSample, PackedFilesAreSeenFromTheirBegin) {
  std::string text = "h\n";
  for (int i = 0; i < 500000; ++i) text += std::to_string(1000000 + i) + "\n";
  const std::string rows = sample({folder_.write("a.csv.gz", gzipped(text))}, true);
  EXPECT_EQ(rows.substr(0, 8), "1000000\n");
  EXPECT_GE(rows.size(), kSampleBytes - 16);
  EXPECT_EQ(rows.back(), '\n');
  EXPECT_EQ(sample({folder_.write("b.csv.gz", gzipped("h\n1\n2"))}, true), "1\n2\n");
}

}  // namespace
}  // namespace thalweg
