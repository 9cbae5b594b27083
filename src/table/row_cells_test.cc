#include "table/row_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace thalweg {
namespace {

TableSpec celled_table(Random& random) {
  TableSpec spec;
  spec.ranges = static_cast<std::uint16_t>(1 + random.below(300));
  if (random.chance(0.4)) {
    spec.kind = TableSpec::Kind::kDense;
    spec.rows = random.below(20'000);
  }
  return spec;
}

// Some keys, or rows, of a range.
std::vector<std::uint64_t> keys_of(Random& random, const TableSpec& spec, RangeId range, std::size_t most) {
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  const std::uint64_t begin = dense ? range_first_row(range.value, spec.ranges, spec.rows)
                                    : range_first_key(range.value, spec.ranges);
  const std::uint64_t end = dense ? range_first_row(range.value + 1u, spec.ranges, spec.rows)
                                  : range_first_key(range.value + 1u, spec.ranges);
  std::set<std::uint64_t> keys;
  for (std::size_t i = random.below(most + 1); i > 0 && begin < end; --i)
    keys.insert(begin + random.below(end - begin));
  return {keys.begin(), keys.end()};
}

RowCells cells_with(const TableSpec& spec, RangeId range, std::uint64_t rows,
                    const std::vector<std::uint64_t>& keys) {
  RowCells cells(spec, range, rows);
  for (const std::uint64_t key : keys) cells.add(key);
  return cells;
}

TEST(RowCells, HaveWhatWasAddedAndLittleElse) {
  std::size_t others = 0, among = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const TableSpec spec = celled_table(random);
    const RangeId range{static_cast<std::uint16_t>(random.below(spec.ranges))};
    const auto all = keys_of(random, spec, range, 2000);
    std::vector<std::uint64_t> some;
    for (const std::uint64_t key : all) {
      if (random.chance(0.1)) some.push_back(key);
    }
    const RowCells cells = cells_with(spec, range, all.size(), some);
    for (const std::uint64_t key : some) ASSERT_TRUE(cells.has(key)) << seed;
    for (const std::uint64_t key : all) {
      if (std::ranges::binary_search(some, key)) continue;
      ++among;
      others += cells.has(key);
      ASSERT_TRUE(spec.kind == TableSpec::Kind::kSparse || !cells.has(key))
          << "a dense row has a cell of its own";
    }
    std::set<std::uint64_t> found, wanted;
    for (std::uint64_t cell = cells.next(0); cell < cells.cells(); cell = cells.next(cell + 1))
      found.insert(cell);
    for (const std::uint64_t key : some) wanted.insert(cells.cell_of(key));
    ASSERT_EQ(found, wanted) << seed;
  }
  EXPECT_GT(among, 100'000u);
  EXPECT_LT(others * 20, among);
}

TEST(RowCells, OfSeveralHaveWhatEachHasHoweverFineTheyAre) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const TableSpec spec = celled_table(random);
    const RangeId range{static_cast<std::uint16_t>(random.below(spec.ranges))};
    const auto first = keys_of(random, spec, range, 40), second = keys_of(random, spec, range, 40);
    RowCells all = cells_with(spec, range, random.below(3000), first);
    all.add(cells_with(spec, range, random.below(3000), second));
    for (const auto* const keys : {&first, &second}) {
      for (const std::uint64_t key : *keys) ASSERT_TRUE(all.has(key)) << seed;
    }
    ASSERT_TRUE(first.size() + second.size() > 0 || all.next(0) == all.cells());
  }
}

TEST(RowCells, AreReadBackAsTheyWereWrittenOrNotAtAll) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const TableSpec spec = celled_table(random);
    const RangeId range{static_cast<std::uint16_t>(random.below(spec.ranges))};
    const Bytes bytes = encode(cells_with(spec, range, random.below(200), keys_of(random, spec, range, 30)));
    const auto again = decode_cells(bytes, spec.ranges);
    ASSERT_TRUE(again) << seed;
    ASSERT_EQ(encode(*again).text(), bytes.text());
    std::string text(bytes.text());
    text[random.below(18)] ^= static_cast<char>(1 << random.below(8));
    if (random.chance(0.3)) text.resize(random.below(text.size()));
    const Bytes other = Bytes::of(text);
    const auto changed = decode_cells(other, spec.ranges);
    refused += !changed;
    if (changed) {
      ASSERT_EQ(encode(*changed).text(), other.text());
      EXPECT_LE(changed->next(0), changed->cells());
    }
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace thalweg
