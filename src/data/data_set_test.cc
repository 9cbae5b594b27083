#include "data/data_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "data/files_for_test.h"
#include "data/numbered_rows_for_test.h"

namespace thalweg {
namespace {

Labels counted(std::uint64_t count) {
  Labels labels(count);
  for (std::uint64_t i = 0; i < count; ++i) labels[i] = i;
  return labels;
}

Labels read_all_shards(const std::shared_ptr<DataSet>& data, std::uint32_t shards,
                       std::size_t batch_rows = 100) {
  Labels all;
  for (std::uint32_t s = 0; s < shards; ++s) {
    const Labels labels = read_labels(*open_reader(data, s, shards), batch_rows);
    EXPECT_TRUE(std::is_sorted(labels.begin(), labels.end()));
    all.insert(all.end(), labels.begin(), labels.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Key> first_keys(const ReadOptions& options) {
  Batch batch;
  EXPECT_EQ(open_reader(open_data(options))->next(1, batch).value(), 1u);
  return batch.keys;
}

constexpr std::uint64_t kRows = 6000;

TEST(Sharding, TheUnionOfTheShardsIsTheFile) {
  const TemporaryFolder directory;
  std::string text = numbered_rows(kRows);
  text.pop_back();  // The last line has no '\n'.
  for (const std::string& path :
       {directory.write("a", text), directory.write("a.gz", gzipped(text)),
        directory.write("a.zst", zstd_packed(text)), directory.write("a.xz", xz_packed(text)),
        directory.write("a.bz2", bzip2_packed(text))}) {
    const std::shared_ptr<DataSet> data = open_data(files({path}));
    for (const std::uint32_t shards : {1, 2, 3, 8, 64, 1000}) {
      if (shards > 8 && !path.ends_with("a")) continue;  // Here each shard unpacks for itself.
      EXPECT_EQ(read_all_shards(data, shards), counted(kRows)) << path << " in " << shards;
    }
  }
}

TEST(Sharding, ShardsShareTheRowsEvenly) {
  const TemporaryFolder directory;
  const std::shared_ptr<DataSet> data = open_data(files({directory.write("a", numbered_rows(kRows))}));
  for (std::uint32_t s = 0; s < 4; ++s) {
    const Labels labels = read_labels(*open_reader(data, s, 4));
    EXPECT_GT(labels.size(), kRows / 8);
    EXPECT_LT(labels.size(), kRows / 2);
  }
}

TEST(Sharding, BatchesAreCutFromTheShardWhateverTheChunks) {
  const TemporaryFolder directory;
  const std::string path = directory.write("a.gz", gzipped(numbered_rows(kRows)));
  const std::shared_ptr<DataSet> data = open_data(files({path}));
  const Labels once = read_labels(*open_reader(data, 1, 3), 1000000);
  for (const std::size_t batch_rows : {1, 7, 64, 999}) {
    EXPECT_EQ(read_labels(*open_reader(data, 1, 3), batch_rows), once);
  }
}

TEST(Sharding, LinesAreCutAtEveryPossiblePlace) {
  // Lines whose ends fall on, before and behind each border of the smallest chunks.
  const TemporaryFolder directory;
  for (std::size_t length = kMinChunkBytes - 3; length <= kMinChunkBytes + 3; ++length) {
    std::string text = "1";
    text.append(length - 2, ' ');
    text += "\n2\n3\n";
    text.append(kMinChunkBytes * 2 - text.size() - 1, '\n');
    text += "\n4\n5 ";
    const std::shared_ptr<DataSet> data = open_data(files({directory.write("a", text)}));
    for (const std::uint32_t shards : {1, 2, 5}) {
      Labels all;
      Batch batch;
      for (std::uint32_t s = 0; s < shards; ++s) {
        const std::unique_ptr<RowReader> reader = open_reader(data, s, shards);
        while (reader->next(2, batch).value() > 0)
          all.insert(all.end(), batch.labels.begin(), batch.labels.end());
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, (Labels{1, 2, 3, 4, 5})) << length;
    }
  }
}

TEST(Files, ManyFilesAndGlobsInOrder) {
  const TemporaryFolder directory;
  directory.write("part-1", numbered_rows(50, 100));
  const std::string zero = directory.write("part-0", numbered_rows(100));
  const std::string two = directory.write("part-2.gz", gzipped(numbered_rows(50, 150)));
  EXPECT_EQ(read_labels(*open_reader(open_data(files({directory / "part-*"})))), counted(200));
  EXPECT_EQ(read_all_shards(open_data(files({directory / "part-?"})), 3), counted(150));
  const Labels given = read_labels(*open_reader(open_data(files({two, zero}))));
  EXPECT_EQ(given.front(), 150u);
  EXPECT_EQ(given.back(), 99u);
}

TEST(Files, MoreFilesThanMayBeOpenAtOnce) {
  const TemporaryFolder directory;
  for (std::uint64_t i = 0; i < kMaxOpenFiles + 5; ++i) {
    directory.write("part-" + std::to_string(1000 + i), numbered_rows(3, 3 * i));
  }
  const std::shared_ptr<DataSet> data = open_data(files({directory / "part-*"}));
  EXPECT_EQ(read_all_shards(data, 3), counted(3 * (kMaxOpenFiles + 5)));
}

TEST(Files, AFingerprintTellsOtherFilesAndNotOtherNames) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.svm", numbered_rows(50)),
                    b = folder.write("b.svm", numbered_rows(50, 50));
  const std::string copy = folder.write("copy.svm", numbered_rows(50));
  const auto of = [](std::vector<std::string> paths) {
    return open_data(files(std::move(paths)))->fingerprint();
  };
  EXPECT_EQ(of({a, b}), of({copy, b}));
  EXPECT_NE(of({a}), of({b}));
  EXPECT_NE(of({a, b}), of({b, a}));
  EXPECT_NE(of({a}), of({a, copy}));
}

TEST(Files, AFileMayBearAGlobsName) {
  const TemporaryFolder directory;
  EXPECT_EQ(read_labels(*open_reader(open_data(files({directory.write("a[1]", numbered_rows(3))})))),
            counted(3));
}

TEST(Files, ByteOrderMarkAndHeaderArePassedOver) {
  const TemporaryFolder directory;
  const std::string csv = "\xef\xbb\xbflabel,x\n1,2\n2,3\n";
  const std::string libsvm =
      "\xef\xbb\xbf"
      "1 3:1\n2\n";
  for (const std::string& text : {csv, libsvm}) {
    for (const std::string& path : {directory.write("a", text), directory.write("a.gz", gzipped(text))}) {
      Batch batch;
      ASSERT_EQ(open_reader(open_data(files({path})))->next(9, batch).value(), 2u);
      EXPECT_EQ(batch.labels, (std::vector<float>{1, 2}));
    }
  }
}

// The header alone is longer than what is read first of a file.
TEST(Files, ColumnsOfVeryWideRowsAreFound) {
  constexpr int kColumns = 4000, kLines = 60;
  std::string text = "label";
  for (int c = 0; c < kColumns; ++c) text += ",a_column_of_name_" + std::to_string(c);
  for (int row = 0; row < kLines; ++row) {
    text += "\n" + std::to_string(row % 2);
    for (int c = 0; c < kColumns; ++c) text += c % 2 == 0 ? ",1000000" : ",word" + std::to_string(row % 7);
  }
  const TemporaryFolder directory;
  for (const std::string& path : {directory.write("a", text), directory.write("a.gz", gzipped(text))}) {
    ReadOptions options = files({path});
    options.choose_scales = true;
    const std::shared_ptr<DataSet> data = open_data(options);
    const std::vector<Column>& columns = data->columns().list;
    ASSERT_EQ(columns.size(), 4001u);
    EXPECT_EQ(column_kind_text(columns[kColumns - 1]), "num/1000000");
    EXPECT_EQ(column_kind_text(columns[kColumns]), "cat");
    Batch batch;
    EXPECT_EQ(open_reader(data)->next(100, batch).value(), 60u) << path;
  }
}

TEST(Part, EveryNthRowOverAllFilesIsHeldOut) {
  const TemporaryFolder directory;
  const std::string a = directory.write("a", numbered_rows(3001)),
                    b = directory.write("b", numbered_rows(2000, 3001));
  const std::string c = directory.write("c.gz", gzipped(numbered_rows(2000, 3001)));
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{a, b}, std::vector<std::string>{a, c}}) {
    ReadOptions options = files(paths);
    options.part_modulus = 10;
    options.part = Part::kHeldOut;
    const std::shared_ptr<DataSet> held = open_data(options);
    options.part = Part::kTrain;
    const std::shared_ptr<DataSet> train = open_data(options);
    for (const std::uint32_t shards : {1, 4, 9}) {
      const Labels out = read_all_shards(held, shards), in = read_all_shards(train, shards);
      EXPECT_EQ(out.size(), 500u);
      EXPECT_EQ(in.size(), 4501u);
      for (const std::uint64_t label : out) EXPECT_EQ((label + 1) % 10, 0u);
      for (const std::uint64_t label : in) EXPECT_NE((label + 1) % 10, 0u);
    }
  }
}

TEST(Packed, WhatPzstdWritesIsZstd) {
  const TemporaryFolder directory;
  const std::string skippable("\x50\x2a\x4d\x18\x04\0\0\0size", 12), text = numbered_rows(20);
  const std::string path = directory.write(
      "a", skippable + zstd_packed(text.substr(0, 40)) + skippable + zstd_packed(text.substr(40)));
  EXPECT_EQ(read_all_shards(open_data(files({path})), 2), counted(20));
}

TEST(BadRows, FailNamesFileLineAndColumn) {
  const TemporaryFolder directory;
  std::string text = numbered_rows(4000);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  text += "1 5:1 six:1\n" + numbered_rows(10);
  const std::string plain = directory.write("a", text), packed = directory.write("a.gz", gzipped(text));
  for (const std::string& path : {plain, packed}) {
    const std::shared_ptr<DataSet> data = open_data(files({path}));
    int failures = 0;
    for (std::uint32_t s = 0; s < 3; ++s) {
      const std::unique_ptr<RowReader> reader = open_reader(data, s, 3);
      Batch batch;
      Result<std::size_t> rows = std::size_t{1};
      while (rows && *rows > 0) rows = reader->next(64, batch);
      if (rows) continue;
      ++failures;
      EXPECT_EQ(rows.status().code(), Code::kData);
      EXPECT_EQ(rows.status().message(),
                path + ":" + std::to_string(lines + 1) +
                    ":7: saw \"six:1\", expected index:value (index below 2^64-1, finite value)");
      EXPECT_EQ(reader->next(64, batch).status(), rows.status()) << "the error is final";
    }
    EXPECT_EQ(failures, 1);
  }
}

TEST(BadRows, AHeaderThatStandsAgainIsNamed) {
  const TemporaryFolder directory;
  const std::string header = "n,label\r\n";
  std::string rows;
  for (int row = 0; row < 5; ++row) rows += "3,1\r\n";
  ReadOptions options = files({directory.write("a.csv", header + rows + header + rows)});
  const std::shared_ptr<DataSet> data = open_data(options);
  const std::unique_ptr<RowReader> reader = open_reader(data, 0, 1);
  Batch batch;
  const auto read = reader->next(100, batch);
  ASSERT_FALSE(read);
  EXPECT_NE(read.status().message().find(":7:1: saw \"n,label\""), std::string::npos)
      << read.status().message();
  EXPECT_NE(read.status().message().find("the header again"), std::string::npos) << read.status().message();
  options.max_bad_rows = 1;
  const std::shared_ptr<DataSet> skipping = open_data(options);
  EXPECT_EQ(skipping->columns().list[0].kind, Column::Kind::kNumeric);
  EXPECT_EQ(skipping->columns().list[0].facts.rows, 10u);
  EXPECT_EQ(*open_reader(skipping, 0, 1)->next(100, batch), 10u);
}

TEST(BadRows, SkippedOnesAreCountedUpToALimit) {
  const TemporaryFolder directory;
  const std::string path = directory.write("a", "1 1:1\nbad\n2 2:1\n3 x\n4 4:1\n");
  ReadOptions options = files({path});
  options.max_bad_rows = 2;
  const std::shared_ptr<DataSet> data = open_data(options);
  const std::unique_ptr<RowReader> reader = open_reader(data);
  for (int pass = 0; pass < 3; ++pass) {
    Batch batch;
    ASSERT_EQ(reader->next(10, batch).value(), 3u);
    EXPECT_EQ(batch.labels, (std::vector<float>{1, 2, 4}));
    EXPECT_EQ(batch.row_begin, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(reader->rows_skipped(), 2u);
    ASSERT_TRUE(reader->rewind().ok());
  }
  EXPECT_EQ(data->skipped_rows(), 2u) << "a row is counted in the first pass only";
  for (int look = 0; look < 2; ++look) {
    Batch batch;
    EXPECT_EQ((*data->reader_ahead())->next(10, batch).value(), 3u);
  }
  EXPECT_EQ(data->skipped_rows(), 2u) << "who looks ahead counts apart";
  ASSERT_EQ(data->skipped_examples().size(), 2u);
  EXPECT_NE(data->skipped_examples()[0].find("a:2:1: saw \"bad\""), std::string::npos);
  options.max_bad_rows = 1;
  Batch batch;
  const auto ahead = (*open_data(options)->reader_ahead())->next(10, batch);
  const Result<std::size_t> rows = open_reader(open_data(options))->next(10, batch);
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(ahead.status().message(), rows.status().message());
  EXPECT_NE(rows.status().message().find("a:4:3: saw \"x\""), std::string::npos) << rows.status().message();
  EXPECT_NE(rows.status().message().find("at most 1 may be skipped"), std::string::npos);
}

TEST(DataSet, BlankLinesMayStandBeforeAHeader) {
  const TemporaryFolder folder;
  const std::string rows = "click,site\n1,a\n0,b\n";
  for (const std::string before : {"\n", "\r\n \t\n", "\xef\xbb\xbf\n\n"}) {
    for (const std::string& path :
         {folder.write("a.csv", before + rows), folder.write("a.csv.gz", gzipped(before + rows))}) {
      const std::shared_ptr<DataSet> data = open_data(files({path}));
      Batch batch;
      EXPECT_EQ(open_reader(data)->next(10, batch).value(), 2u) << path;
      EXPECT_EQ(batch.labels, (std::vector<float>{1, 0}));
    }
  }
}

std::string refusal(ReadOptions options) {
  const Result<std::shared_ptr<DataSet>> data = DataSet::open(std::move(options));
  if (!data) return data.status().message();
  Batch batch;
  const std::unique_ptr<RowReader> reader = open_reader(*data);
  for (;;) {
    const Result<std::size_t> rows = reader->next(1000, batch);
    if (!rows) return rows.status().message();
    if (*rows == 0) return "none";
  }
}

void expect_refusal(const ReadOptions& options, const std::string& part) {
  const std::string message = refusal(options);
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nexpected: " << part;
}

TEST(BadFiles, EachHasOneClearError) {
  const TemporaryFolder directory;
  const std::string rows = numbered_rows(3000), packed = gzipped(rows), zpacked = zstd_packed(rows);
  const auto file = [&](const char* name, std::string_view text) {
    return files({directory.write(name, text)});
  };
  expect_refusal(files({}), "no data file given");
  expect_refusal(files({directory / "missing"}), "missing: cannot be opened: No such file");
  expect_refusal(files({directory / "no-*"}), "no-*: no file matches");
  expect_refusal(files({directory / ""}), "is a directory");
  expect_refusal(files({"-", "-"}), "named twice");
  expect_refusal(file("empty", ""), "empty: is empty, expected rows");
  expect_refusal(file("blank", "\n\n# only this\n"), "has no row");
  expect_refusal(file("binary", std::string_view("1 3:1\n1 \0\1\2", 11)),
                 "binary:2:3: saw \"\\x00\", expected text");
  expect_refusal(file("late-binary", rows + std::string(1, '\0')), "saw \"\\x00\", expected a label");
  expect_refusal(file("words", "hello world\n"), "words:1:1: saw \"hello\", expected a row of libsvm");
  expect_refusal(file("cut.gz", packed.substr(0, packed.size() / 2)),
                 "cut.gz: ends in the middle of its gzip data");
  expect_refusal(file("cut.zst", zpacked.substr(0, zpacked.size() - 5)),
                 "cut.zst: ends in the middle of its zstd data");
  expect_refusal(file("tail.gz", packed + "garbage"), "tail.gz: gzip data is damaged");
  expect_refusal(file("cut.xz", xz_packed(rows).substr(0, 5000)),
                 "cut.xz: ends in the middle of its xz data");
  expect_refusal(file("cut.bz2", bzip2_packed(rows).substr(0, 5000)),
                 "cut.bz2: ends in the middle of its bzip2 data");
  expect_refusal(file("tail.xz", xz_packed(rows) + "garbage behind"), "tail.xz: xz data is damaged");
  expect_refusal(file("tail.bz2", bzip2_packed(rows) + "garbage"), "tail.bz2: bzip2 data is damaged");
  std::string flipped = packed;
  flipped[packed.size() / 2] = static_cast<char>(flipped[packed.size() / 2] ^ 0x55);
  expect_refusal(file("flip.gz", flipped), "flip.gz:");  // Bad rows or a bad checksum, whichever comes first.
  std::string zflipped = zpacked;
  zflipped[4] = static_cast<char>(0xff);
  expect_refusal(file("flip.zst", zflipped), "flip.zst: zstd data is damaged");
  for (const bool xz : {true, false}) {
    std::string hurt = xz ? xz_packed(rows) : bzip2_packed(rows);
    hurt[hurt.size() / 2] = static_cast<char>(hurt[hurt.size() / 2] ^ 0x55);
    expect_refusal(file("flip", hurt), xz ? "flip: xz data is damaged" : "flip: bzip2 data is damaged");
  }
}

TEST(BadFiles, AnXzHeaderCannotAskForAllMemory) {
  const TemporaryFolder directory;
  std::string packed = xz_packed(numbered_rows(3000));
  constexpr std::size_t kBlock = 12, kDictionary = kBlock + 4, kChecksum = kBlock + 8;
  packed[kDictionary] = 37;  // 1.5 GiB.
  const std::uint32_t checksum =
      lzma_crc32(reinterpret_cast<const std::uint8_t*>(packed.data()) + kBlock, kChecksum - kBlock, 0);
  std::memcpy(packed.data() + kChecksum, &checksum, sizeof checksum);
  expect_refusal(files({directory.write("a.xz", packed)}),
                 "it asks for a dictionary that needs more than 128 MiB of memory");
}

TEST(BadFiles, OneCellIsShown) {
  const TemporaryFolder directory;
  ReadOptions options = files({directory.write("a.csv", "age,city,label\n30,Rome,1\nold,Rome,0\n")});
  options.columns = "age:num";
  expect_refusal(options, "a.csv:3:1: saw \"old\", expected a finite number (column \"age\"");
}

TEST(BadFiles, MixedFormatsAndColumnsAreNamed) {
  const TemporaryFolder directory;
  const std::string svm = directory.write("a.svm", "1 3:1\n"), ffm = directory.write("b.ffm", "1 0:3:1\n");
  expect_refusal(files({svm, ffm}), "b.ffm: looks like libffm, expected libsvm as in " + svm);
  const std::string a = directory.write("a.csv", "label,x\n1,2\n"),
                    b = directory.write("b.csv", "label,y\n1,2\n");
  expect_refusal(files({a, b}), "b.csv:1:1: saw columns label, y, expected label, x as in " + a);
  const std::string wide = directory.write("d.csv", "label,b,c,d,e,f,g,h,i,j\n1,2,3,4,5,6,7,8,9,0\n");
  expect_refusal(files({wide, directory.write("e.csv", "label,b,c,d,e,f,g,h,i,k\n1,2,3,4,5,6,7,8,9,0\n")}),
                 "e.csv:1:1: saw columns ..., k, expected ..., j as in " + wide);
  expect_refusal(files({directory.write("c.csv", "1,2\n")}), "--columns");
}

TEST(Files, AModelOfCsvReadsJsonLines) {
  const TemporaryFolder directory;
  ReadOptions options = files({directory.write("a.jsonl", "{\"city\":\"Rome\",\"hour\":7,\"label\":1}\n")});
  const Key as_number = first_keys(options).at(1);
  options.known_columns = "city:cat,hour:cat,label:label";
  EXPECT_EQ(open_data(options)->description(), "jsonl");
  const std::vector<Key> keys = first_keys(options);
  EXPECT_NE(keys.at(1), as_number);
  options.paths = {directory.write("a.csv", "city,hour,label\nRome,7,1\n")};
  EXPECT_EQ(first_keys(options), keys);
}

TEST(BadFiles, AFileWithoutRowsSaysSo) {
  const TemporaryFolder directory;
  ReadOptions options = files({directory.write("a.svm", "# what it was\n\n")});
  options.format = "libsvm";
  expect_refusal(options, "a.svm: has no row, only blank lines and comments, expected rows");
  expect_refusal(files({directory.write("a.csv", "label,x\n")}),
                 "a.csv: has a header and no rows, expected rows");
}

TEST(EmptyFiles, ArePassedOverWhereOthersAreNot) {
  const TemporaryFolder directory;
  const std::string none = directory.write("a", ""), packed_none = directory.write("d.gz", gzipped(""));
  const std::string some = directory.write("b", numbered_rows(3)),
                    more = directory.write("c", "3 3000:1 3001:1 3002:1\n");
  const auto data = open_data(files({directory / "*"}));
  EXPECT_EQ(data->empty_paths(), (std::vector<std::string>{none, packed_none}));
  EXPECT_EQ(data->paths(), (std::vector<std::string>{some, more}));
  EXPECT_EQ(read_labels(*open_reader(data)), counted(4));
  EXPECT_EQ(data->fingerprint(), open_data(files({some, more}))->fingerprint());
  expect_refusal(files({none, packed_none}), "a: is empty, expected rows");
}

TEST(EmptyFiles, AHeaderAloneSaysNothingOfTheColumns) {
  const TemporaryFolder directory;
  const std::string a = directory.write("a.csv", "label,x\n"),
                    c = directory.write("c.csv.gz", gzipped("label,x\n"));
  const std::string b = directory.write("b.csv", "label,x\n1,red\n0,blue\n");
  const auto data = open_data(files({a, b, c}));
  EXPECT_EQ(data->empty_paths(), (std::vector<std::string>{a, c}));
  EXPECT_EQ(data->description(), "csv, 2 columns: label:label, x:cat");
  Batch batch;
  EXPECT_EQ(open_reader(data)->next(10, batch).value(), 2u);
  EXPECT_EQ(open_data(files({a, directory.write("d.svm", "1 3:1\n")}))->format().name, "libsvm");
}

TEST(BadFiles, AnUnreadableFileSaysSo) {
  const TemporaryFolder directory;
  const std::string path = directory.write("a", "1 3:1\n");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // Root may read everything, so it becomes somebody else for a moment.
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  const std::string message = refusal(files({path}));
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  EXPECT_NE(message.find("cannot be opened: Permission denied"), std::string::npos) << message;
}

TEST(BadFiles, AnEndlessLineIsRefusedInBoundedMemory) {
  const TemporaryFolder directory;
  std::string text = "1 3:1\n1 ";
  text.append(kMaxLineBytes + 3 * kMaxChunkBytes, '7');
  expect_refusal(files({directory.write("a", text)}), "is longer than 16777216 bytes");
  expect_refusal(files({directory.write("a.zst", zstd_packed(text))}), "is longer than 16777216 bytes");
}

TEST(BadFiles, AFileThatShrinksIsAnError) {
  const TemporaryFolder directory;
  const std::string path = directory.write("a", numbered_rows(50000));
  const std::shared_ptr<DataSet> data = open_data(files({path}));
  const std::unique_ptr<RowReader> reader = open_reader(data);
  Batch batch;
  ASSERT_TRUE(reader->next(10, batch).ok());
  std::filesystem::resize_file(path, 200000);
  Result<std::size_t> rows = std::size_t{1};
  while (rows && *rows > 0) rows = reader->next(1000, batch);
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.status().message().find("became shorter"), std::string::npos);
}

TEST(Options, ImpossibleOnesAreRefused) {
  ReadOptions options = files({"any"});
  options.hash_bits = 64;
  expect_refusal(options, "hash bits: saw 64");
  options.hash_bits = 0;
  options.part = Part::kTrain;
  options.part_modulus = 1;
  expect_refusal(options, "held-out part: saw 1");
}

}  // namespace
}  // namespace thalweg
