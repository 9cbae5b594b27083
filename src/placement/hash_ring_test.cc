#include "placement/hash_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kRingKeys = 200'000;

HashRing ring_of(std::uint32_t servers) {
  std::vector<std::uint32_t> numbers(servers);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return HashRing(numbers);
}

// Of the servers' numbers of keys: their standard deviation over their mean.
double load_variation(const HashRing& ring) {
  std::map<std::uint32_t, double> keys;
  for (Key key = 0; key < kRingKeys; ++key) ++keys[ring.owner(place(key))];
  const double mean = static_cast<double>(kRingKeys) / static_cast<double>(ring.servers().size());
  double squares = 0;
  for (const std::uint32_t server : ring.servers()) squares += std::pow(keys[server] - mean, 2);
  return std::sqrt(squares / static_cast<double>(ring.servers().size())) / mean;
}

TEST(HashRing, AnEleventhServerTakesAnEleventhAndNobodyElseAnything) {
  const HashRing before = ring_of(10), after = ring_of(11);
  std::uint64_t moved = 0;
  for (Key key = 0; key < kRingKeys; ++key) {
    const std::uint32_t from = before.owner(place(key)), to = after.owner(place(key));
    if (from == to) continue;
    ++moved;
    ASSERT_EQ(to, 10u) << "key " << key << " went from " << from;
  }
  const double share = static_cast<double>(moved) / kRingKeys;
  RecordProperty("moved_share", std::to_string(share));
  EXPECT_NEAR(share * 11, 1, 0.2) << "share " << share;
}

TEST(HashRing, LoadsAreAlike) {
  for (const std::uint32_t servers : {10u, 11u}) {
    const double variation = load_variation(ring_of(servers));
    RecordProperty("variation_of_" + std::to_string(servers), std::to_string(variation));
    EXPECT_LE(variation, 0.15) << servers;
    EXPECT_GT(variation, 0) << servers;
  }
}

// Over many rings: what one ring shows is no accident of its numbers.
TEST(HashRing, ShareAndLoadHoldOnTheAverageOfRings) {
  Random random(27);
  double share_sum = 0, variation_sum = 0;
  constexpr int kRings = 30;
  for (int r = 0; r < kRings; ++r) {
    HashRing ring;
    while (ring.servers().size() < 10) {
      const auto server = static_cast<std::uint32_t>(random.below(1'000'000));
      if (!ring.has(server)) ring.add(server);
    }
    const HashRing before = ring;
    ring.add(1'000'000);
    std::uint64_t moved = 0;
    std::map<std::uint32_t, double> keys;
    constexpr std::uint64_t kKeys = 20'000;
    for (std::uint64_t k = 0; k < kKeys; ++k) {
      const PlacedKey at = random.next();
      ++keys[before.owner(at)];
      moved += before.owner(at) != ring.owner(at);
    }
    double squares = 0;
    for (const std::uint32_t server : before.servers()) squares += std::pow(keys[server] - kKeys / 10.0, 2);
    share_sum += static_cast<double>(moved) / kKeys;
    variation_sum += std::sqrt(squares / 10) / (kKeys / 10.0);
  }
  EXPECT_NEAR(share_sum / kRings * 11, 1, 0.1);
  EXPECT_LE(variation_sum / kRings, 0.15);
}

TEST(HashRing, PreferenceIsOfDistinctServersAndBeginsWithTheOwner) {
  const HashRing ring = ring_of(5);
  for (Key key = 0; key < 2000; ++key) {
    const auto three = ring.preference(place(key), 3), all = ring.preference(place(key), 9);
    ASSERT_EQ(three.size(), 3u);
    EXPECT_EQ(three.front(), ring.owner(place(key)));
    ASSERT_EQ(all.size(), 5u);
    EXPECT_TRUE(std::equal(three.begin(), three.end(), all.begin()));
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 5u);
  }
}

// What a server had goes to those behind it, and comes back with it.
TEST(HashRing, WhoLeavesIsSkippedAndNothingElseMoves) {
  const HashRing whole = ring_of(6);
  HashRing less = whole;
  less.remove(2);
  for (Key key = 0; key < 2000; ++key) {
    auto expected = whole.preference(place(key), 6);
    std::erase(expected, 2u);
    EXPECT_EQ(less.preference(place(key), 6), expected);
  }
  less.add(2);
  EXPECT_EQ(less, whole);
}

TEST(HashRing, GoesRoundItsEnd) {
  const HashRing ring = ring_of(3);
  EXPECT_EQ(ring.owner(~std::uint64_t{0}), ring.owner(0));
}

}  // namespace
}  // namespace thalweg
