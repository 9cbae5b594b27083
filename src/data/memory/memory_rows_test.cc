#include "data/memory/memory_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "data/data_set.h"
#include "data/memory/matrix_rows.h"
#include "data/memory/table_rows.h"

namespace thalweg {
namespace {

// Rows 0 to rows - 1, labelled by their numbers, whose columns 0 and 2 hold number and number + 2.
class NumberedMatrix {
 public:
  explicit NumberedMatrix(std::size_t rows) : labels_(rows) {
    std::iota(labels_.begin(), labels_.end(), 0.0f);
    for (std::size_t r = 0; r < rows; ++r) {
      for (const float value : {labels_[r], 0.0f, labels_[r] + 2}) values_.push_back(value);
    }
  }
  std::shared_ptr<const MemoryRows> dense() const {
    const DenseMatrix matrix{.rows = labels_.size(),
                             .columns = 3,
                             .values = values_.data(),
                             .row_bytes = 3 * sizeof(float),
                             .column_bytes = sizeof(float)};
    return *dense_rows(matrix, {.labels = labels_}, nullptr);
  }

  std::vector<float> labels_, values_;
};

ReadOptions memory_options(std::shared_ptr<const MemoryRows> rows) {
  ReadOptions options;
  options.paths = {"rows"};
  options.memory = {{"rows", std::move(rows)}};
  return options;
}

std::shared_ptr<DataSet> opened(const ReadOptions& options) {
  const auto data = DataSet::open(options);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return *data;
}

Batch all_rows(const ReadOptions& options) {
  const auto reader = opened(options)->reader(ShardId{0}, 1);
  Batch batch;
  const auto count = (*reader)->next(1000, batch);
  EXPECT_TRUE(count.ok()) << count.status().message();
  return batch;
}

std::vector<float> labels_of_shard(DataSet& data, std::uint32_t shard, std::uint32_t shards) {
  const auto reader = data.reader(ShardId{shard}, shards);
  std::vector<float> labels;
  for (Batch batch; *(*reader)->next(7, batch) > 0;) {
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    for (std::size_t r = 0; r < batch.rows(); ++r) {
      EXPECT_EQ(batch.values[batch.row_begin[r + 1] - 1], batch.labels[r] + 2);
      EXPECT_EQ(batch.keys[batch.row_begin[r + 1] - 1], 2u);
    }
  }
  return labels;
}

TEST(MemoryRows, ShardsHaveEachRowOnce) {
  for (const std::size_t rows : {1u, 5u, 100u, 12345u}) {
    const NumberedMatrix matrix(rows);
    const auto data = opened(memory_options(matrix.dense()));
    std::vector<float> labels;
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      const auto some = labels_of_shard(*data, shard, 3);
      EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
      EXPECT_LE(some.size(), rows / 3 + rows / 16 + 1);
      labels.insert(labels.end(), some.begin(), some.end());
    }
    std::sort(labels.begin(), labels.end());
    EXPECT_EQ(labels, matrix.labels_);
  }
}

TEST(MemoryRows, HoldsOutWhatFilesHoldOut) {
  const NumberedMatrix matrix(100);
  ReadOptions options = memory_options(matrix.dense());
  options.part = Part::kHeldOut;
  options.part_modulus = 10;
  const auto data = opened(options);
  EXPECT_EQ(labels_of_shard(*data, 0, 1), (std::vector<float>{9, 19, 29, 39, 49, 59, 69, 79, 89, 99}));
  options.part = Part::kTrain;
  EXPECT_EQ(labels_of_shard(*opened(options), 0, 1).size(), 90u);
}

TEST(MemoryRows, PassesAreAlike) {
  const NumberedMatrix matrix(1000);
  const auto reader = opened(memory_options(matrix.dense()))->reader(ShardId{1}, 2);
  Batch first, second;
  ASSERT_GT(*(*reader)->next(1000, first), 400u);
  ASSERT_EQ(*(*reader)->next(1000, second), 0u);
  ASSERT_TRUE((*reader)->rewind().ok());
  ASSERT_EQ(*(*reader)->next(1000, second), first.rows());
  EXPECT_EQ(first.labels, second.labels);
  EXPECT_EQ(first.keys, second.keys);
}

TEST(MemoryRows, BadRowsAreNamedAndSkipped) {
  NumberedMatrix matrix(5);
  matrix.values_[3 * 3] = std::numeric_limits<float>::quiet_NaN();
  ReadOptions options = memory_options(matrix.dense());
  const auto reader = opened(options)->reader(ShardId{0}, 1);
  Batch batch;
  const auto refused = (*reader)->next(10, batch);
  EXPECT_EQ(refused.status().code(), Code::kData);
  EXPECT_EQ(refused.status().message(), "rows, row 3: saw \"nan\", expected a finite value of feature 0");
  options.max_bad_rows = 1;
  EXPECT_EQ(all_rows(options).labels, (std::vector<float>{0, 1, 2, 4}));
  options.max_bad_rows = 3, options.binary_labels = true;
  EXPECT_EQ(all_rows(options).labels, (std::vector<float>{0, 1}));
}

TEST(MemoryRows, SparseRowsAreTheDenseOnes) {
  const NumberedMatrix matrix(3);
  const std::vector<std::int64_t> begins = {0, 1, 3, 6}, wide = {2, 0, 2, 0, 1, 2};
  const std::vector<double> values = {2, 1, 3, 2, 0, 4};
  const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
  SparseMatrix sparse{.columns = 3,
                      .begins = begins,
                      .entries = 6,
                      .indices = wide.data(),
                      .wide_indices = true,
                      .values = values.data(),
                      .doubles = true};
  const Batch dense = all_rows(memory_options(matrix.dense()));
  for (const bool is_wide : {true, false}) {
    sparse.wide_indices = is_wide;
    if (!is_wide) sparse.indices = narrow.data();
    const Batch same = all_rows(memory_options(*sparse_rows(sparse, {.labels = matrix.labels_}, nullptr)));
    EXPECT_EQ(same.keys, dense.keys);
    EXPECT_EQ(same.values, dense.values);
    EXPECT_EQ(same.row_begin, dense.row_begin);
  }
  sparse.columns = 2;
  const auto reader = opened(memory_options(*sparse_rows(sparse, {.labels = matrix.labels_}, nullptr)))
                          ->reader(ShardId{0}, 1);
  Batch batch;
  EXPECT_EQ((*reader)->next(9, batch).status().message(),
            "rows, row 0: saw \"2\", expected a column below 2");
}

TEST(MemoryRows, PartsThatDoNotFitAreRefused) {
  const NumberedMatrix matrix(3);
  const std::vector<float> two = {0, 1};
  const DenseMatrix dense{.rows = 3, .columns = 3, .values = matrix.values_.data()};
  EXPECT_EQ(dense_rows(dense, {.labels = two}, nullptr).status().message(), "2 labels, expected 3");
  const std::vector<std::int64_t> backwards = {0, 3, 1, 6}, beyond = {0, 1, 3, 7};
  for (const auto& begins : {backwards, beyond}) {
    SparseMatrix sparse{.columns = 3, .begins = begins, .entries = 6};
    EXPECT_EQ(sparse_rows(sparse, {}, nullptr).status().code(), Code::kUsage);
  }
  ReadOptions options = memory_options(matrix.dense());
  options.paths.push_back("file.svm");
  EXPECT_EQ(DataSet::open(options).status().code(), Code::kUsage);
}

// user: strings as numbers of words; price: doubles; seen: bits; click: whole numbers; in two chunks.
struct SmallTable {
  SmallTable() {
    CellColumn words;
    words.type = CellType::kText;
    words.values = ends.data();
    words.text = "annbobcy";
    const auto dictionary = std::make_shared<const CellColumn>(words);
    table.names = {"user", "price", "seen", "click"};
    for (std::size_t begin = 0; begin < 4; begin += 2) {
      CellColumn user, price, bits, click;
      user.type = CellType::kCodes, user.codes = CellType::kI8, user.values = codes.data();
      user.dictionary = dictionary, user.dictionary_size = 3;
      price.type = CellType::kF64, price.values = prices.data();
      bits.type = CellType::kBool, bits.values = &seen;
      click.type = CellType::kI32, click.values = clicks.data();
      TableChunk& chunk = table.chunks.emplace_back(TableChunk{2, {user, price, bits, click}});
      for (CellColumn& column : chunk.columns) column.offset = begin;
    }
  }
  const std::vector<std::int32_t> ends = {0, 3, 6, 8};
  const std::vector<std::int8_t> codes = {2, 0, -1, 1};
  const std::vector<double> prices = {1.5, std::nan(""), 3, 1e20};
  const std::uint8_t seen = 0b0101;
  const std::vector<std::int32_t> clicks = {1, 0, 0, 1};
  Table table;
};
constexpr const char* kSmallCsv =
    "user,price,seen,click\ncy,1.5,True,1\nann,,False,0\n,3.0,True,0\nbob,1e+20,False,1\n";

TEST(MemoryRows, TablesAreReadAsTheirCsv) {
  const TemporaryFolder folder;
  const SmallTable small;
  ReadOptions csv;
  csv.paths = {folder.write("small.csv", kSmallCsv)};
  ReadOptions table = memory_options(*table_rows(small.table));
  for (const char* columns : {"", "price:cat", "seen:-", "user:-,click:cat,seen:label"}) {
    csv.columns = table.columns = columns;
    for (const unsigned bits : {0u, 20u}) {
      csv.hash_bits = table.hash_bits = bits;
      const Batch expected = all_rows(csv), found = all_rows(table);
      EXPECT_EQ(found.keys, expected.keys) << columns;
      EXPECT_EQ(found.values, expected.values) << columns;
      EXPECT_EQ(found.fields, expected.fields) << columns;
      EXPECT_EQ(found.labels, expected.labels) << columns;
      EXPECT_EQ(columns_text(opened(table)->columns()), columns_text(opened(csv)->columns()));
    }
  }
}

TEST(MemoryRows, ColumnsThatCannotBeReadAreRefusedWhereTheyAreUsed) {
  SmallTable small;
  small.table.unreadable = {{0, "of dates, expected numbers"}};
  ReadOptions options = memory_options(*table_rows(small.table));
  EXPECT_EQ(DataSet::open(options).status().message(),
            "column \"user\": of dates, expected numbers; or leave it out, as --columns user:- does");
  options.columns = "user:-";
  EXPECT_EQ(all_rows(options).labels, (std::vector<float>{1, 0, 0, 1}));
  options.columns.clear();
  options.known_columns = "price:num,click:label";
  EXPECT_EQ(all_rows(options).labels, (std::vector<float>{1, 0, 0, 1}));
}

TEST(MemoryRows, TablesKnowTheColumnsOfAModel) {
  const SmallTable small;
  ReadOptions table = memory_options(*table_rows(small.table));
  table.labels_needed = false;
  table.known_columns = "price:num,user:cat,clicked:label";
  const Batch found = all_rows(table);
  EXPECT_EQ(found.fields, (std::vector<std::uint32_t>{1, 0, 1, 1, 0, 1, 0}));
  table.known_columns = "age:num,clicked:label";
  EXPECT_EQ(DataSet::open(table).status().code(), Code::kData);
  table.known_columns = "";
  Table twice = small.table;
  twice.names[0] = "seen";
  EXPECT_EQ(table_rows(twice).status().message(),
            "two columns are named \"seen\", expected names of their own");
}

TEST(MemoryRows, NamesOfTablesAreThoseOfTheirCsv) {
  SmallTable small;
  const Batch found = all_rows(memory_options(*table_rows(small.table)));
  for (std::string& name : small.table.names) name = " " + name + "\t";
  EXPECT_EQ(all_rows(memory_options(*table_rows(small.table))).keys, found.keys);
  small.table.names[0] = " ";
  ReadOptions nameless = memory_options(*table_rows(small.table));
  nameless.columns = "c1:-";
  EXPECT_LT(all_rows(nameless).keys.size(), found.keys.size());
}

TEST(Cells, AreWrittenAsProgramsWriteThem) {
  std::string scratch;
  const std::vector<double> reals = {0.1, 3, -2, 1e16, 100000, 1e-5};
  CellColumn column;
  column.type = CellType::kF64;
  column.values = reals.data();
  const std::vector<std::string> expected = {"0.1", "3.0", "-2.0", "1e+16", "100000.0", "1e-05"};
  for (std::size_t i = 0; i < reals.size(); ++i) EXPECT_EQ(cell_text(column.at(i), scratch), expected[i]);
}

TEST(Cells, ViewsOfTextAreShortOrElsewhere) {
  const std::string elsewhere = "__a longer text than twelve bytes";
  const char* const buffers[] = {elsewhere.data()};
  struct View {
    std::int32_t size;
    char text[12];
  };
  View views[2] = {{5, "short"}, {31, "a lo"}};
  const std::int32_t place[2] = {0, 2};
  std::memcpy(views[1].text + 4, place, sizeof place);
  CellColumn column;
  column.type = CellType::kTextViews;
  column.values = views;
  column.buffers = buffers;
  EXPECT_EQ(column.at(0).text, "short");
  EXPECT_EQ(column.at(1).text, elsewhere.substr(2));
}

}  // namespace
}  // namespace thalweg
