#include "data/text_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/temporary_folder_for_test.h"
#include "data/data_set.h"

namespace thalweg {
namespace {

Result<std::string> rows_of(const std::string& path, const TextWindows& windows) {
  auto stream = open_rows(path, windows);
  if (!stream) return stream.status();
  std::string text;
  for (char block[7];;) {
    const auto count = (*stream)->read(block, sizeof block);
    if (!count) return count.status();
    if (*count == 0) return text;
    text.append(block, *count);
  }
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

using Lines = std::vector<std::string>;

TEST(TextWindows, AreBytesAndTheOneBehindThem) {
  const TemporaryFolder folder;
  const std::string file = folder.write("text", std::string("ab\n\0\xff"
                                                            "fgh",
                                                            8));
  EXPECT_EQ(sorted_lines(*rows_of(file, {.context = 2})),
            (Lines{"10 0:97 1:98", "103 0:255 1:102", "255 0:10 1:0"}));
  EXPECT_EQ(sorted_lines(*rows_of(file, {.context = 7})),
            (Lines{"104 0:97 1:98 2:10 3:0 4:255 5:102 6:103"}));
}

TEST(TextWindows, NeighboursStandApart) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 101; ++i) text += static_cast<char>(i);
  const std::string rows = *rows_of(folder.write("text", text), {.context = 1});
  const Lines lines = sorted_lines(rows);
  EXPECT_EQ(lines.size(), 100u);
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end()) << "each window once";
  EXPECT_EQ(rows.substr(0, rows.find('\n')), "1 0:0");
  EXPECT_NE(rows.find("\n2 0:1\n"), rows.find('\n')) << rows;
}

TEST(TextWindows, PartsAreTheBeginAndTheEnd) {
  const TemporaryFolder folder;
  const std::string file = folder.write("text", "abcdefghijkl");
  EXPECT_EQ(sorted_lines(*rows_of(file, {1, Part::kHeldOut, 4})), (Lines{"107 0:106", "108 0:107"}));
  EXPECT_EQ(sorted_lines(*rows_of(file, {1, Part::kTrain, 4})).size(), 8u);
}

TEST(TextWindows, FilesThatAreTooShortSaySo) {
  const TemporaryFolder folder;
  const std::string file = folder.write("text", "abcd");
  EXPECT_TRUE(rows_of(file, {.context = 3}).ok());
  const auto whole = rows_of(file, {.context = 4});
  EXPECT_EQ(whole.status().code(), Code::kData);
  EXPECT_EQ(whole.status().message(),
            file + ": 4 bytes; expected more than the 4 of --context\nhint: train with a lower --context");
  EXPECT_NE(rows_of(file, {.context = 3, .part = Part::kTrain, .parts = 4})
                .status()
                .message()
                .find("3 bytes to learn from; expected more than the 3"),
            std::string::npos);
  EXPECT_NE(rows_of(file, {1, Part::kHeldOut, 4})
                .status()
                .message()
                .find("1 bytes to hold out; expected more than the 1"),
            std::string::npos);
}

TEST(TextWindows, NoBytesMakeAFileAnythingButText) {
  const TemporaryFolder folder;
  const std::string images = folder.write("images", std::string("\0\0\x08\x03more", 8));
  EXPECT_EQ(*rows_of(images, {.context = 7}), "101 0:0 1:0 2:8 3:3 4:109 5:111 6:114\n");
}

TEST(TextWindows, AreRowsOfADataSet) {
  const TemporaryFolder folder;
  ReadOptions options;
  options.paths = {folder.write("text", std::string(300, 'x') + std::string(300, '\0'))};
  options.format = "libsvm";
  options.classes = 256;
  options.text.context = 10;
  const auto data = DataSet::open(options);
  ASSERT_TRUE(data.ok()) << data.status().message();
  std::vector<std::size_t> rows;
  for (const std::uint32_t shard : {0u, 1u}) {
    rows.push_back(0);
    const auto reader = (*data)->reader(ShardId{shard}, 2);
    ASSERT_TRUE(reader.ok());
    Batch batch;
    for (;;) {
      const auto count = (*reader)->next(16, batch);
      ASSERT_TRUE(count.ok()) << count.status().message();
      if (*count == 0) break;
      EXPECT_EQ(batch.entries(), 10 * *count);
      rows.back() += *count;
    }
  }
  EXPECT_EQ(rows, (std::vector<std::size_t>{31, 28})) << "all 59, evenly but for a chunk";
}

}  // namespace
}  // namespace thalweg
