#include "exchange/combine/reproducible.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "exchange/loop_ranks_for_test.h"

namespace thalweg {
namespace {

__extension__ using Wide = __int128;

template <class T>
std::vector<const std::byte*> pointers(const std::vector<std::vector<T>>& vectors, std::size_t begin,
                                       std::size_t end) {
  std::vector<const std::byte*> result;
  for (std::size_t i = begin; i < end; ++i) result.push_back(std::as_bytes(std::span(vectors[i])).data());
  return result;
}

// The sum of all contributions, brought by the ranks in equal shares and in that order.
template <class T>
std::vector<T> summed(LoopRanks& ranks, const std::vector<std::vector<T>>& contributions) {
  constexpr DataType kType = DataTypeOf<T>::value;
  const std::size_t count = contributions[0].size(), share = contributions.size() / ranks.size();
  std::vector<std::vector<std::byte>> exponents;
  std::vector<std::vector<std::int64_t>> integers;
  const auto of = [&](std::size_t r) { return pointers(contributions, r * share, (r + 1) * share); };
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    exponents.emplace_back(count * reproducible::exponent_bytes(kType));
    reproducible::encode_exponents(kType, of(r), count, exponents.back().data());
  }
  ranks.all_reduce(Arithmetic::of(reproducible::exponents_monoid(kType)), exponents);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    integers.emplace_back(count * reproducible::integers_per_element(kType));
    reproducible::encode_integers(kType, of(r), count, exponents[r].data(), integers.back().data());
  }
  ranks.all_reduce(Arithmetic::of(DataType::kI64, Reduction::kSum), integers);
  std::vector<std::vector<T>> out(ranks.size(), std::vector<T>(count));
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    reproducible::decode(kType, exponents[r].data(), integers[r].data(), count,
                         std::as_writable_bytes(std::span(out[r])).data());
    EXPECT_EQ(0, std::memcmp(out[r].data(), out[0].data(), count * sizeof(T)));
  }
  return out[0];
}

template <class T>
T alone(const std::vector<T>& values) {
  std::vector<std::vector<T>> contributions;
  for (const T value : values) contributions.push_back({value});
  LoopRanks one(1, "ring");
  return summed(one, contributions)[0];
}

template <class T>
class ReproducibleSum : public testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;
  static constexpr int kDigits = Limits::digits;

  // Values that lie up to 2^60 apart, some special, in columns that never are.
  static std::vector<std::vector<T>> draw(std::size_t contributions, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::vector<T>> result(contributions, std::vector<T>(count));
    for (auto& vector : result) {
      for (std::size_t i = 0; i < count; ++i) {
        vector[i] = std::ldexp(static_cast<T>(random.normal()), static_cast<int>(random.below(61)) - 30);
        if (i % 50 == 0 && random.chance(0.2)) vector[i] = Limits::infinity();
        if (i % 100 == 0 && random.chance(0.1))
          vector[i] = random.chance(0.5) ? -Limits::infinity() : Limits::quiet_NaN();
        if (i % 7 == 1) vector[i] = Limits::denorm_min() * static_cast<T>(random.below(1000));
      }
    }
    return result;
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ReproducibleSum, Types);

TYPED_TEST(ReproducibleSum, HasTheSameBitsForAnyRanksRoutePiecesAndOrder) {
  constexpr std::size_t kContributions = 8, kCount = 700;
  auto contributions = this->draw(kContributions, kCount, 1);
  LoopRanks one(1, "ring");
  const auto expected = summed(one, contributions);
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](TypeParam x) { return std::isnan(x); }));
  Random random(2);
  std::uint64_t seed = 3;
  for (const std::uint32_t count : {2, 4, 8}) {
    for (const char* route : {"ring", "spread", "tree:3", "double-tree", "recursive-doubling",
                              "halving-doubling", "star", "chain"}) {
      LoopRanks ranks(count, route, ++seed);
      ranks.plan().piece_elements = random.below(200);
      for (std::size_t i = kContributions; i > 1; --i)
        std::swap(contributions[i - 1], contributions[random.below(i)]);
      const auto sum = summed(ranks, contributions);
      ASSERT_EQ(0, std::memcmp(sum.data(), expected.data(), kCount * sizeof(TypeParam))) << route << count;
    }
  }
}

// The error against the exact sum, in integers: each value is m 2^s with s in [0, 60].
TYPED_TEST(ReproducibleSum, KeepsItsErrorBound) {
  using T = TypeParam;
  const int kept = sizeof(T) == 4 ? 47 : 94;
  Random random(5);
  const long double unit = std::ldexp(1.0L, -this->kDigits);
  for (int round = 0; round < 20000; ++round) {
    const std::size_t n = 2 + random.below(40);
    Wide exact = 0;
    long double magnitudes = 0, greatest = 0;
    std::vector<T> values;
    const std::uint64_t spread = 1 + random.below(61);
    for (std::size_t i = 0; i < n; ++i) {
      Wide value = static_cast<Wide>(random.next() >> (64 - this->kDigits)) << random.below(spread);
      if (random.chance(0.5)) value = -value;
      if (i + 1 == n && random.chance(0.3)) value = static_cast<Wide>(static_cast<T>(-exact));  // Cancels.
      exact += value;
      values.push_back(static_cast<T>(value));
      const auto magnitude = std::abs(static_cast<long double>(value));
      magnitudes += magnitude;
      greatest = std::max(greatest, magnitude);
    }
    const Wide sum = static_cast<Wide>(alone(values));
    const long double error = std::abs(static_cast<long double>(sum - exact));
    const long double rounding = std::abs(static_cast<long double>(exact)) * unit;
    const long double count = static_cast<long double>(n), slack = count * std::ldexp(greatest, -kept);
    ASSERT_LE(error, rounding + slack) << n;
    if (n > 2) {
      ASSERT_LE(error, (count - 1) * unit * magnitudes) << n;
    }
  }
}

TYPED_TEST(ReproducibleSum, OfSpecialValuesIsDefined) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN(), max = L::max(), tiny = L::denorm_min();
  EXPECT_EQ(alone<T>({inf, 1, max}), inf);
  EXPECT_EQ(alone<T>({-inf, 1, -inf}), -inf);
  EXPECT_TRUE(std::isnan(alone<T>({inf, -inf})));
  EXPECT_TRUE(std::isnan(alone<T>({nan, 1})));
  const T default_nan = nan, result = alone<T>({-nan, inf});
  EXPECT_EQ(0, std::memcmp(&result, &default_nan, sizeof result));
  EXPECT_EQ(alone<T>({max, max}), inf);
  EXPECT_EQ(alone<T>({max, max, -max}), max);  // Where a plain sum passes through infinity.
  EXPECT_EQ(alone<T>({tiny, tiny, tiny}), 3 * tiny);
  EXPECT_EQ(alone<T>({L::min(), -tiny}), L::min() - tiny);
  EXPECT_FALSE(std::signbit(alone<T>({T{-0.0}, T{-0.0}})));
}

TYPED_TEST(ReproducibleSum, HasRoomForAllContributions) {
  using T = TypeParam;
  constexpr DataType kType = DataTypeOf<T>::value;
  for (const T value : {std::nextafter(T{1}, T{0}), T{-1}, std::numeric_limits<T>::infinity()}) {
    const std::vector<std::vector<T>> one{{value}};
    const std::vector<const std::byte*> all(reproducible::kContributionsMax, pointers(one, 0, 1)[0]);
    std::byte exponent[2];
    std::int64_t integers[2];
    T sum;
    reproducible::encode_exponents(kType, all, 1, exponent);
    reproducible::encode_integers(kType, all, 1, exponent, integers);
    reproducible::decode(kType, exponent, integers, 1, std::as_writable_bytes(std::span(&sum, 1)).data());
    const auto exact =
        static_cast<long double>(value) * static_cast<long double>(reproducible::kContributionsMax);
    EXPECT_EQ(sum, static_cast<T>(exact));
  }
}

}  // namespace
}  // namespace thalweg
