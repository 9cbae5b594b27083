#include "client/collective/sparse_message.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

using Words = std::vector<std::uint64_t>;

std::byte* bytes_of(Words& words) { return static_cast<std::byte*>(static_cast<void*>(words.data())); }

Words message_of(const Words& keys, const std::vector<float>& rows, std::size_t dim) {
  Words message(SparseSize::of(keys).words(dim), ~std::uint64_t{0});
  write_sparse(keys, rows, dim, bytes_of(message));
  return message;
}

std::string refusal(const SparseSize& size, std::size_t dim, Words message) {
  std::vector<std::uint64_t> decoded;
  message.resize(size.words(dim));
  const auto view = read_sparse(size, dim, bytes_of(message), decoded);
  return view ? "" : view.status().message();
}

TEST(SparseMessage, ComesOutAsItWentIn) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t step = 1 + random.below(round % 3 == 0 ? 2 : 200);
    Words keys;
    std::uint64_t key = round % 5 == 0 ? ~std::uint64_t{0} - 70'000 : random.below(1000);
    for (std::uint64_t i = random.below(300); i > 0; --i) keys.push_back(key += 1 + random.below(step));
    const std::size_t dim = random.below(4);
    std::vector<float> rows(keys.size() * dim);
    std::iota(rows.begin(), rows.end(), 1.0f);
    Words message = message_of(keys, rows, dim), decoded;
    const auto view = read_sparse(SparseSize::of(keys), dim, bytes_of(message), decoded);
    ASSERT_TRUE(view.ok()) << view.status().message();
    EXPECT_EQ(Words(view->keys.begin(), view->keys.end()), keys);
    EXPECT_EQ(std::vector<float>(view->rows.begin(), view->rows.end()), rows);
  }
}

TEST(SparseMessage, TakesABitmapWhereItIsShorter) {
  Words all(6400);
  std::iota(all.begin(), all.end(), 1000);
  EXPECT_EQ(SparseSize::of(all).words(1), 100u + 3200u);  // 1/32 longer than the dense vector.
  const SparseSize at_the_fill{100, 0, 64 * 99 + 63}, above{101, 0, 64 * 99 + 63};
  EXPECT_FALSE(at_the_fill.as_bitmap());
  EXPECT_TRUE(above.as_bitmap());
  const SparseSize widest{2, 0, ~std::uint64_t{0}};
  EXPECT_EQ(widest.words(3), 2u + 3u);
}

TEST(SparseMessage, KnowsWhatCannotBe) {
  EXPECT_TRUE((SparseSize{0, 0, 0}.possible()));
  EXPECT_FALSE((SparseSize{0, 1, 2}.possible()));
  EXPECT_FALSE((SparseSize{2, 5, 5}.possible()));
  EXPECT_FALSE((SparseSize{2, 6, 5}.possible()));
  EXPECT_TRUE((SparseSize{2, 5, 6}.possible()));

  Words keys = {3, 900, 7000};
  const std::vector<float> rows = {1, 2, 3};
  const SparseSize size = SparseSize::of(keys);
  EXPECT_EQ(refusal(size, 1, message_of(keys, rows, 1)), "");
  std::swap(keys[1], keys[2]);
  const std::string disorder = "its keys do not ascend from the first to the last that it said";
  EXPECT_EQ(refusal(size, 1, message_of(keys, rows, 1)), disorder);
  EXPECT_EQ(refusal({3, 3, 7001}, 1, message_of({3, 900, 7000}, rows, 1)), disorder);
  EXPECT_EQ(refusal({3, 3, 7000}, 1, message_of({3, 3, 7000}, rows, 1)), disorder);

  const std::vector<float> none;
  const Words close = message_of({3, 4, 5, 8}, none, 0);
  EXPECT_EQ(refusal({4, 3, 8}, 0, close), "");
  EXPECT_EQ(refusal({5, 3, 8}, 0, close), "its bitmap has another number of keys than it said");
  EXPECT_EQ(refusal({4, 2, 8}, 0, close), disorder);
}

}  // namespace
}  // namespace thalweg
