// Compressed files and pipes: passes shared by several readers.
#include "data/stream_hub.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "data/data_set.h"
#include "data/files_for_test.h"
#include "data/unpack/pipe_patience.h"

namespace thalweg {
namespace {

// Rows with labels 0, 1, ... of about `width` bytes.
std::string wide_rows(std::uint64_t count, std::size_t width) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i)
    text += std::to_string(i) + " 5:1 #" + std::string(width, 'x') + '\n';
  return text;
}

std::shared_ptr<DataSet> open_path(const std::string& path) {
  ReadOptions options;
  options.paths = {path};
  Result<std::shared_ptr<DataSet>> data = DataSet::open(options);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return data ? *data : nullptr;
}

using ReadLabels = std::vector<float>;

// Reads on until the end or kRetry; true at the end.
bool read_on(RowReader& reader, ReadLabels& labels, std::size_t batch_rows) {
  Batch batch;
  for (;;) {
    const Result<std::size_t> rows = reader.next(batch_rows, batch);
    if (!rows) {
      EXPECT_EQ(rows.status().code(), Code::kRetry) << rows.status().message();
      return rows.status().code() != Code::kRetry;
    }
    if (*rows == 0) return true;
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
}

ReadLabels sorted_union(std::vector<ReadLabels> parts) {
  ReadLabels all;
  for (const ReadLabels& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  return all;
}

void expect_counted(const ReadLabels& labels, std::uint64_t count) {
  ASSERT_EQ(labels.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(labels[i], static_cast<float>(i));
}

// 75 MB of text, twice the stash, in few packed bytes.
constexpr std::uint64_t kWideRows = 1500;
constexpr std::size_t kWidth = 50000;

TEST(StreamHub, AReaderFarAheadWaitsAndNoRowIsLost) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data =
      open_path(directory.write("a.zst", zstd_packed(wide_rows(kWideRows, kWidth))));
  std::vector<std::unique_ptr<RowReader>> readers;
  for (std::uint32_t s = 0; s < 3; ++s) readers.push_back(std::move(*data->reader(ShardId{s}, 3)));
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<ReadLabels> parts(3);
    std::vector<bool> ended(3, false);
    int waits = 0;
    while (std::count(ended.begin(), ended.end(), true) < 3) {
      for (std::size_t s = 0; s < 3; ++s) {
        if (ended[s]) continue;
        ended[s] = read_on(*readers[s], parts[s], 33);
        waits += ended[s] ? 0 : 1;
      }
    }
    EXPECT_GT(waits, 0);
    expect_counted(sorted_union(parts), kWideRows);
    for (const auto& reader : readers) ASSERT_TRUE(reader->rewind().ok());
  }
}

TEST(StreamHub, ChunksOfShardsReadElsewhereAreDropped) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data =
      open_path(directory.write("a.zst", zstd_packed(wide_rows(kWideRows, kWidth))));
  const auto reader = data->reader(ShardId{2}, 3);
  ReadLabels labels;
  EXPECT_TRUE(read_on(**reader, labels, 100)) << "nobody else is to be waited for";
  EXPECT_GT(labels.size(), kWideRows / 4);
}

TEST(StreamHub, AReaderThatLeavesFreesTheOthers) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data =
      open_path(directory.write("a.zst", zstd_packed(wide_rows(kWideRows, kWidth))));
  auto first = data->reader(ShardId{0}, 2), second = data->reader(ShardId{1}, 2);
  ReadLabels labels, late;
  EXPECT_FALSE(read_on(**first, labels, 100));
  second->reset();
  EXPECT_TRUE(read_on(**first, labels, 100));
  // The shard that was given up is read by another, in a pass of its own.
  second = data->reader(ShardId{1}, 2);
  EXPECT_TRUE(read_on(**second, late, 100));
  expect_counted(sorted_union({labels, late}), kWideRows);
}

// In the middle of the others' pass, or before it, with passes before and after that it reads.
TEST(StreamHub, AReaderThatPassesAPassOverHoldsUpNobody) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data =
      open_path(directory.write("a.zst", zstd_packed(wide_rows(kWideRows, kWidth))));
  auto first = data->reader(ShardId{0}, 2), second = data->reader(ShardId{1}, 2);
  ReadLabels labels;
  EXPECT_FALSE(read_on(**first, labels, 100));
  (*second)->pass_over();
  EXPECT_TRUE(read_on(**first, labels, 100));
  for (const bool reads : {false, true}) {
    ASSERT_TRUE((*first)->rewind().ok());
    ASSERT_TRUE((*second)->rewind().ok());
    if (!reads) (*second)->pass_over();
    ReadLabels one, two;
    EXPECT_EQ(read_on(**first, one, 100), !reads);
    while (reads && !(read_on(**second, two, 100) && read_on(**first, one, 100))) {
    }
    EXPECT_EQ(one, labels) << reads;
    if (reads) expect_counted(sorted_union({one, two}), kWideRows);
  }
}

TEST(StreamHub, AShardTakenOverInALaterEpochGoesOnWithTheOthers) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data = open_path(directory.write("a.gz", gzipped(wide_rows(500, 2000))));
  auto first = data->reader(ShardId{0}, 2);
  ReadLabels labels;
  EXPECT_TRUE(read_on(**first, labels, 64));
  ASSERT_TRUE((*first)->rewind().ok());
  Batch batch;
  ASSERT_EQ((*first)->next(10, batch).value(), 10u);
  auto second = data->reader(ShardId{1}, 2, 1);
  for (int epoch = 1; epoch < 3; ++epoch) {
    ReadLabels one, two;
    if (epoch == 1) one.insert(one.end(), batch.labels.begin(), batch.labels.end());
    EXPECT_TRUE(read_on(**second, two, 64));
    EXPECT_TRUE(read_on(**first, one, 64));
    expect_counted(sorted_union({one, two}), 500);
    ASSERT_TRUE((*first)->rewind().ok());
    ASSERT_TRUE((*second)->rewind().ok());
  }
}

TEST(StreamHub, ManyThreadsReadOnePass) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data = open_path(directory.write("a.gz", gzipped(wide_rows(20000, 100))));
  std::vector<std::unique_ptr<RowReader>> readers;
  for (std::uint32_t s = 0; s < 4; ++s) readers.push_back(std::move(*data->reader(ShardId{s}, 4)));
  std::vector<ReadLabels> parts(4);
  std::vector<std::thread> threads;
  for (std::size_t s = 0; s < 4; ++s) {
    threads.emplace_back([&, s] {
      while (!read_on(*readers[s], parts[s], 100)) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_counted(sorted_union(parts), 20000);
}

TEST(StreamHub, GzipMembersAndZstdFramesFollowEachOther) {
  const TemporaryFolder directory;
  const std::string a = "0\n1\n", b = "2 5:1\n3\n";
  for (const std::string& packed : {gzipped(a) + gzipped(b), zstd_packed(a) + zstd_packed(b),
                                    xz_packed(a) + xz_packed(b), bzip2_packed(a) + bzip2_packed(b)}) {
    ReadLabels labels;
    EXPECT_TRUE(read_on(**open_path(directory.write("a", packed))->reader(ShardId{0}, 1), labels, 10));
    expect_counted(labels, 4);
  }
}

class Pipes : public testing::TestWithParam<bool> {};

TEST_P(Pipes, AreReadOnceByAllShards) {
  const TemporaryFolder directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const std::string text = wide_rows(3000, 500);
    std::ofstream(path, std::ios::binary) << (GetParam() ? gzipped(text) : text);
  });
  const std::shared_ptr<DataSet> data = open_path(path);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->total_bytes(), 0u);
  EXPECT_FALSE(data->seekable());
  std::vector<ReadLabels> parts(3);
  // Readers may also come after others have read: a pipe's chunks are kept for all shards.
  std::unique_ptr<RowReader> last;
  for (std::uint32_t s = 0; s < 3; ++s) {
    last = std::move(*data->reader(ShardId{s}, 3));
    EXPECT_TRUE(read_on(*last, parts[s], 100));
  }
  writer.join();
  expect_counted(sorted_union(parts), 3000);
  const Status again = last->rewind();
  EXPECT_EQ(again.code(), Code::kUsage);
  EXPECT_NE(again.message().find("only once"), std::string::npos);
  Batch batch;
  EXPECT_EQ((*data->reader(ShardId{0}, 3))->next(5, batch).status().code(), Code::kUsage);
}

TEST_P(Pipes, AreKnownByTheirFirstRows) {
  const TemporaryFolder directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string text = "label,x,y\n1,2,3\nbad\n0,4,0\n";
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << (GetParam() ? gzipped(text) : text); });
  const std::shared_ptr<DataSet> data = open_path(path);
  writer.join();
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->entries_in_head(), 1.5);
  EXPECT_EQ(open_path(directory.write("plain.csv", text))->entries_in_head(), 0);
}

TEST_P(Pipes, MayBeGivenUpWhileTheirWriterDoesNotCome) {
  const TemporaryFolder directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ReadOptions options;
  options.paths = {path};
  int asked = 0;
  {
    const PipePatience patience([&] { return ++asked == 2; });
    EXPECT_EQ(DataSet::open(options).status().code(), Code::kAborted);
    std::thread writer([&] {
      const std::string text = "1 2:3\n0 4:5\n";
      std::ofstream(path, std::ios::binary) << (GetParam() ? gzipped(text) : text);
    });
    const std::shared_ptr<DataSet> data = open_path(path);
    writer.join();
    ASSERT_NE(data, nullptr);
  }
  EXPECT_FALSE(PipePatience::is_limited());
}

TEST_P(Pipes, WhoseWriterWaitsGiveWayAndLoseNoRow) {
  const TemporaryFolder directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string text = wide_rows(3000, 500);
  const std::string bytes = GetParam() ? gzipped(text) : text;
  std::atomic<bool> go_on{false};
  std::thread writer([&] {
    std::ofstream pipe(path, std::ios::binary);
    pipe << bytes.substr(0, bytes.size() / 2) << std::flush;
    while (!go_on) std::this_thread::yield();
    pipe << bytes.substr(bytes.size() / 2);
  });
  const std::shared_ptr<DataSet> data = open_path(path);
  ASSERT_NE(data, nullptr);
  data->give_way();
  std::vector<std::unique_ptr<RowReader>> readers;
  std::vector<ReadLabels> parts(3);
  for (std::uint32_t s = 0; s < 3; ++s) {
    readers.push_back(std::move(*data->reader(ShardId{s}, 3)));
    EXPECT_FALSE(read_on(*readers[s], parts[s], 100));
  }
  go_on = true;
  for (std::uint32_t s = 0; s < 3; ++s) {
    while (!read_on(*readers[s], parts[s], 100)) {
    }
  }
  writer.join();
  expect_counted(sorted_union(parts), 3000);
}

INSTANTIATE_TEST_SUITE_P(PlainAndPacked, Pipes, testing::Bool(),
                         [](const auto& test) { return test.param ? "gzip" : "plain"; });

}  // namespace
}  // namespace thalweg
