#include "cluster/combine_tree.h"

#include <gtest/gtest.h>

#include "cluster/map_for_test.h"

namespace thalweg::cluster {
namespace {

using Workers = std::vector<std::uint32_t>;

TEST(CombineTree, TheLowestWorkerOfAMachineLeadsIt) {
  const CombineTree tree(map_for_test(Combining::machine()));
  EXPECT_EQ(tree.parent(0), std::nullopt);
  EXPECT_EQ(tree.parent(1), 0u);
  EXPECT_EQ(tree.parent(4), 0u);
  EXPECT_EQ(tree.parent(2), std::nullopt);
  EXPECT_EQ(tree.parent(7), 2u);
  EXPECT_EQ(tree.parent(3), std::nullopt);
  EXPECT_EQ(tree.in_order(), (Workers{0, 1, 4, 2, 7}));
  EXPECT_TRUE(tree.passes(4, 4));
  EXPECT_TRUE(tree.passes(4, 0));
  EXPECT_FALSE(tree.passes(4, 1));
  EXPECT_FALSE(tree.passes(7, 0));
}

TEST(CombineTree, ATreeGoesByPlaceInTheList) {
  const CombineTree tree(map_for_test(Combining::tree(2)));
  EXPECT_EQ(tree.parent(0), std::nullopt);
  EXPECT_EQ(tree.parent(1), 0u);
  EXPECT_EQ(tree.parent(2), 0u);
  EXPECT_EQ(tree.parent(4), 1u);
  EXPECT_EQ(tree.parent(7), 1u);
  EXPECT_EQ(tree.in_order(), (Workers{0, 1, 4, 7, 2}));
  EXPECT_TRUE(tree.passes(7, 1));
  EXPECT_TRUE(tree.passes(7, 0));
  EXPECT_FALSE(tree.passes(7, 2));
}

TEST(CombineTree, WithoutCombiningAWorkerSendsItsOwnAlone) {
  const CombineTree tree(map_for_test(Combining::none()));
  EXPECT_EQ(tree.parent(1), std::nullopt);
  EXPECT_TRUE(tree.passes(1, 1));
  EXPECT_FALSE(tree.passes(1, 0));
  EXPECT_TRUE(tree.in_order().empty());
}

}  // namespace
}  // namespace thalweg::cluster
