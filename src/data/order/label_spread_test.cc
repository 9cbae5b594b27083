#include "data/order/label_spread.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "data/files_for_test.h"
#include "data/memory/matrix_rows.h"
#include "data/numbered_rows_for_test.h"

namespace thalweg {
namespace {

// Labels whose rate goes from `first` to `last`.
std::vector<float> drifting(std::size_t rows, double first, double last) {
  Random random(17);
  std::vector<float> labels;
  for (std::size_t row = 0; row < rows; ++row) {
    const double rate = first + (last - first) * static_cast<double>(row) / static_cast<double>(rows);
    labels.push_back(random.chance(rate) ? 1.0f : 0.0f);
  }
  return labels;
}

TEST(LabelSpread, SortedRowsAreTold) {
  for (const std::size_t rows : {200u, 5000u, 100000u}) {
    EXPECT_FALSE(label_spread(drifting(rows, 0.3, 0.3)).is_sorted()) << rows;
    EXPECT_FALSE(label_spread(drifting(rows, 0.01, 0.01)).is_sorted()) << rows;
    std::vector<float> sorted(rows);
    std::fill(sorted.begin() + static_cast<std::ptrdiff_t>(rows / 3), sorted.end(), 1.0f);
    const LabelSpread spread = label_spread(sorted);
    EXPECT_TRUE(spread.is_sorted()) << rows;
    EXPECT_EQ(spread.least, 0);
    EXPECT_EQ(spread.most, 1);
  }
}

TEST(LabelSpread, ASlowDriftIsNone) {
  const LabelSpread drift = label_spread(drifting(100000, 0.15, 0.2)),
                    steep = label_spread(drifting(20000, 0, 1));
  EXPECT_GT(drift.sigmas, 5) << "it is more than chance";
  EXPECT_FALSE(drift.is_sorted());
  EXPECT_TRUE(steep.is_sorted());
}

TEST(LabelSpread, LabelsThatTellNothing) {
  EXPECT_FALSE(label_spread({}).is_sorted());
  EXPECT_FALSE(label_spread(std::vector<float>(1000, 1.0f)).is_sorted());
  EXPECT_EQ(label_spread(std::vector<float>(30, 1.0f)).rows, 0u);
}

TEST(LabelSpread, RowsFromAllOverTheDataAreLookedAt) {
  const TemporaryFolder folder;
  std::string sorted, mixed;
  for (int row = 0; row < 100000; ++row) {
    sorted += (row < 90000 ? "0" : "1") + std::string(" 1:1 2:1 3:1 4:1\n");
    mixed += (row % 10 < 9 ? "0" : "1") + std::string(" 1:1 2:1 3:1 4:1\n");
  }
  const auto spread = [&](const std::string& name, const std::string& text, bool looks) {
    ReadOptions options = files({folder.write(name, text)});
    options.look_at_labels = looks;
    return open_data(options)->label_spread();
  };
  EXPECT_TRUE(spread("sorted.svm", sorted, true).is_sorted()) << "the first tenth has one label alone";
  EXPECT_FALSE(spread("sorted.svm", sorted, false).is_sorted());
  EXPECT_FALSE(spread("mixed.svm", mixed, true).is_sorted());
  EXPECT_GT(spread("mixed.svm", mixed, true).rows, 10000u);
  EXPECT_GT(spread("mixed.gz", gzipped(mixed), true).rows, 10000u);
  EXPECT_TRUE(spread("begin.gz", gzipped(sorted.substr(80000 * 18)), true).is_sorted());
}

TEST(LabelSpread, RowsInMemoryToo) {
  std::vector<float> labels(50000), values(50000, 1.0f);
  const auto spread = [&] {
    const DenseMatrix matrix{.rows = labels.size(),
                             .columns = 1,
                             .values = values.data(),
                             .row_bytes = sizeof(float),
                             .column_bytes = sizeof(float)};
    ReadOptions options = files({"rows"});
    options.memory = {{"rows", *dense_rows(matrix, {.labels = labels}, nullptr)}};
    options.look_at_labels = true;
    return open_data(options)->label_spread();
  };
  std::fill(labels.begin() + 40000, labels.end(), 1.0f);
  EXPECT_TRUE(spread().is_sorted());
  for (std::size_t row = 0; row < labels.size(); ++row) labels[row] = row % 3 == 0 ? 1.0f : 0.0f;
  EXPECT_FALSE(spread().is_sorted());
  labels.resize(100);
  EXPECT_EQ(spread().rows, 100u);
}

}  // namespace
}  // namespace thalweg
