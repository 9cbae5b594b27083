// Rows in random order: what they are worth, and that the order does not depend on who trains.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

// Clicks of many ads, and held-out ones; the former sorted by label.
class Shuffle : public TrainerTest {
 protected:
  Shuffle() {
    Random random(29);
    std::vector<std::string> rows[2];
    std::string valid;
    for (std::uint32_t row = 0; row < 14000; ++row) {
      const auto ad = static_cast<unsigned>(random.unit() * random.unit() * 400),
                 hour = static_cast<unsigned>(random.unit() * 24);
      const double score = std::sin(ad * 1.7) * 2 + std::sin(hour * 0.9) - 0.5;
      const int click = random.chance(1 / (1 + std::exp(-score))) ? 1 : 0;
      std::string line = fmt::format("{} {}:1 {}:1\n", click, ad, 1000 + hour);
      if (row % 7 == 0) {
        valid += line;
      } else {
        rows[click].push_back(std::move(line));
      }
    }
    std::string sorted;
    for (const auto& of_label : rows) {
      for (const std::string& line : of_label) sorted += line;
    }
    options_.files = {folder_.write("sorted.svm", sorted)};
    options_.valid = folder_.write("valid.svm", valid);
    options_.valid_part = 0;
    options_.epochs = 1;
    options_.keep_bad = true;
  }
  TrainResult with(RowOrder order) {
    options_.shuffle = order;
    TrainResult result = run(options_);
    EXPECT_TRUE(result.complete) << result.status.message();
    return result;
  }
};

TEST_F(Shuffle, RowsSortedByLabelAreWarnedOfAndMixed) {
  options_.data_shards = 1;
  options_.batch = 256;
  const TrainResult as_it_stands = with(RowOrder::kFiles);
  EXPECT_NE(lines_.find("rows are sorted, and learnt in their order"), std::string::npos) << lines_;
  lines_.clear();
  const TrainResult mixed = with(RowOrder::kRows), blocks = with(RowOrder::kBlocks);
  EXPECT_EQ(lines_.find("rows are sorted"), std::string::npos) << lines_;
  EXPECT_LT(*mixed.valid_loss, 0.8 * *as_it_stands.valid_loss);
  EXPECT_LT(*blocks.valid_loss, *as_it_stands.valid_loss) << "parts of files mix less, but they do";
  EXPECT_EQ(mixed.examples, as_it_stands.examples);
}

TEST_F(Shuffle, TheOrderDoesNotDependOnWhoTrains) {
  options_.epochs = 3;
  options_.keep_best = false;
  for (const RowOrder order : {RowOrder::kRows, RowOrder::kBlocks}) {
    options_.servers = 1, options_.workers = 1, options_.threads = 1;
    const TrainResult one = with(order);
    options_.servers = 3, options_.workers = 4, options_.threads = 3;
    EXPECT_EQ(with(order).model_digest, one.model_digest);
    EXPECT_EQ(one.epochs.size(), 3u);
    options_.seed = 2;
    EXPECT_NE(with(order).model_digest, one.model_digest);
    options_.seed = 1;
    options_.memory = 64 << 20;  // A pool of 1 MiB a shard, which holds as much as there is.
    EXPECT_EQ(with(order).model_digest, one.model_digest);
    options_.memory = 0;
  }
}

TEST_F(Shuffle, RowsThatComeInOneStreamAreMixedInAPoolAndNotInBlocks) {
  options_.more.from_command = "cat %s";
  options_.data_shards = 1;
  options_.batch = 256;
  const TrainResult as_they_come = with(RowOrder::kFiles), mixed = with(RowOrder::kRows);
  EXPECT_LT(*mixed.valid_loss, 0.8 * *as_they_come.valid_loss);
  options_.epochs = 2;
  options_.data_shards = 4;
  options_.workers = 1, options_.servers = 1;
  const TrainResult one = with(RowOrder::kRows);
  options_.workers = 3, options_.servers = 2;
  EXPECT_EQ(with(RowOrder::kRows).model_digest, one.model_digest);
  options_.shuffle = RowOrder::kBlocks;
  EXPECT_NE(refused(options_).message().find("sorted.svm: is not read in blocks"), std::string::npos);
}

TEST_F(Shuffle, FilesWhoseColumnsAreMatchedByNameAreNotReadInBlocks) {
  options_.valid.clear();
  options_.files = {folder_.write("a.csv", "label,x\n1,a\n"), folder_.write("b.csv", "x,label\nb,0\n")};
  options_.shuffle = RowOrder::kBlocks;
  EXPECT_NE(
      refused(options_).message().find("b.csv: is not read in blocks of any order, since its columns stand"),
      std::string::npos);
}

}  // namespace
}  // namespace thalweg
