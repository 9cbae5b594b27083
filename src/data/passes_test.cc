// Several passes over a shard: the same text each time, or an error.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/data_set.h"
#include "data/files_for_test.h"
#include "data/numbered_rows_for_test.h"

namespace thalweg {
namespace {

TEST(Rewind, GivesTheSameRowsAgain) {
  const TemporaryFolder directory;
  const std::string text = numbered_rows(3000);
  for (const std::string& path : {directory.write("a", text), directory.write("a.zst", zstd_packed(text))}) {
    const std::shared_ptr<DataSet> data = open_data(files({path}));
    const std::unique_ptr<RowReader> reader = open_reader(data, 1, 2);
    const Labels first = read_labels(*reader);
    EXPECT_EQ(reader->rows_read(), first.size());
    EXPECT_GT(reader->fraction_done(), 0.9);
    Batch batch;
    EXPECT_EQ(reader->next(5, batch).value(), 0u) << "the end stays the end";
    ASSERT_TRUE(reader->rewind().ok());
    EXPECT_EQ(reader->rows_read(), 0u);
    ASSERT_EQ(reader->next(100, batch).value(), 100u);
    ASSERT_TRUE(reader->rewind().ok()) << "also in the middle";
    EXPECT_EQ(read_labels(*reader), first);
  }
}

// A file that is written again while a reader has it open.
struct ChangingFile {
  explicit ChangingFile(const ReadOptions& with, const std::string& text) {
    ReadOptions options = with;
    options.paths = {directory.write("a", text)};
    data = open_data(options);
    reader = open_reader(data);
  }
  void become(const std::string& text) const { directory.write("a", text); }
  // How the next pass ends.
  Status pass() const {
    Batch batch;
    for (;;) {
      const Result<std::size_t> rows = reader->next(64, batch);
      if (!rows) return rows.status();
      if (*rows == 0) return reader->rewind();
    }
  }

  TemporaryFolder directory;
  std::shared_ptr<DataSet> data;
  std::unique_ptr<RowReader> reader;
};

TEST(LaterPasses, ABadRowFailsAsInTheFirst) {
  const std::string text = numbered_rows(3998);
  const ChangingFile file({}, text);
  ASSERT_TRUE(file.pass().ok());
  std::string spoilt = text;
  spoilt.replace(text.size() - 6, 5, "x x x");
  file.become(spoilt);
  const Status status = file.pass();
  EXPECT_EQ(status.code(), Code::kData);
  EXPECT_NE(status.message().find("expected"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("/a:" + std::to_string(std::count(text.begin(), text.end(), '\n')) + ":"),
            std::string::npos)
      << status.message();
}

TEST(LaterPasses, OtherNumbersOfRowsAreAnErrorThatNamesFileAndCounts) {
  const std::string text = "1 1:1\n2 2:1\nbad row\n3 3:1\n";
  ReadOptions options;
  options.max_bad_rows = 5;
  for (const auto& [became, found] : {std::pair("1 1:1\n# 2:1\nbad row\n3 3:1\n",
                                                "2 rows and 1 bad ones of a data shard, expected 3 and 1"),
                                      std::pair("1 1:1\n# 2:1\n5 5:555\n3 3:1\n",
                                                "3 rows and 0 bad ones of a data shard, expected 3 and 1"),
                                      std::pair("1 1:1\nx 2:1\nbad row\n3 3:1\n",
                                                "2 rows and 2 bad ones of a data shard, expected 3 and 1")}) {
    const ChangingFile file(options, text);
    ASSERT_TRUE(file.pass().ok());
    ASSERT_TRUE(file.pass().ok());
    file.become(became);
    const Status status = file.pass();
    EXPECT_EQ(status.code(), Code::kData);
    EXPECT_NE(status.message().find("/a: changed while it was used: " + std::string(found)),
              std::string::npos)
        << status.message();
  }
}

TEST(LaterPasses, AnotherReaderMayBeToldWhatTheFirstFound) {
  ReadOptions options;
  options.max_bad_rows = 1;
  const ChangingFile file(options, "1 1:1\nbad row\n3 3:1\n");
  Batch batch;
  ASSERT_EQ(file.reader->next(10, batch).value(), 2u);
  for (const bool changed : {false, true}) {
    if (changed) file.become("1 1:1\nbad row\n# 3:1\n");
    const std::unique_ptr<RowReader> later = open_reader(file.data);
    later->expect(file.reader->pass_rows());
    EXPECT_EQ(later->next(10, batch).ok(), !changed);
    EXPECT_EQ(file.data->skipped_rows(), 1u) << "its bad row is counted once";
  }
}

TEST(TextHash, IsOfTheShardsTextAsFarAsItWasRead) {
  const TemporaryFolder directory;
  std::string text = numbered_rows(3000);
  const auto hashes = [&](std::uint32_t shard, const std::string& path) {
    ReadOptions options = files({path});
    options.hash_text = true;
    const std::unique_ptr<RowReader> reader = open_reader(open_data(options), shard, 3);
    std::vector<std::uint64_t> of;
    Batch batch;
    while (reader->next(100, batch).value() > 0) of.push_back(reader->text_hash());
    EXPECT_TRUE(reader->at_end());
    return of;
  };
  const std::string a = directory.write("a", text), packed = directory.write("a.gz", gzipped(text));
  text[text.rfind(":1")] = '0';
  const std::string b = directory.write("b", text), other = directory.write("b.gz", gzipped(text));
  std::size_t differ = 0, packed_differ = 0;
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    const auto once = hashes(shard, a);
    EXPECT_EQ(hashes(shard, a), once);
    EXPECT_EQ(hashes(shard, b).front(), once.front()) << "nothing of what differs was read yet";
    differ += hashes(shard, b).back() != once.back();
    packed_differ += hashes(shard, other).back() != hashes(shard, packed).back();
  }
  EXPECT_EQ(differ, 1u) << "of the shard alone whose text differs";
  EXPECT_EQ(packed_differ, 1u);
}

TEST(TextHash, OfAllIsKnownToEachShardOfPackedFilesAtItsEnd) {
  const TemporaryFolder directory;
  const std::string text = numbered_rows(3000);
  const auto of_all = [&](const std::string& path, std::uint32_t shard) {
    ReadOptions options = files({path});
    options.hash_text = true;
    const std::unique_ptr<RowReader> reader = open_reader(open_data(options), shard, 3);
    Batch batch;
    EXPECT_EQ(reader->next(10, batch).value(), 10u);
    EXPECT_EQ(reader->hash_of_all(), 0u);
    read_labels(*reader);
    return reader->hash_of_all();
  };
  const std::string a = directory.write("a", text), packed = directory.write("a.gz", gzipped(text)),
                    zpacked = directory.write("a.zst", zstd_packed(text)),
                    other = directory.write("b.gz", gzipped(text + "3000\n"));
  EXPECT_EQ(of_all(a, 0), 0u) << "nobody reads all of a plain file";
  EXPECT_NE(of_all(packed, 0), 0u);
  EXPECT_EQ(of_all(packed, 0), of_all(packed, 2));
  EXPECT_EQ(of_all(packed, 0), of_all(zpacked, 1));
  EXPECT_NE(of_all(packed, 0), of_all(other, 0));
}

}  // namespace
}  // namespace thalweg
