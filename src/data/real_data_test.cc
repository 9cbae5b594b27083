// The public data sets read as their documentation counts them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "data/data_set.h"
#include "data/files_for_test.h"

namespace thalweg {
namespace {

struct Totals {
  std::uint64_t rows = 0, positives = 0, entries = 0;
  Key smallest = kReservedKey, largest = 0;
};

Totals read_shards(const std::shared_ptr<DataSet>& data, std::uint32_t shards) {
  Totals totals;
  for (std::uint32_t s = 0; s < shards; ++s) {
    Result<std::unique_ptr<RowReader>> reader = data->reader(ShardId{s}, shards);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    Batch batch;
    for (;;) {
      const Result<std::size_t> rows = (*reader)->next(1000, batch);
      EXPECT_TRUE(rows.ok()) << rows.status().message();
      if (!rows || *rows == 0) break;
      EXPECT_EQ(*rows, batch.rows());
      EXPECT_EQ(batch.row_begin.size(), batch.rows() + 1);
      EXPECT_EQ(batch.row_begin.back(), batch.entries());
      totals.rows += *rows;
      totals.entries += batch.entries();
      for (const float label : batch.labels) totals.positives += label > 0 ? 1 : 0;
      for (const Key key : batch.keys) {
        totals.smallest = std::min(totals.smallest, key);
        totals.largest = std::max(totals.largest, key);
      }
    }
  }
  return totals;
}

Totals read_shards(const std::string& path, std::uint32_t shards, ReadOptions options = {}) {
  options.paths = {path};
  Result<std::shared_ptr<DataSet>> data = DataSet::open(options);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return data ? read_shards(*data, shards) : Totals{};
}

struct RealFile {
  const char* path;
  std::string_view format;
  std::uint64_t rows, positives, entries;
  const char* columns;
};

class RealData : public testing::TestWithParam<RealFile> {};

TEST_P(RealData, HasTheDocumentedRows) {
  const std::string path = test_data(GetParam().path);
  if (path.empty()) GTEST_SKIP() << "real data is absent: set THALWEG_TEST_DATA";
  for (const std::uint32_t shards : {1u, 7u}) {
    ReadOptions options;
    options.columns = GetParam().columns;
    const Totals totals = read_shards(path, shards, options);
    EXPECT_EQ(totals.rows, GetParam().rows);
    EXPECT_EQ(totals.positives, GetParam().positives);
    EXPECT_EQ(totals.entries, GetParam().entries);
  }
  ReadOptions options;
  options.paths = {path};
  options.columns = GetParam().columns;
  const Result<std::shared_ptr<DataSet>> data = DataSet::open(options);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ((*data)->format().name, GetParam().format);
}

INSTANTIATE_TEST_SUITE_P(
    All, RealData,
    testing::Values(RealFile{"a9a/a9a", "libsvm", 32561, 7841, 451592, ""},
                    RealFile{"a9a/a9a.t", "libsvm", 16281, 3846, 225731, ""},
                    RealFile{"agaricus/agaricus.txt.train", "libsvm", 6513, 3140, 143286, ""},
                    RealFile{"agaricus/agaricus.txt.test", "libsvm", 1611, 776, 35442, ""},
                    RealFile{"criteo-raw8k/train.tsv", "criteo", 7200, 1549, 280800, ""},
                    RealFile{"criteo-raw8k/dev.tsv", "criteo", 409, 93, 15951, ""},
                    RealFile{"criteo-raw8k/test.tsv", "criteo", 391, 86, 15249, ""},
                    RealFile{"criteo-20k/tiny_train_input.csv", "csv", 10000, 2563, 390000, "label,cat*"},
                    RealFile{"criteo-20k/onehot.test.libsvm", "libsvm", 10000, 2526, 390000, ""},
                    RealFile{"ipinyou/train.fm.txt", "libsvm", 26773, 255, 428368, ""},
                    RealFile{"ipinyou/test.fm.txt", "libsvm", 21150, 50, 338400, ""},
                    RealFile{"frappe/frappe.validation.libfm", "libsvm", 57722, 19063, 577220, ""},
                    RealFile{"libffm-tiny/bigdata.tr.txt", "libffm", 200, 48, 3508, ""},
                    RealFile{"ml-100k/u.data", "csv", 100000, 100000, 200000, "user:cat,item:cat,label,-"}),
    [](const auto& test) {
      std::string name = test.param.path;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
      return name;
    });

}  // namespace
}  // namespace thalweg
