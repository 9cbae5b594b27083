#include "staleness/reached.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

// A server tells of pushes alone: an heir starts where the slowest has everything, and nobody may repeat what
// any knows.
TEST(Reached, OfSeveralServersStartsWithTheSlowestAndReachesAsFarAsAny) {
  Reached all;
  all.add({{0, 5}, {0, 9}, false});
  EXPECT_EQ(all, (Reached{{0, 5}, {0, 9}, false}));
  all.add({{0, 3}, {0, 7}, true});
  EXPECT_EQ(all, (Reached{{0, 3}, {0, 9}, false})) << "an end before what is known since";
  all.add({{0, 8}, {1, 2}, true});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 2}, true}));
  all.add({{1, 0}, {1, 2}, false});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 2}, true})) << "an end that another server has yet to learn of";
  all.add({{1, 0}, {1, 1}, false});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 2}, true}));
  all.add({{1, 0}, {1, 4}, false});
  EXPECT_EQ(all, (Reached{{0, 3}, {1, 4}, false}));
}

}  // namespace
}  // namespace thalweg
