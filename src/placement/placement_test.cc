#include "placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace thalweg {
namespace {

TEST(Placement, ServersCoverEveryRangeOnceAndEvenly) {
  for (const int count : {1, 2, 3, 5, 8, 100, 255, 256, 257, 65535}) {
    const auto ranges = static_cast<std::uint16_t>(count);
    for (std::uint32_t servers : {1u, 2u, 3u, 4u, 7u, 16u, 255u, 256u, 300u, 4096u}) {
      std::uint32_t next = 0, least = ~0u, most = 0;
      for (std::uint32_t server = 0; server < servers; ++server) {
        const RangeSpan owned = server_ranges(ranges, server, servers);
        ASSERT_EQ(owned.begin, next) << ranges << " over " << servers;
        ASSERT_LE(owned.begin, owned.end);
        next = owned.end;
        least = std::min<std::uint32_t>(least, owned.size());
        most = std::max<std::uint32_t>(most, owned.size());
      }
      ASSERT_EQ(next, ranges) << servers;
      ASSERT_LE(most - least, 1u) << ranges << " over " << servers;
    }
  }
}

TEST(Placement, WorkersShareTheDataShardsEvenly) {
  std::vector<int> shards(3);
  for (std::uint32_t d = 0; d < 11; ++d) ++shards.at(shard_worker(ShardId{d}, 3));
  EXPECT_EQ(shards, (std::vector<int>{4, 4, 3}));
}

}  // namespace
}  // namespace thalweg
