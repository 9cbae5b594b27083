#include "model/dense/dense_rows.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace thalweg {
namespace {

std::uint16_t ranges_of(std::vector<std::int64_t> shape) {
  DenseParameter parameter;
  parameter.name = "p";
  parameter.shape = std::move(shape);
  return table_of(parameter, RuleSpec(), 1, 0).ranges;
}

// A range is what a message is about: a bias is one, wherever its rows are.
TEST(DenseRows, SmallTablesHaveFewRanges) {
  EXPECT_EQ(ranges_of({512}), 1);
  EXPECT_EQ(ranges_of({10, 512}), 1);
  EXPECT_EQ(ranges_of({64, 512}), 8);
  EXPECT_EQ(ranges_of({512, 784}), 32);
  EXPECT_EQ(ranges_of({3, 1'000'000}), 3) << "no more than there are rows";
}

}  // namespace
}  // namespace thalweg
