#include "cli/options/sizes.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(Sizes, TakeUnits) {
  const auto size = [](const char* text) { return parse_size(text, "--bytes"); };
  EXPECT_EQ(*size("4096"), 4096u);
  EXPECT_EQ(*size("160M"), 160'000'000u);
  EXPECT_EQ(*size("160MB"), 160'000'000u);
  EXPECT_EQ(*size("1.5G"), 1'500'000'000u);
  EXPECT_EQ(*size("64Ki"), 65'536u);
  EXPECT_EQ(*size("0"), 0u);
  for (const char* wrong : {"", "M", "1x", "-1", "0.5", "1e30", "nan", "1 M", "2000T"}) {
    EXPECT_FALSE(size(wrong).ok()) << wrong;
  }
}

TEST(Sizes, ComeInListsAndRanges) {
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(*parse_sizes("8", "--ranks", 1), Sizes{8});
  EXPECT_EQ(*parse_sizes("2:16", "--ranks", 1), (Sizes{2, 4, 8, 16}));
  EXPECT_EQ(*parse_sizes("2:10", "--ranks", 1), (Sizes{2, 4, 8, 10}));
  EXPECT_EQ(*parse_sizes("1K,1M", "--bytes", 0), (Sizes{1000, 1'000'000}));
  for (const char* wrong : {"", ",", "8:2", "0", "1:x", "0:4"})
    EXPECT_FALSE(parse_sizes(wrong, "--ranks", 1).ok()) << wrong;
}

}  // namespace
}  // namespace thalweg
