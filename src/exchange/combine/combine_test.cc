#include "exchange/combine/combine.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "exchange/combine/scalar_oracle_for_test.h"

namespace thalweg {
namespace {

constexpr Reduction kWithKernels[] = {Reduction::kSum,     Reduction::kMean, Reduction::kMin, Reduction::kMax,
                                      Reduction::kProduct, Reduction::kAnd,  Reduction::kOr};
constexpr std::size_t kCounts[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,
                                   17, 31, 32, 33, 63, 64, 65, 100, 257, 1000};

// Elements at any address, between bytes that must stay as they are.
template <class T>
class Elements {
 public:
  Elements(std::size_t count, std::size_t offset)
      : bytes_(count * sizeof(T) + 128, kFence), offset_(offset) {}
  std::byte* data() { return bytes_.data() + 64 + offset_; }
  void set(std::size_t i, T value) { std::memcpy(data() + i * sizeof(T), &value, sizeof value); }
  T get(std::size_t i) {
    T value;
    std::memcpy(&value, data() + i * sizeof(T), sizeof value);
    return value;
  }
  bool fenced() const {
    const auto begin = bytes_.begin(), end = bytes_.end();
    const auto is_fence = [](std::byte byte) { return byte == kFence; };
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(64 + offset_), is_fence) &&
           std::all_of(end - static_cast<std::ptrdiff_t>(64 - offset_), end, is_fence);
  }

 private:
  static constexpr std::byte kFence{0xa5};
  std::vector<std::byte> bytes_;
  std::size_t offset_;
};

template <class T>
void fill(Elements<T>& elements, std::size_t count, Random& random) {
  for (std::size_t i = 0; i < count; ++i) elements.set(i, oracle::draw<T>(random));
}

template <class T>
void expect_combined(Elements<T>& out, Elements<T>& a, Elements<T>& b, std::size_t count,
                     Reduction reduction) {
  for (std::size_t i = 0; i < count; ++i) {
    const T wanted = oracle::rounded<T>(
        oracle::combined(reduction, oracle::value_of(a.get(i)), oracle::value_of(b.get(i))));
    ASSERT_TRUE(oracle::same(out.get(i), wanted))
        << reduction_name(reduction) << " at " << i << " of " << count << ": " << +oracle::value_of(a.get(i))
        << ", " << +oracle::value_of(b.get(i)) << " gave " << +oracle::value_of(out.get(i)) << ", not "
        << +oracle::value_of(wanted);
  }
  ASSERT_TRUE(out.fenced());
}

template <class T>
void check_two(DataType type, Reduction reduction, Random& random) {
  const CombineFn combine = combine_function(type, reduction);
  for (const std::size_t count : kCounts) {
    Elements<T> a(count, random.below(64)), b(count, random.below(64)), out(count, random.below(64));
    fill(a, count, random);
    fill(b, count, random);
    Elements<T> a_in_place = a, b_in_place = b;
    combine(out.data(), a.data(), b.data(), count);
    combine(a_in_place.data(), a_in_place.data(), b.data(), count);
    combine(b_in_place.data(), a.data(), b_in_place.data(), count);
    expect_combined(out, a, b, count, reduction);
    expect_combined(a_in_place, a, b, count, reduction);
    expect_combined(b_in_place, a, b, count, reduction);
  }
}

template <class T>
void check_many(DataType type, Reduction reduction, Stores stores, Random& random) {
  const CombineManyFn combine = combine_many_function(type, reduction, stores);
  for (const std::size_t count : kCounts) {
    for (const std::size_t sources : {1, 2, 3, 4, 7}) {
      std::vector<Elements<T>> in;
      for (std::size_t s = 0; s < sources; ++s) fill(in.emplace_back(count, random.below(64)), count, random);
      std::vector<const std::byte*> pointers;
      for (Elements<T>& elements : in) pointers.push_back(elements.data());
      Elements<T> out(count, random.chance(0.5) ? 0 : random.below(64));
      combine(out.data(), pointers.data(), sources, count);
      Elements<T> in_place = in.back();
      pointers.back() = in_place.data();
      combine_many_function(type, reduction)(in_place.data(), pointers.data(), sources, count);
      for (std::size_t i = 0; i < count; ++i) {
        auto sum = oracle::value_of(in[0].get(i));
        const bool logical = reduction == Reduction::kAnd || reduction == Reduction::kOr;
        if (logical) sum = oracle::combined(reduction, sum, sum);
        for (std::size_t s = 1; s < sources; ++s) {
          sum = oracle::combined(reduction, sum, oracle::value_of(in[s].get(i)));
        }
        ASSERT_TRUE(oracle::same(out.get(i), oracle::rounded<T>(sum))) << sources << " sources, " << count;
        ASSERT_TRUE(oracle::same(in_place.get(i), oracle::rounded<T>(sum))) << sources << " sources in place";
      }
      ASSERT_TRUE(out.fenced() && in_place.fenced());
    }
  }
}

class CombineKernels : public testing::TestWithParam<DataType> {
 protected:
  template <class Check>
  void with_type(const Check& check) {
    switch (GetParam()) {
      case DataType::kF32:
        return check(float{});
      case DataType::kF64:
        return check(double{});
      case DataType::kF16:
        return check(oracle::Half{});
      case DataType::kBf16:
        return check(oracle::Brain{});
      case DataType::kI32:
        return check(std::int32_t{});
      case DataType::kI64:
        return check(std::int64_t{});
      case DataType::kU64:
        return check(std::uint64_t{});
    }
  }
  // On every instruction set that this machine has kernels for.
  template <class Check>
  void on_all_targets(const Check& check) {
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().DeInit();
      check();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_P(CombineKernels, EqualsTheOracleInPlaceOrElsewhere) {
  on_all_targets([&] {
    Random random(1);
    with_type([&]<class T>(T) {
      for (const Reduction reduction : kWithKernels) check_two<T>(GetParam(), reduction, random);
    });
  });
}

TEST_P(CombineKernels, ManySourcesAreCombinedInOrder) {
  on_all_targets([&] {
    Random random(2);
    with_type([&]<class T>(T) {
      for (const Reduction reduction : kWithKernels) {
        check_many<T>(GetParam(), reduction, Stores::kCached, random);
        check_many<T>(GetParam(), reduction, Stores::kPastCaches, random);
      }
    });
  });
}

TEST_P(CombineKernels, DividesRoundingOnce) {
  on_all_targets([&] {
    Random random(3);
    with_type([&]<class T>(T) {
      __extension__ using Wide = __int128;
      using V = decltype(oracle::value_of(T{}));
      for (const std::size_t count : kCounts) {
        for (const std::uint64_t divisor :
             {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{16}, ~std::uint64_t{0}}) {
          Elements<T> data(count, random.below(64));
          fill(data, count, random);
          Elements<T> before = data;
          divide(GetParam(), data.data(), count, divisor);
          for (std::size_t i = 0; i < count; ++i) {
            V wanted = oracle::value_of(before.get(i));
            if constexpr (std::is_integral_v<V>) {
              wanted = static_cast<V>(static_cast<Wide>(wanted) / static_cast<Wide>(divisor));
            } else {
              wanted = wanted / static_cast<V>(divisor);
            }
            ASSERT_TRUE(oracle::same(data.get(i), oracle::rounded<T>(wanted)))
                << divisor << " into " << +wanted;
          }
          ASSERT_TRUE(data.fenced());
        }
      }
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Types, CombineKernels,
                         testing::Values(DataType::kF32, DataType::kF64, DataType::kF16, DataType::kBf16,
                                         DataType::kI32, DataType::kI64, DataType::kU64),
                         [](const auto& type) { return data_type_name(type.param); });

TEST(CombineKernels, EveryHalfIsReadAndWrittenExactly) {
  const auto check = [](auto small, DataType type) {
    using T = decltype(small);
    constexpr std::size_t kAll = 65536;
    Elements<T> all(kAll, 0), ones(kAll, 0), out(kAll, 0);
    for (std::size_t i = 0; i < kAll; ++i) {
      all.set(i, T{static_cast<std::uint16_t>(i)});
      ones.set(i, T::nearest(1.0f));
    }
    combine_function(type, Reduction::kProduct)(out.data(), all.data(), ones.data(), kAll);
    for (std::size_t i = 0; i < kAll; ++i) ASSERT_TRUE(oracle::same(out.get(i), all.get(i))) << i;
  };
  check(oracle::Half{}, DataType::kF16);
  check(oracle::Brain{}, DataType::kBf16);
}

TEST(CombineKernels, AReproducibleSumHasNoKernelOfItsOwn) {
  EXPECT_EQ(combine_function(DataType::kF32, Reduction::kReproducibleSum), nullptr);
  EXPECT_EQ(combine_many_function(DataType::kF64, Reduction::kReproducibleSum), nullptr);
}

TEST(Arithmetic, FinishesMeansAndSingleTruths) {
  std::vector<float> values{6, 0, -3};
  auto* const data = std::as_writable_bytes(std::span(values)).data();
  Arithmetic::of(DataType::kF32, Reduction::kSum).finish(data, 3, 3);
  EXPECT_EQ(values, (std::vector<float>{6, 0, -3}));
  Arithmetic::of(DataType::kF32, Reduction::kMean).finish(data, 3, 3);
  EXPECT_EQ(values, (std::vector<float>{2, 0, -1}));
  Arithmetic::of(DataType::kF32, Reduction::kAnd).finish(data, 3, 1);
  EXPECT_EQ(values, (std::vector<float>{1, 0, 1}));
}

TEST(Arithmetic, AppliesAMonoidOutOfPlace) {
  struct Pair {
    std::uint32_t x, y;
  };
  const auto add = [](void* into, const void* from, std::size_t count, void* calls) {
    ++*static_cast<int*>(calls);
    auto* to = static_cast<Pair*>(into);
    const auto* by = static_cast<const Pair*>(from);
    for (std::size_t i = 0; i < count; ++i) to[i].x += by[i].x, to[i].y = std::max(to[i].y, by[i].y);
  };
  int calls = 0;
  const Arithmetic arithmetic = Arithmetic::of(Monoid{"pairs", sizeof(Pair), add, &calls});
  constexpr std::size_t kCount = 10000;  // More than are copied at once.
  std::vector<Pair> a(kCount), b(kCount), out(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) a[i] = {i, i % 7}, b[i] = {2 * i, i % 5};
  const auto bytes = [](std::vector<Pair>& pairs) { return std::as_writable_bytes(std::span(pairs)).data(); };
  arithmetic.apply(bytes(out), bytes(a), bytes(b), kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(out[i].x, 3 * i);
    ASSERT_EQ(out[i].y, std::max(i % 7, i % 5));
  }
  EXPECT_GT(calls, 1);
  arithmetic.apply(bytes(b), bytes(a), bytes(b), kCount);
  EXPECT_EQ(std::memcmp(b.data(), out.data(), kCount * sizeof(Pair)), 0);
}

TEST(Names, OfTypesAndReductions) {
  EXPECT_STREQ(data_type_name(DataType::kBf16), "bf16");
  EXPECT_STREQ(reduction_name(Reduction::kReproducibleSum), "reproducible-sum");
}

}  // namespace
}  // namespace thalweg
