#include "exchange/costs/measured_routes.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "exchange/route/route.h"

namespace thalweg {
namespace {

MeasuredWay way(const Route& route, std::size_t piece_bytes = 0) {
  MeasuredWay made;
  made.plan.route = &route;
  made.piece_bytes = piece_bytes;
  return made;
}

std::string nearest(const MeasuredRoutes& routes, std::uint64_t bytes) {
  for (const auto& [bytes_max, found] : routes.of(true, 4, Operation::kAllReduce)) {
    if (bytes <= bytes_max) return found->plan.route->name;
  }
  return "none";
}

TEST(MeasuredRoutes, TheNearestSizeInPowersCounts) {
  MeasuredRoutes routes;
  EXPECT_EQ(nearest(routes, 4096), "none");
  EXPECT_TRUE(routes.add({true, 4, Operation::kAllReduce, 4096}, way(routes::kStar)));
  EXPECT_TRUE(routes.add({true, 4, Operation::kAllReduce, 256}, way(routes::kChain)));
  EXPECT_TRUE(routes.add({true, 4, Operation::kAllReduce, 1 << 20}, way(routes::kRing)));
  for (const std::uint64_t bytes : {0, 1, 256, 1024}) EXPECT_EQ(nearest(routes, bytes), "chain") << bytes;
  for (const std::uint64_t bytes : {1025, 4096, 65536}) EXPECT_EQ(nearest(routes, bytes), "star") << bytes;
  for (const std::uint64_t bytes :
       {std::uint64_t{65537}, std::uint64_t{1} << 20, std::numeric_limits<std::uint64_t>::max()})
    EXPECT_EQ(nearest(routes, bytes), "ring") << bytes;
}

TEST(MeasuredRoutes, AreOfOneTransportNumberOfRanksAndOperation) {
  MeasuredRoutes routes;
  routes.add({true, 4, Operation::kAllReduce, 4096}, way(routes::kRing));
  EXPECT_EQ(routes.of(true, 4, Operation::kAllReduce).size(), 1u);
  EXPECT_TRUE(routes.of(false, 4, Operation::kAllReduce).empty());
  EXPECT_TRUE(routes.of(true, 3, Operation::kAllReduce).empty());
  EXPECT_TRUE(routes.of(true, 4, Operation::kReduce).empty());
}

TEST(MeasuredRoutes, TheFirstOfAPointStays) {
  MeasuredRoutes routes;
  EXPECT_TRUE(routes.add({true, 4, Operation::kAllReduce, 4096}, way(routes::kRing)));
  EXPECT_FALSE(routes.add({true, 4, Operation::kAllReduce, 4096}, way(routes::kStar)));
  EXPECT_EQ(nearest(routes, 4096), "ring");
}

TEST(MeasuredRoutes, TheirDigestTellsThemApart) {
  const auto digest = [](MeasuredPoint point, const MeasuredWay& its) {
    MeasuredRoutes routes;
    routes.add(point, its);
    return routes.digest();
  };
  const MeasuredPoint point{true, 4, Operation::kAllReduce, 4096};
  const std::uint64_t one = digest(point, way(routes::kRing));
  EXPECT_EQ(MeasuredRoutes().digest(), 0u);
  EXPECT_NE(one, 0u);
  EXPECT_EQ(one, digest(point, way(routes::kRing)));
  EXPECT_NE(one, digest(point, way(routes::kStar)));
  EXPECT_NE(one, digest(point, way(routes::kRing, 1024)));
  EXPECT_NE(one, digest({false, 4, Operation::kAllReduce, 4096}, way(routes::kRing)));
  EXPECT_NE(one, digest({true, 5, Operation::kAllReduce, 4096}, way(routes::kRing)));
  EXPECT_NE(one, digest({true, 4, Operation::kReduce, 4096}, way(routes::kRing)));
  EXPECT_NE(one, digest({true, 4, Operation::kAllReduce, 4097}, way(routes::kRing)));
}

}  // namespace
}  // namespace thalweg
