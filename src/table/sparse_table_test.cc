#include "table/sparse_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "table/init_value.h"
#include "table/rules_for_test.h"

namespace thalweg {
namespace {

TableSpec spec_of(RuleKind kind, std::uint32_t dim, std::uint16_t ranges = 8) {
  TableSpec spec;
  spec.name = std::string("t"), spec.dim = dim, spec.ranges = ranges;
  spec.rule.kind = kind;
  spec.init = {InitSpec::Kind::kUniform, 0.5f, 11};
  return spec;
}

RangeSpan all(const TableSpec& spec) { return {0, spec.ranges}; }

struct Part {
  std::vector<std::uint64_t> keys;
  std::vector<float> grads;
  Contribution view() const { return {keys, grads}; }
};

Part part_of(const std::set<Key>& keys, std::size_t dim, Random& random) {
  Part part;
  for (const Key key : keys) part.keys.push_back(place(key));
  std::sort(part.keys.begin(), part.keys.end());
  for (std::size_t i = 0; i < keys.size() * dim; ++i)
    part.grads.push_back(static_cast<float>(random.unit() - 0.5));
  return part;
}

std::set<Key> some_keys(Random& random, std::size_t count, Key universe) {
  std::set<Key> keys;
  for (std::size_t i = 0; i < count; ++i) keys.insert(random.below(universe));
  return keys;
}

std::vector<float> read_all(const Table& table, const std::vector<std::uint64_t>& keys) {
  std::vector<float> out(keys.size() * table.spec().dim);
  table.read(keys, out);
  return out;
}

// Stored keys and rows by scanning every range.
std::map<std::uint64_t, std::vector<float>> contents(const Table& table) {
  std::map<std::uint64_t, std::vector<float>> rows;
  for (std::uint16_t r = 0; r < table.spec().ranges; ++r) {
    table.scan(RangeId{r}, [&](const RowsView& view) {
      for (std::size_t i = 0; i < view.keys.size(); ++i) {
        const auto row = view.rows.subspan(i * view.width, view.width);
        EXPECT_TRUE(rows.emplace(view.keys[i], std::vector<float>(row.begin(), row.end())).second);
      }
    });
  }
  return rows;
}

// What is written is read back, and updated from there as if the rule had brought it there.
TEST(SparseTable, StoredRowsMoveFromTableToTable) {
  for (const RuleKind kind : {RuleKind::kSgd, RuleKind::kAdagrad, RuleKind::kFtrl, RuleKind::kAdam}) {
    Random random(static_cast<std::uint64_t>(kind));
    const TableSpec spec = spec_of(kind, 3);
    SparseTable from(spec, all(spec), nullptr), to(spec, all(spec), nullptr);
    const Part learnt = part_of(some_keys(random, 200, 400), 3, random);
    const Part asked = part_of(some_keys(random, 300, 400), 3, random);
    from.apply(std::vector<Contribution>{learnt.view()});
    std::vector<float> stored(asked.keys.size() * from.stored_width());
    from.read_stored(asked.keys, stored);
    const std::vector<float> rows = read_all(from, asked.keys);
    for (std::size_t i = 0; i < asked.keys.size(); ++i) {
      for (std::size_t d = 0; d < 3; ++d) ASSERT_EQ(stored[i * from.stored_width() + d], rows[i * 3 + d]);
    }
    to.write(asked.keys, from.stored_width(), stored);
    EXPECT_EQ(to.stats().rows, asked.keys.size());
    from.apply(std::vector<Contribution>{asked.view()});
    to.apply(std::vector<Contribution>{asked.view()});
    EXPECT_EQ(read_all(to, asked.keys), read_all(from, asked.keys)) << static_cast<int>(kind);
  }
}

TEST(SparseTable, WritingRowsLeavesTheOptimizersState) {
  Random random(5);
  const TableSpec spec = spec_of(RuleKind::kAdagrad, 2);
  SparseTable table(spec, all(spec), nullptr);
  const Part part = part_of(some_keys(random, 50, 100), 2, random);
  table.apply(std::vector<Contribution>{part.view()});
  std::vector<float> before(part.keys.size() * table.stored_width()), after(before.size());
  table.read_stored(part.keys, before);
  table.write(part.keys, 2, part.grads);
  table.read_stored(part.keys, after);
  EXPECT_EQ(read_all(table, part.keys), part.grads);
  for (std::size_t i = 0; i < part.keys.size(); ++i) {
    for (std::size_t d = 2; d < table.stored_width(); ++d)
      EXPECT_EQ(after[i * table.stored_width() + d], before[i * table.stored_width() + d]);
  }
}

TEST(SparseTable, CountsKeysThatHaveNoRow) {
  Random random(3);
  const TableSpec spec = spec_of(RuleKind::kSgd, 3);
  const auto table = make_table(spec, all(spec));
  const Part first = part_of(some_keys(random, 300, 1000), 3, random);
  const Part second = part_of(some_keys(random, 300, 1000), 3, random);
  EXPECT_EQ((*table)->count_absent(first.keys), first.keys.size());
  const Contribution part = first.view();
  (*table)->apply({&part, 1});
  EXPECT_EQ((*table)->count_absent(first.keys), 0u);
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(first.keys, second.keys, std::back_inserter(both));
  EXPECT_EQ((*table)->count_absent(second.keys), second.keys.size() - both.size());
  EXPECT_EQ((*table)->stats().rows, first.keys.size());
}

TEST(SparseTable, FollowsAMapUnderRandomSteps) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const auto dim = static_cast<std::uint32_t>(1 + random.below(18));
    const auto ranges = static_cast<std::uint16_t>(1 + random.below(20));
    const TableSpec spec = spec_of(RuleKind::kSgd, dim, ranges);
    SparseTable table(spec, all(spec), nullptr);
    std::map<Key, std::vector<float>> oracle;
    for (int step = 0; step < 30; ++step) {
      std::vector<Part> parts;
      std::map<Key, std::vector<float>> sums;
      for (std::uint64_t p = 0; p <= random.below(5); ++p) {
        parts.push_back(part_of(some_keys(random, random.below(300), 2000), dim, random));
        for (std::size_t i = 0; i < parts.back().keys.size(); ++i) {
          const auto first = parts.back().grads.begin() + static_cast<std::ptrdiff_t>(i * dim);
          auto [at, fresh] = sums.try_emplace(unplace(parts.back().keys[i]), first, first + dim);
          for (std::size_t c = 0; c < dim && !fresh; ++c)
            at->second[c] += first[static_cast<std::ptrdiff_t>(c)];
        }
      }
      std::vector<Contribution> views;
      for (const Part& part : parts) {
        ASSERT_TRUE(table.check(part.view(), all(spec)).ok());
        views.push_back(part.view());
        views.back().position = 1u << views.size();  // Such positions are summed from left to right.
      }
      table.apply(views);
      for (const auto& [key, sum] : sums) {
        auto [at, fresh] = oracle.try_emplace(key, dim);
        if (fresh) fill_initial(spec.init, key, at->second);
        for (std::size_t c = 0; c < dim; ++c) {
          testing::SerialElement<float> e{at->second[c], 0, 0};
          testing::serial_step<float>(spec.rule, e, sum[c], 1);
          at->second[c] = e.w;
        }
      }
    }
    std::map<std::uint64_t, std::vector<float>> expected;
    for (const auto& [key, row] : oracle) expected.emplace(place(key), row);
    ASSERT_EQ(contents(table), expected) << "seed " << seed;
    EXPECT_EQ(table.stats().rows, expected.size());
    for (const auto& [placed, row] : expected) ASSERT_EQ(read_all(table, {placed}), row);
  }
}

TEST(SparseTable, ReadsInitialValuesWithoutCreatingRows) {
  const TableSpec spec = spec_of(RuleKind::kAdagrad, 5);
  SparseTable table(spec, all(spec), nullptr);
  Random random(3);
  const Part part = part_of(some_keys(random, 500, 1u << 30), 5, random);
  const std::vector<float> out = read_all(table, part.keys);
  for (std::size_t i = 0; i < part.keys.size(); ++i) {
    std::vector<float> row(5);
    fill_initial(spec.init, unplace(part.keys[i]), row);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), out.begin() + static_cast<std::ptrdiff_t>(i * 5)));
  }
  EXPECT_EQ(table.stats().rows, 0u);
  EXPECT_EQ(table.digest(), 0u);
  table.read({}, {});
}

TEST(SparseTable, ReducesInTheOrderGivenAndUpdatesOnce) {
  TableSpec spec = spec_of(RuleKind::kAdd, 1);
  spec.init = {};
  const std::uint64_t key = place(42);
  const float a = 1e8f, b = -1e8f, c = 1.0f;
  const auto result = [&](RuleKind kind, std::vector<float> values) {
    TableSpec of_kind = spec;
    of_kind.rule.kind = kind;
    SparseTable table(of_kind, all(spec), nullptr);
    std::vector<Contribution> parts;
    for (const float& value : values) parts.push_back({{&key, 1}, {&value, 1}});
    table.apply(parts);
    return read_all(table, {key})[0];
  };
  EXPECT_EQ(result(RuleKind::kAdd, {a, b, c}), 1.0f);
  EXPECT_EQ(result(RuleKind::kAdd, {a, c, b}), 0.0f);
  EXPECT_EQ(result(RuleKind::kAssign, {a, b, c}), 1.0f);
  EXPECT_EQ(result(RuleKind::kAssign, {c, a, b}), b);
  // Once: the second moment is that of the sum, (3 + 4)^2.
  EXPECT_FLOAT_EQ(result(RuleKind::kAdagrad, {3.0f, 4.0f}), -0.1f);
}

TEST(SparseTable, RefusesBadContributionsByNameAndPlace) {
  TableSpec spec = spec_of(RuleKind::kAdd, 2, 4);
  spec.name = std::string("clicks");
  const SparseTable table(spec, {1, 3}, nullptr);
  const std::uint64_t first = range_first_key(1, 4);
  const float inf = std::numeric_limits<float>::infinity();
  const auto refused = [&](Part part, Code code, const std::string& what, RangeSpan ranges = {1, 3}) {
    const Status status = table.check(part.view(), ranges);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find("'clicks'"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  };
  refused({{first, first + 9}, {1, 2, 3}}, Code::kRefused, "3 values for 2 keys");
  refused({{first, first + 9}, {1, 2, 3, 4, 5}}, Code::kRefused, "5 values for 2 keys");
  refused({{first, first + 9}, {1, 2}}, Code::kRefused, "2 values for 2 keys");
  refused({{first, first}, {1, 2, 3, 4}}, Code::kRefused, "position 1");
  refused({{first + 9, first}, {1, 2, 3, 4}}, Code::kRefused, "strictly ascending");
  refused({{first - 1, first}, {1, 2, 3, 4}}, Code::kRefused, "belongs to range 0");
  refused({{first, range_first_key(3, 4)}, {1, 2, 3, 4}}, Code::kRefused, "position 1");
  refused({{first, kNoPlace}, {1, 2, 3, 4}}, Code::kRefused, "reserved");
  refused({{first, first + 9}, {1, 2, 3, NAN}}, Code::kNonFinite, "position 1");
  refused({{first, first + 9}, {1, -inf, 3, 4}}, Code::kNonFinite, std::to_string(unplace(first)));
  refused({{first}, {1, 2}}, Code::kRefused, "not held", {0, 2});
  EXPECT_TRUE(table.check(Part{{first}, {1, 2}}.view(), {1, 2}).ok());
  EXPECT_TRUE(table.check(Part{{}, {}}.view(), {1, 2}).ok());
  EXPECT_EQ(table.stats().rows, 0u);
}

TEST(SparseTable, FindsOneNonFiniteValueAtAnyPlace) {
  const TableSpec spec = spec_of(RuleKind::kAdd, 1, 1);
  const SparseTable table(spec, all(spec), nullptr);
  Part part;
  for (std::uint64_t i = 0; i < 67; ++i) part.keys.push_back(i), part.grads.push_back(1.0f);
  for (std::size_t bad = 0; bad < part.keys.size(); ++bad) {
    for (const float value : {NAN, -NAN, INFINITY, -INFINITY}) {
      Part broken = part;
      broken.grads[bad] = value;
      EXPECT_EQ(table.check(broken.view(), all(spec)).code(), Code::kNonFinite) << bad;
    }
  }
  EXPECT_TRUE(table.check(part.view(), all(spec)).ok());
}

TEST(SparseTable, DigestDependsOnContentsAlone) {
  Random random(5);
  const TableSpec spec = spec_of(RuleKind::kFtrl, 3, 16);
  const Part part = part_of(some_keys(random, 3000, 1u << 20), 3, random);
  SparseTable whole(spec, all(spec), nullptr);
  whole.apply(std::vector{part.view()});
  // One key at a time, in a shuffled order, on three servers.
  std::vector<std::size_t> order(part.keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  std::vector<std::unique_ptr<SparseTable>> servers;
  for (const RangeSpan span : {RangeSpan{0, 5}, RangeSpan{5, 6}, RangeSpan{6, 16}}) {
    servers.push_back(std::make_unique<SparseTable>(spec, span, nullptr));
    for (const std::size_t i : order) {
      if (!span.contains(range_of(part.keys[i], 16))) continue;
      const Contribution one{{&part.keys[i], 1}, {&part.grads[3 * i], 3}};
      servers.back()->apply({&one, 1});
    }
  }
  std::uint64_t sum = 0, rows = 0;
  for (const auto& server : servers) sum += server->digest(), rows += server->stats().rows;
  EXPECT_EQ(sum, whole.digest());
  EXPECT_EQ(rows, whole.stats().rows);
  const float nudge[3] = {1e-3f, 0, 0};
  const Contribution more{{part.keys.data(), 1}, nudge};
  whole.apply({&more, 1});
  EXPECT_NE(sum, whole.digest());
}

// Ranges here and there, which move from table to table with their rows.
TEST(SparseTable, AnyRangesTogetherAreTheWholeTable) {
  Random random(9);
  const TableSpec spec = spec_of(RuleKind::kFtrl, 3, 16);
  SparseTable whole(spec, all(spec), nullptr);
  SparseTable parts[2] = {{spec, RangeSet(), nullptr}, {spec, all(spec), nullptr}};
  for (int round = 0; round < 30; ++round) {
    const auto begin = static_cast<std::uint16_t>(random.below(16));
    const RangeSpan span{begin, static_cast<std::uint16_t>(begin + 1 + random.below(16u - begin))};
    for (std::uint16_t r = span.begin; r < span.end; ++r) {
      const bool first = parts[0].owned().contains(RangeId{r});
      SparseTable &from = parts[first ? 0 : 1], &to = parts[first ? 1 : 0];
      const RangeSet only(r, static_cast<std::uint16_t>(r + 1));
      ASSERT_TRUE(to.add(only).ok());
      from.scan(RangeId{r}, [&](const RowsView& view) { ASSERT_TRUE(to.load(RangeId{r}, view).ok()); });
      from.remove(only);
    }
    const Part part = part_of(some_keys(random, 300, 1u << 12), 3, random);
    whole.apply(std::vector{part.view()});
    for (std::size_t i = 0; i < part.keys.size(); ++i) {
      const RangeId range = range_of(part.keys[i], 16);
      const Contribution one{{&part.keys[i], 1}, {&part.grads[3 * i], 3}};
      const RangeSpan only{range.value, static_cast<std::uint16_t>(range.value + 1)};
      SparseTable& owner = parts[parts[0].owned().contains(range) ? 0 : 1];
      ASSERT_TRUE(owner.check(one, only).ok());
      ASSERT_EQ((&owner == parts ? parts[1] : parts[0]).check(one, only).code(), Code::kRefused);
      owner.apply({&one, 1});
    }
    ASSERT_EQ(parts[0].digest() + parts[1].digest(), whole.digest());
    ASSERT_EQ(parts[0].stats().rows + parts[1].stats().rows, whole.stats().rows);
  }
}

// As rows that begin so have it: of FTRL the state follows from the row.
TEST(SparseTable, RowsThatAreLoadedWithoutStateGetOne) {
  Random random(7);
  const TableSpec begins_so = [] {
    TableSpec spec = spec_of(RuleKind::kFtrl, 2);
    spec.init = {InitSpec::Kind::kNormal, 0.5f, 3};
    return spec;
  }();
  SparseTable born(begins_so, all(begins_so), nullptr);
  SparseTable loaded(spec_of(RuleKind::kFtrl, 2), all(begins_so), nullptr);
  const Part part = part_of(some_keys(random, 300, 1u << 12), 2, random);
  std::vector<float> rows(part.keys.size() * 2);
  born.read(part.keys, rows);
  for (std::size_t i = 0; i < part.keys.size(); ++i) {
    const RangeId range = range_of(part.keys[i], begins_so.ranges);
    ASSERT_TRUE(loaded.load(range, {{&part.keys[i], 1}, {&rows[2 * i], 2}, 2}).ok());
  }
  for (SparseTable* table : {&born, &loaded}) table->apply(std::vector{part.view()});
  EXPECT_EQ(contents(loaded), contents(born));
}

TEST(SparseTable, ScanAndLoadCopyATable) {
  Random random(6);
  const TableSpec spec = spec_of(RuleKind::kAdam, 4);
  SparseTable from(spec, all(spec), nullptr), to(spec, all(spec), nullptr);
  for (int i = 0; i < 3; ++i)
    from.apply(std::vector{part_of(some_keys(random, 20000, 1u << 20), 4, random).view()});
  for (std::uint16_t r = 0; r < spec.ranges; ++r) {
    PlacedKey last = 0;
    from.scan(RangeId{r}, [&](const RowsView& view) {
      EXPECT_TRUE(std::is_sorted(view.keys.begin(), view.keys.end()));
      EXPECT_LE(last, view.keys.front());
      last = view.keys.back();
      EXPECT_TRUE(to.load(RangeId{r}, view).ok());
    });
  }
  EXPECT_EQ(to.digest(), from.digest());
  EXPECT_EQ(contents(to), contents(from));
  const std::vector<std::uint64_t> key = {0};
  const std::vector<float> narrow(5), broken(from.stored_width(), NAN), fine(from.stored_width());
  EXPECT_EQ(to.load(RangeId{0}, {key, narrow, 5}).code(), Code::kModel);
  EXPECT_EQ(to.load(RangeId{0}, {key, broken, from.stored_width()}).code(), Code::kNonFinite);
  EXPECT_EQ(to.load(RangeId{1}, {key, fine, from.stored_width()}).code(), Code::kRefused);
  EXPECT_EQ(to.load(RangeId{9}, {key, fine, from.stored_width()}).code(), Code::kRefused);
  EXPECT_EQ(to.digest(), from.digest());
}

TEST(SparseTable, FtrlOfDimensionOneTakesAtMost32BytesAKey) {
  Random random(8);
  const TableSpec spec = spec_of(RuleKind::kFtrl, 1, 256);
  SparseTable table(spec, all(spec), nullptr);
  EXPECT_LT(table.stats().bytes, 64u * 1024);
  for (int batch = 0; batch < 100; ++batch) {
    table.apply(std::vector{part_of(some_keys(random, 10000, ~Key{0}), 1, random).view()});
  }
  const TableStats stats = table.stats();
  EXPECT_GT(stats.rows, 990000u);
  EXPECT_LE(static_cast<double>(stats.bytes) / static_cast<double>(stats.rows), 32.0);
}

// A row of a field-aware machine: no slot that is empty has one, and growing copies none.
TEST(SparseTable, WideRowsTakeTheirOwnMemoryAndLittleMore) {
  constexpr std::size_t kDim = 156, kKeys = 20000, kRowsAStep = 500;
  Random random(6);
  const TableSpec spec = spec_of(RuleKind::kAdagrad, kDim);
  SparseTable table(spec, all(spec), nullptr);
  for (std::size_t done = 0; done < kKeys; done += kRowsAStep) {
    std::set<Key> keys;
    for (Key key = done; key < done + kRowsAStep; ++key) keys.insert(key);
    const Part part = part_of(keys, kDim, random);
    table.apply(std::vector<Contribution>{part.view()});
  }
  EXPECT_EQ(table.stats().rows, kKeys);
  EXPECT_LT(table.stats().bytes, kKeys * 2 * kDim * sizeof(float) * 11 / 10);
}

class SignOnly : public CustomRule {
 public:
  std::size_t state_floats(std::size_t) const override { return 1; }
  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] -= std::copysign(1.0f, grad[i]);
    state[0] += 1.0f;
  }
};

TEST(SparseTable, CallsACustomRuleOncePerTouchedRow) {
  TableSpec spec = spec_of(RuleKind::kCustom, 2);
  spec.rule.custom = std::string("sign"), spec.init = {};
  auto made = make_table(spec, all(spec), std::make_shared<SignOnly>());
  ASSERT_TRUE(made.ok());
  Table& table = **made;
  const std::uint64_t key = place(1);
  const float g[2] = {0.5f, -3.0f};
  const Contribution part{{&key, 1}, g};
  table.apply(std::vector{part, part});
  EXPECT_EQ(contents(table).at(key), (std::vector<float>{-1.0f, 1.0f, 1.0f}));
  EXPECT_EQ(make_table(spec, all(spec)).status().code(), Code::kUsage);
}

// The first of many ascending loads tells how many rows are to come.
TEST(SparseTable, LoadsInPiecesHaveRoomFromTheFirstOneOn) {
  for (const std::uint32_t dim : {1u, 70u}) {
    TableSpec spec;
    spec.name = "loaded";
    spec.dim = dim;
    spec.ranges = 3;
    std::vector<std::uint64_t> keys;
    for (Key key = 0; key < 60'000; ++key) {
      if (range_of(place(key), spec.ranges) == RangeId{1}) keys.push_back(place(key));
    }
    std::ranges::sort(keys);
    std::vector<float> rows(keys.size() * dim);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
    const auto whole = *make_table(spec, RangeSpan{0, 3}), pieces = *make_table(spec, RangeSpan{0, 3});
    ASSERT_TRUE(whole->load(RangeId{1}, {keys, rows, dim}).ok());
    const std::size_t piece = keys.size() / 10;
    std::uint64_t first_bytes = 0;
    for (std::size_t done = 0; done < keys.size(); done += piece) {
      const std::size_t count = std::min(piece, keys.size() - done);
      const RowsView view{std::span(keys).subspan(done, count),
                          std::span(rows).subspan(done * dim, count * dim), dim};
      for (int times = 0; times < 2; ++times) ASSERT_TRUE(pieces->load(RangeId{1}, view).ok());
      if (done == 0) first_bytes = pieces->stats().bytes;
    }
    EXPECT_EQ(pieces->digest(), whole->digest());
    EXPECT_EQ(pieces->stats().rows, keys.size());
    if (dim == 1) {
      EXPECT_EQ(pieces->stats().bytes, first_bytes) << "nothing had to grow";
    }
    std::vector<std::uint64_t> some;
    std::vector<float> values;
    pieces->copy_rows(RangeId{1}, keys[100] + 1, 50, some, values);
    EXPECT_TRUE(std::ranges::equal(some, std::span(keys).subspan(101, 50)));
    EXPECT_TRUE(std::ranges::equal(values, std::span(rows).subspan(101 * dim, 50 * dim)));
    pieces->copy_rows(RangeId{1}, keys.back(), 50, some, values);
    EXPECT_EQ(some.size(), 51u);
    pieces->copy_rows(RangeId{0}, 0, 50, some, values);
    EXPECT_EQ(some.size(), 51u) << "a range without rows";
  }
}

}  // namespace
}  // namespace thalweg
