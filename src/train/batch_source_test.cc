#include "train/batch_source.h"

#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kBatchedRows = 25, kBatchedSize = 10;

class BatchSourceTest : public testing::Test {
 protected:
  BatchSourceTest() {
    std::string text;
    for (std::uint32_t r = 0; r < kBatchedRows; ++r)
      text += std::to_string(r % 2) + " " + std::to_string(r + 1) + ":0.5 77:2\n";
    ReadOptions options;
    options.paths = {folder_.write("rows.svm", text)};
    options.hash_text = true;
    data_ = DataSet::open(options).value();
    ModelSpec spec;
    spec.name = "lr";
    model_ = make_model(spec).value();
  }
  BatchSource source(StepMemory* room) {
    return {data_->reader(ShardId{0}, 1).value(), *model_, false, room};
  }
  struct Seen {
    std::vector<std::uint64_t> keys;
    std::vector<float> labels;
    std::vector<std::uint64_t> hashes;
    bool operator==(const Seen&) const = default;
  };
  static Seen pass(BatchSource& source) {
    Seen seen;
    Workbench bench;
    PreparedRef batch;
    do {
      EXPECT_TRUE(source.next(kBatchedSize, bench, batch).ok());
      seen.hashes.push_back(source.place().text_hash);
      if (batch->rows == 0) break;
      const auto keys = batch->batch.keys();
      seen.keys.insert(seen.keys.end(), keys.begin(), keys.end());
      const auto& labels = batch->batch.rows().labels;
      seen.labels.insert(seen.labels.end(), labels.begin(), labels.end());
    } while (batch->rows > 0);
    EXPECT_TRUE(source.place().at_end);
    EXPECT_TRUE(source.next(kBatchedSize, bench, batch).ok());
    EXPECT_EQ(batch->rows, 0u) << "the end comes again";
    return seen;
  }

  const TemporaryFolder folder_;
  std::shared_ptr<DataSet> data_;
  std::unique_ptr<Model> model_;
};

TEST_F(BatchSourceTest, LaterPassesAreTheFirstWithoutTheFile) {
  StepMemory room;
  room.set_max(1 << 20);
  BatchSource kept = source(&room), read = source(nullptr);
  const Seen first = pass(kept);
  EXPECT_EQ(pass(read), first);
  EXPECT_EQ(first.labels.size(), kBatchedRows);
  EXPECT_GT(room.used(), 0u);
  folder_.write("rows.svm", "");
  for (int later = 0; later < 3; ++later) {
    ASSERT_TRUE(kept.rewind().ok());
    EXPECT_TRUE(kept.is_kept());
    EXPECT_EQ(pass(kept), first);
  }
}

TEST_F(BatchSourceTest, WhatHasNoRoomIsReadAgain) {
  StepMemory room;
  room.set_max(2000);  // Of one batch.
  BatchSource source = this->source(&room);
  const Seen first = pass(source);
  EXPECT_EQ(room.used(), 0u) << "given back";
  ASSERT_TRUE(source.rewind().ok());
  EXPECT_FALSE(source.is_kept());
  EXPECT_EQ(pass(source), first);
}

}  // namespace
}  // namespace thalweg
