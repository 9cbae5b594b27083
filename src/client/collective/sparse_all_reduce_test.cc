#include "client/collective/sparse_all_reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/collective/key_splits.h"
#include "client/collective/merge_partners.h"
#include "client/group/group_threads_for_test.h"
#include "table/reduce.h"
#include "thalweg/store.h"

namespace thalweg {
namespace {

using Way = SparseOptions::Way;
constexpr Way kWays[] = {Way::kDoubling, Way::kRanges, Way::kBySize};

enum class KeyKind { kPlaced, kNumbers, kNearlyAll, kApart, kSame, kOneRank };
constexpr KeyKind kKeyKinds[] = {KeyKind::kPlaced, KeyKind::kNumbers, KeyKind::kNearlyAll,
                                 KeyKind::kApart,  KeyKind::kSame,    KeyKind::kOneRank};

std::vector<std::uint64_t> keys_of(KeyKind kind, std::uint32_t rank) {
  Random random(kind == KeyKind::kSame ? 5 : rank + 1);
  std::vector<Key> keys;
  if (kind == KeyKind::kOneRank && rank != 1) return {};
  const std::size_t count = rank == 2 ? 0 : 300 + 40 * rank;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(kind == KeyKind::kApart ? 1000 * rank + i
                                           : random.below(kind == KeyKind::kNearlyAll ? 350 : 9000));
  }
  if (kind == KeyKind::kPlaced) return *Keys::of(keys).values();
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::vector<float> rows_of(std::size_t floats, std::uint32_t rank) {
  Random random(77 + rank);
  std::vector<float> rows(floats);
  for (float& value : rows)
    value =
        std::ldexp(static_cast<float>(random.below(2001)) - 1000.0f, static_cast<int>(random.below(40)) - 20);
  if (floats > 0) rows[0] = -0.0f;
  return rows;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// As servers add up the contributions of as many data shards.
SparseRows sum_of_shards(KeyKind kind, std::uint32_t ranks, std::size_t dim) {
  std::vector<std::vector<std::uint64_t>> keys(ranks);
  std::vector<std::vector<float>> rows(ranks);
  std::vector<Contribution> parts;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    keys[rank] = keys_of(kind, rank);
    rows[rank] = rows_of(keys[rank].size() * dim, rank);
    parts.push_back({keys[rank], rows[rank], rank});
  }
  SparseReducer reducer;
  const Contribution sum = reducer.reduce(parts, dim, false);
  return {{sum.keys.begin(), sum.keys.end()}, {sum.grads.begin(), sum.grads.end()}};
}

std::string sums_as_servers(Group& group) {
  for (const KeyKind kind : kKeyKinds) {
    for (const std::size_t dim : {0, 1, 3, 8}) {
      const std::vector<std::uint64_t> keys = keys_of(kind, group.rank());
      const std::vector<float> rows = rows_of(keys.size() * dim, group.rank());
      const SparseRows expected = sum_of_shards(kind, group.size(), dim);
      for (const Way way : kWays) {
        SparseOptions options;
        options.way = way;
        SparseRows sum{{3, 4}, {5}};  // Of an earlier call.
        if (Status s = group.all_reduce_sparse(keys, rows, dim, sum, options); !s.ok()) return s.message();
        if (sum.keys != expected.keys) return "not the union of the keys";
        if (!same_bits(sum.rows, expected.rows)) return "another sum than of servers";
      }
    }
  }
  return {};
}

TEST(SparseAllReduce, HasTheBitsOfServersWhicheverWay) {
  for (const std::uint32_t ranks : {1, 2, 3, 4, 5, 7, 8})
    EXPECT_EQ(on_threads(ranks, sums_as_servers), "") << ranks;
}

TEST(SparseAllReduce, GoesOverSharedMemoryAndTcp) {
  EXPECT_EQ(on_joined(4, GroupTransport::kShm, sums_as_servers), "");
  EXPECT_EQ(on_joined(3, GroupTransport::kTcp, sums_as_servers), "");
}

TEST(SparseAllReduce, DividesMeansByTheRanks) {
  const auto body = [](Group& group) -> std::string {
    const std::uint32_t rank = group.rank();
    const std::vector<std::uint64_t> keys = {7, 9 + std::uint64_t{rank}};
    const std::vector<float> rows = {3.0f * static_cast<float>(rank), 6.0f};
    SparseOptions options;
    options.reduction = Reduction::kMean;
    for (const Way way : kWays) {
      options.way = way;
      SparseRows mean;
      if (Status s = group.all_reduce_sparse(keys, rows, 1, mean, options); !s.ok()) return s.message();
      if (mean.keys != std::vector<std::uint64_t>{7, 9, 10, 11} ||
          mean.rows != std::vector<float>{3, 2, 2, 2})
        return "wrong mean";
    }
    return {};
  };
  EXPECT_EQ(on_threads(3, body), "");
}

// What a rank sends on average.
double bytes_a_rank(std::uint32_t ranks, KeyKind kind, std::size_t dim, Way way) {
  double bytes = 0;
  std::mutex mutex;
  const auto body = [&](Group& group) -> std::string {
    const std::vector<std::uint64_t> keys = keys_of(kind, kind == KeyKind::kApart ? group.rank() : 5);
    const std::vector<float> rows(keys.size() * dim, 1.0f);
    SparseOptions options;
    options.way = way;
    SparseRows sum;
    const std::uint64_t before = group.bytes_sent();
    if (Status s = group.all_reduce_sparse(keys, rows, dim, sum, options); !s.ok()) return s.message();
    const std::lock_guard lock(mutex);
    bytes += static_cast<double>(group.bytes_sent() - before) / group.size();
    return {};
  };
  EXPECT_EQ(on_threads(ranks, body), "");
  return bytes;
}

TEST(SparseAllReduce, SendsLessThanAllToAll) {
  constexpr std::uint32_t kRanks = 8;
  constexpr std::size_t kDim = 8;
  const double own = static_cast<double>(keys_of(KeyKind::kPlaced, 5).size() * (8 + 4 * kDim));
  // All bring the same keys: three rounds of one list, or twice 7/8 of it.
  EXPECT_LT(bytes_a_rank(kRanks, KeyKind::kPlaced, kDim, Way::kDoubling), 3.1 * own);
  EXPECT_LT(bytes_a_rank(kRanks, KeyKind::kPlaced, kDim, Way::kRanges), 2.1 * own);
  EXPECT_GT(bytes_a_rank(kRanks, KeyKind::kPlaced, kDim, Way::kRanges), 1.7 * own);
  // Keys that lie close take a bit each.
  const std::vector<std::uint64_t> close = keys_of(KeyKind::kNearlyAll, 5);
  const double dense = static_cast<double>(close.size() * 4);
  EXPECT_LT(bytes_a_rank(2, KeyKind::kNearlyAll, 1, Way::kDoubling), 1.2 * dense + 100);
}

TEST(SparseAllReduce, RefusesWhatIsNoListWithItsPlace) {
  std::vector<Group> groups = Group::in_process(1);
  Group& group = groups[0];
  SparseRows sum;
  const std::vector<float> rows = {1, 2, 3};
  const auto refused = [&](std::vector<std::uint64_t> keys, std::size_t dim, SparseOptions options = {}) {
    const Status status = group.all_reduce_sparse(keys, rows, dim, sum, options);
    EXPECT_EQ(status.code(), Code::kUsage);
    return status.message();
  };
  EXPECT_EQ(refused({1, 4, 4}, 1),
            "sparse all-reduce: key 2 is 4 after 4; expected keys to ascend, none of them twice");
  EXPECT_EQ(refused({1, 0, 2}, 1),
            "sparse all-reduce: key 1 is 0 after 1; expected keys to ascend, none of them twice");
  EXPECT_EQ(refused({1, 2}, 2), "sparse all-reduce: 2 keys have 3 floats; expected 2 for each");
  SparseOptions greatest;
  greatest.reduction = Reduction::kMax;
  EXPECT_EQ(refused({1, 2, 3}, 1, greatest),
            "sparse all-reduce: it cannot combine by max; expected sum or mean");
  sum.keys = {1, 2, 3};
  EXPECT_EQ(group.all_reduce_sparse(sum.keys, rows, 1, sum).code(), Code::kUsage);
}

TEST(SparseAllReduce, AllRanksRefuseAlikeAndGoOn) {
  const auto body = [](Group& group) -> std::string {
    const std::vector<std::uint64_t> keys = {1, 2, 3 + std::uint64_t{group.rank()}};
    const std::vector<float> rows(6, 1.0f);
    SparseRows sum;
    SparseOptions options;
    options.bytes_max = group.rank() == 1 ? 3 * 3 * 16 - 1 : 1000;
    Status status = group.all_reduce_sparse(keys, rows, 2, sum, options);
    if (status.code() != Code::kUsage ||
        status.message() !=
            "sparse all-reduce: ranks 0 to 2 bring 9 rows of 16 bytes with their keys; expected at "
            "most 143 bytes from all") {
      return "not refused for its size: " + status.message();
    }
    const std::size_t dim = group.rank() == 1 ? 1 : 2;
    status = group.all_reduce_sparse(keys, std::span(rows).first(3 * dim), dim, sum);
    if (status.code() != Code::kUsage ||
        status.message().find("rank 1 calls it with rows of 1 floats, rank 0 with rows of 2") ==
            std::string::npos)
      return "not refused for its width: " + status.message();
    status = group.all_reduce_sparse(keys, rows, 2, sum);
    return status.ok() && sum.keys.size() == 5 && sum.rows[0] == 3 ? "" : "the group does not go on";
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(MergePartners, LetEveryRankMergeEveryBlockOnce) {
  for (std::uint32_t ranks = 1; ranks <= 40; ++ranks) {
    std::vector<std::uint32_t> block(ranks), end(ranks);  // What each rank has.
    for (std::uint32_t r = 0; r < ranks; ++r) block[r] = r, end[r] = r + 1;
    for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
      std::map<std::uint32_t, std::uint32_t> sender;
      for (std::uint32_t r = 0; r < ranks; ++r) {
        for (const std::uint32_t to : merge_partners(r, ranks, distance).to)
          EXPECT_TRUE(sender.emplace(to, r).second);
      }
      const std::vector<std::uint32_t> old_block = block, old_end = end;
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const MergePartners partners = merge_partners(r, ranks, distance);
        EXPECT_EQ(partners.any, sender.count(r) == 1);
        if (!partners.any) continue;
        EXPECT_EQ(sender[r], partners.from);
        EXPECT_EQ(old_block[r], partners.block);
        EXPECT_EQ(old_block[partners.from], partners.theirs);
        EXPECT_EQ(old_end[partners.from], partners.theirs_end);
        block[r] = std::min(block[r], partners.theirs), end[r] = std::max(end[r], partners.theirs_end);
      }
    }
    for (std::uint32_t r = 0; r < ranks; ++r)
      EXPECT_TRUE(block[r] == 0 && end[r] == ranks) << r << " of " << ranks;
  }
}

TEST(KeySplits, GiveEachRankItsShareOfAnyKeys) {
  constexpr std::uint32_t kRanks = 6;
  Random random(9);
  std::vector<std::uint64_t> samples, counts, all;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    std::vector<std::uint64_t> keys;
    // Most are small, some ranks have hardly any.
    for (std::size_t i = 0; i < 1000 * std::size_t{r}; ++i)
      keys.push_back(random.below(1u << random.below(24)) * 1009 + i);
    std::sort(keys.begin(), keys.end());
    const auto own = sample_keys(keys, key_samples(kRanks));
    samples.insert(samples.end(), own.begin(), own.end());
    counts.push_back(keys.size());
    all.insert(all.end(), keys.begin(), keys.end());
  }
  const std::vector<std::uint64_t> splits = split_keys(samples, counts);
  ASSERT_EQ(splits.size(), kRanks - 1);
  std::vector<std::size_t> in_range(kRanks);
  for (const std::uint64_t key : all)
    ++in_range[static_cast<std::size_t>(std::upper_bound(splits.begin(), splits.end(), key) -
                                        splits.begin())];
  for (const std::size_t count : in_range) EXPECT_LE(count, all.size() / kRanks * 3 / 2);
  EXPECT_EQ(split_keys(std::vector<std::uint64_t>(24 * 6), std::vector<std::uint64_t>(6)),
            std::vector<std::uint64_t>(5));
}

}  // namespace
}  // namespace thalweg
