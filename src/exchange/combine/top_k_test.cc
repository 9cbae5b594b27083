#include "thalweg/top_k.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "exchange/codec/codec.h"
#include "exchange/loop_ranks_for_test.h"

namespace thalweg {
namespace {

using Pairs = std::vector<TopKPair>;
using Map = std::map<std::uint32_t, float>;

bool same(const Pairs& a, const Pairs& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(TopKPair)) == 0;
}

// The k pairs of greatest magnitude, in the monoid's form.
Pairs top_of(const Map& map, std::size_t k) {
  Pairs pairs;
  for (const auto& [index, value] : map) pairs.push_back({index, value});
  std::stable_sort(pairs.begin(), pairs.end(), [](const TopKPair& a, const TopKPair& b) {
    return std::abs(a.value) > std::abs(b.value);
  });
  pairs.resize(std::min(pairs.size(), k));
  std::sort(pairs.begin(), pairs.end(),
            [](const TopKPair& a, const TopKPair& b) { return a.index < b.index; });
  pairs.resize(k);
  return pairs;
}

Map draw_map(std::uint32_t indices) {
  Map map;
  const auto size = *rc::gen::inRange(0, 7);
  for (int i = 0; i < size; ++i) {
    map[*rc::gen::inRange<std::uint32_t>(0, indices)] = static_cast<float>(*rc::gen::inRange(-9, 10));
  }
  return map;
}

Pairs merged(const TopK& top, Pairs a, const Pairs& b) {
  const Monoid monoid = top.monoid();
  monoid.combine(a.data(), b.data(), 1, monoid.context);
  return a;
}

void check_laws(TopK::Same rule, std::uint32_t k, std::uint32_t indices) {
  const TopK top(k, rule);
  EXPECT_TRUE(rc::check([&] {
    const Pairs a = top_of(draw_map(indices), k), b = top_of(draw_map(indices), k),
                c = top_of(draw_map(indices), k);
    RC_ASSERT(same(merged(top, a, b), merged(top, b, a)));
    RC_ASSERT(same(merged(top, merged(top, a, b), c), merged(top, a, merged(top, b, c))));
    RC_ASSERT(same(merged(top, a, Pairs(k)), a));
    if (rule == TopK::Same::kGreater) RC_ASSERT(same(merged(top, a, a), a));
  }));
}

TEST(TopKMonoid, KeepsTheLaws) {
  check_laws(TopK::Same::kGreater, 4, 10);
  check_laws(TopK::Same::kGreater, 1, 3);
  check_laws(TopK::Same::kSum, 8, 8);  // No more indices than places.
}

TEST(TopKMonoid, FindsTheTopOfAllRanksOverAnyRoute) {
  constexpr std::uint32_t kRanks = 5, kPlaces = 6;
  constexpr std::size_t kElements = 7;
  for (const char* route : {"ring", "spread", "tree:2", "halving-doubling"}) {
    Random random(3);
    std::vector<Map> all(kElements);
    std::vector<Pairs> vectors(kRanks);
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      for (Map& whole : all) {
        Map mine;
        for (int i = 0; i < 9; ++i) {
          const auto index = static_cast<std::uint32_t>(random.below(20));
          mine[index] = static_cast<float>(random.below(100)) - 50.0f;
        }
        for (const auto& [index, value] : mine) {
          float& greatest = whole.try_emplace(index, value).first->second;
          const bool more = std::abs(value) > std::abs(greatest);
          if (more || (std::abs(value) == std::abs(greatest) && value > greatest)) greatest = value;
        }
        const Pairs top = top_of(mine, kPlaces);
        vectors[r].insert(vectors[r].end(), top.begin(), top.end());
      }
    }
    const TopK top(kPlaces, TopK::Same::kGreater);
    LoopRanks(kRanks, route).all_reduce(Arithmetic::of(top.monoid()), vectors);
    for (const Pairs& vector : vectors) {
      for (std::size_t e = 0; e < kElements; ++e) {
        const auto begin = vector.begin() + static_cast<std::ptrdiff_t>(e * kPlaces);
        EXPECT_TRUE(same(Pairs(begin, begin + kPlaces), top_of(all[e], kPlaces)))
            << route << " element " << e;
      }
    }
  }
}

TEST(TopPairs, AreTheGreatestByIndex) {
  const std::vector<float> values = {1, -5, 3, 5, 0, -3};
  EXPECT_TRUE(same(top_pairs(values, 3), {{1, -5}, {2, 3}, {3, 5}}));
  EXPECT_TRUE(same(top_pairs(std::span(values).first(1), 2), {{0, 1}, {}}));
}

TEST(TopKMonoid, AddsSparseGradientsAsTheCodecEncodesThem) {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::size_t kCount = 100;
  const auto codec = make_codec({CodecKind::kTopK, 0.1});
  std::vector<std::vector<std::byte>> encoded(kRanks, std::vector<std::byte>(codec->encoded_bytes(kCount)));
  std::vector<float> wanted(kCount), sum(kCount);
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    std::vector<float> gradient(kCount);
    for (std::size_t i = 0; i < 10; ++i) gradient[i * 7] = static_cast<float>(i + r + 1);  // The same places.
    for (std::size_t i = 0; i < kCount; ++i) wanted[i] += gradient[i];
    codec->encode(gradient, {}, {}, encoded[r]);
  }
  const TopK top(10, TopK::Same::kSum);
  LoopRanks(kRanks, "ring").all_reduce(Arithmetic::of(top.monoid()), encoded);
  ASSERT_TRUE(codec->decode_add(encoded[1], {}, 1.0f, sum).ok());
  EXPECT_EQ(sum, wanted);
}

}  // namespace
}  // namespace thalweg
