#include "data/order/row_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "data/data_set.h"
#include "data/files_for_test.h"
#include "data/numbered_rows_for_test.h"

namespace thalweg {
namespace {

// Row i: label i, i % 4 entries of which some have values, a weight now and then.
class CountedRows {
 public:
  explicit CountedRows(std::uint32_t rows, bool hesitates = false) : rows_(rows), hesitates_(hesitates) {}
  Result<std::size_t> read(std::size_t rows_max, Batch& out) {
    if (hesitates_ && ++calls_ % 3 == 0) return Status(Code::kRetry, "later");
    out.clear();
    for (; next_ < rows_ && out.rows() < rows_max; ++next_) {
      for (std::uint32_t e = 0; e < next_ % 4; ++e) {
        out.keys.push_back(next_ * 10 + e);
        out.values.push_back(next_ % 5 == 0 ? 0.5f : 1.0f);
        out.fields.push_back(e);
      }
      out.labels.push_back(static_cast<float>(next_));
      out.weights.push_back(next_ % 7 == 0 ? 3.0f : 1.0f);
      out.row_begin.push_back(static_cast<std::uint32_t>(out.keys.size()));
    }
    return out.rows();
  }
  void rewind() { next_ = 0; }

 private:
  const std::uint32_t rows_;
  const bool hesitates_;
  std::uint32_t next_ = 0, calls_ = 0;
};

void check_row(const Batch& batch, std::size_t row) {
  const auto number = static_cast<std::uint32_t>(batch.labels[row]);
  const std::size_t begin = batch.row_begin[row];
  ASSERT_EQ(batch.row_begin[row + 1] - begin, number % 4);
  EXPECT_EQ(batch.weights.empty() ? 1.0f : batch.weights[row], number % 7 == 0 ? 3.0f : 1.0f);
  for (std::uint32_t e = 0; e < number % 4; ++e) {
    EXPECT_EQ(batch.keys[begin + e], number * 10u + e);
    EXPECT_EQ(batch.values.empty() ? 1.0f : batch.values[begin + e], number % 5 == 0 ? 0.5f : 1.0f);
    EXPECT_EQ(batch.fields[begin + e], e);
  }
}

std::vector<float> pass_of(RowPool& pool, CountedRows& rows, std::size_t batch_rows,
                           std::uint64_t bytes_max) {
  std::vector<float> labels;
  Batch batch;
  bool ended = false;
  for (;;) {
    const auto count =
        pool.next([&](std::size_t max, Batch& out) { return rows.read(max, out); }, batch_rows, batch);
    if (count.status().code() == Code::kRetry) continue;
    EXPECT_TRUE(count.ok());
    if (*count == 0) return labels;
    EXPECT_FALSE(ended) << "a batch in the middle is not full";
    ended = *count < batch_rows;
    EXPECT_LE(pool.bytes(), bytes_max);
    for (std::size_t r = 0; r < *count; ++r) check_row(batch, r);
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
}

constexpr RowShuffle kLargePool{RowOrder::kRows, 5, 1 << 20}, kSmallPool{RowOrder::kRows, 5, 4000};

std::vector<float> labels_up_to(std::uint32_t rows) {
  std::vector<float> labels(rows);
  std::iota(labels.begin(), labels.end(), 0.0f);
  return labels;
}

TEST(RowPool, EachPassHasEachRowOnceInAnotherOrder) {
  CountedRows rows(1000);
  RowPool pool(kLargePool, 2, 0);
  std::vector<std::vector<float>> passes;
  for (int pass = 0; pass < 3; ++pass) {
    passes.push_back(pass_of(pool, rows, 64, 1 << 20));
    EXPECT_EQ(pool.fraction_drawn(), 1);
    pool.next_pass();
    rows.rewind();
  }
  EXPECT_NE(passes[0], passes[1]);
  RowPool heir(kLargePool, 2, 2), other_shard(kLargePool, 3, 0),
      other_seed({RowOrder::kRows, 6, 1 << 20}, 2, 0);
  EXPECT_EQ(pass_of(heir, rows, 64, 1 << 20), passes[2]) << "who takes over in a later pass draws alike";
  rows.rewind();
  EXPECT_NE(pass_of(other_shard, rows, 64, 1 << 20), passes[0]);
  rows.rewind();
  EXPECT_NE(pass_of(other_seed, rows, 64, 1 << 20), passes[0]);
  for (auto& pass : passes) {
    EXPECT_NE(pass, labels_up_to(1000));
    EXPECT_LT(std::abs(std::accumulate(pass.begin(), pass.begin() + 200, 0.0f) / 200 - 499.5f), 100)
        << "the first rows come from everywhere";
    std::sort(pass.begin(), pass.end());
    EXPECT_EQ(pass, labels_up_to(1000));
  }
}

TEST(RowPool, IsBoundedAndFillsBatches) {
  CountedRows rows(5000), hesitant(5000, true);
  constexpr std::uint64_t kBatchBytes = 30 * 100;
  RowPool pool(kSmallPool, 0, 0), same(kSmallPool, 0, 0);
  std::vector<float> labels = pass_of(pool, rows, 30, kSmallPool.pool_bytes + kBatchBytes);
  EXPECT_EQ(pass_of(same, hesitant, 30, kSmallPool.pool_bytes + kBatchBytes), labels)
      << "whoever has to wait for its rows draws alike";
  EXPECT_NE(labels, labels_up_to(5000));
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, labels_up_to(5000));
  CountedRows more(500);
  RowPool tiny({RowOrder::kRows, 1, 1}, 0, 0);
  EXPECT_EQ(pass_of(tiny, more, 200, 200 * 200).size(), 500u) << "a batch may be larger than the pool";
}

class BlockOrder : public testing::Test {
 protected:
  std::shared_ptr<DataSet> open(RowOrder order, std::uint64_t seed = 1, Part part = Part::kAll) {
    ReadOptions options = files({folder_.write("rows.svm", numbered_rows(40000))});
    options.shuffle = {order, seed, 0};
    options.part = part;
    options.part_modulus = 3;
    return open_data(options);
  }
  static Labels sorted(Labels labels) {
    std::sort(labels.begin(), labels.end());
    return labels;
  }
  const TemporaryFolder folder_;
};

TEST_F(BlockOrder, HasTheRowsOfTheShardInRunsOfFiles) {
  const auto plain = open(RowOrder::kFiles), mixed = open(RowOrder::kBlocks);
  const auto reader = open_reader(mixed, 1, 3);
  const Labels in_order = read_labels(*open_reader(plain, 1, 3)), first = read_labels(*reader);
  EXPECT_NE(first, in_order);
  EXPECT_EQ(sorted(first), in_order);
  ASSERT_TRUE(reader->rewind().ok());
  const Labels second = read_labels(*reader);
  EXPECT_NE(second, first);
  EXPECT_EQ(read_labels(*mixed->reader(ShardId{1}, 3, 1).value()), second)
      << "of that pass, whoever reads it";
  EXPECT_NE(read_labels(*open_reader(open(RowOrder::kBlocks, 2), 1, 3)), first);
  std::size_t jumps = 0;
  for (std::size_t i = 1; i < first.size(); ++i) jumps += first[i] != first[i - 1] + 1 ? 1 : 0;
  EXPECT_LT(jumps, 100u);
  EXPECT_GT(jumps, 10u);
}

TEST_F(BlockOrder, HoldsOutTheSameRows) {
  for (const Part part : {Part::kTrain, Part::kHeldOut}) {
    const Labels in_order = read_labels(*open_reader(open(RowOrder::kFiles, 1, part), 0, 2));
    const Labels mixed = read_labels(*open_reader(open(RowOrder::kRows, 1, part), 0, 2));
    EXPECT_NE(mixed, in_order);
    EXPECT_EQ(sorted(mixed), in_order);
  }
}

}  // namespace
}  // namespace thalweg
