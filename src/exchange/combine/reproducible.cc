#include "exchange/combine/reproducible.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "base/planted.h"

namespace thalweg::reproducible {
namespace {

// Exponents are kept biased, as they lie in the float. |x| < 2^(exponent - kHalf).
template <class T>
struct Format;
template <>
struct Format<float> {
  using Exponent = std::uint8_t;
  using Bits = std::uint32_t;
  static constexpr int kFractionBits = 23, kHalf = 126, kSpecial = 255;
  static constexpr int kKeptBits = 47;
  // The last kept bit is not below the least subnormal, so that subnormal sums are exact.
  static constexpr int kLeast = kHalf - 149 + kKeptBits;
};
template <>
struct Format<double> {
  using Exponent = std::uint16_t;
  using Bits = std::uint64_t;
  static constexpr int kFractionBits = 52, kHalf = 1022, kSpecial = 2047;
  static constexpr int kKeptBits = 94;
  static constexpr int kLeast = kHalf - 1074 + kKeptBits;
};
constexpr int kIntegerBits = 47;  // Of one contribution in one integer, without its sign.

// Elements whose special values are looked for at once.
constexpr std::size_t kRun = 256;

// How many contributions were infinite or NaN: an integer of an element that has any.
constexpr int kCountBits = 20;
constexpr std::int64_t kInfinite = 1, kNegative = std::int64_t{1} << kCountBits,
                       kNan = std::int64_t{1} << (2 * kCountBits);
static_assert(kContributionsMax < (std::uint64_t{1} << kCountBits));

template <class V>
V load(const std::byte* at, std::size_t index) {
  V value;
  std::memcpy(&value, at + index * sizeof value, sizeof value);
  return value;
}
template <class V>
void store(V value, std::byte* at, std::size_t index) {
  std::memcpy(at + index * sizeof value, &value, sizeof value);
}

// Precondition: a normal double.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// The nearest integer, ties to even, of |x| <= 2^50: as the last bits of a sum whose unit is 1.
std::int64_t nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  return std::bit_cast<std::int64_t>(x + kShift) - std::bit_cast<std::int64_t>(kShift);
}

template <class T>
void keep_greatest(std::byte* into, const std::byte* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) store(std::max(load<T>(into, i), load<T>(from, i)), into, i);
}

template <class T>
void combine_exponents(void* into, const void* from, std::size_t count, void*) {
  keep_greatest<typename Format<T>::Exponent>(static_cast<std::byte*>(into),
                                              static_cast<const std::byte*>(from), count);
}

template <class T>
void add_exponents(const std::byte* values, std::size_t count, std::byte* exponents) {
  using F = Format<T>;
  using Exponent = typename F::Exponent;
  for (std::size_t i = 0; i < count; ++i) {
    const auto exponent =
        static_cast<Exponent>((load<typename F::Bits>(values, i) >> F::kFractionBits) & F::kSpecial);
    store(std::max(load<Exponent>(exponents, i), exponent), exponents, i);
  }
}

template <class T>
void add_integers(const std::byte* values, std::size_t count, const std::byte* exponents,
                  std::int64_t* integers) {
  using F = Format<T>;
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = std::max<int>(load<typename F::Exponent>(exponents, i), F::kLeast);
    const int scale = kIntegerBits + F::kHalf - exponent;
    const auto x = static_cast<double>(load<T>(values, i));
    if constexpr (std::is_same_v<T, float>) {
      const double part = x * power_of_two(scale);
      if (THALWEG_BUG(kSumOrderMatters)) {
        integers[i] = nearest(static_cast<float>(integers[i]) + static_cast<float>(part));
        continue;
      }
      integers[i] += nearest(part);
    } else {
      // In two steps, for 2^scale may be infinite. What underflows would round to zero below.
      const double scaled = x * power_of_two(scale / 2) * power_of_two(scale - scale / 2);
      const std::int64_t high = nearest(scaled);
      integers[2 * i] += high;
      integers[2 * i + 1] += nearest((scaled - static_cast<double>(high)) * power_of_two(kIntegerBits));
    }
  }
}

template <class T>
bool any_special(const std::byte* exponents, std::size_t count) {
  using Exponent = typename Format<T>::Exponent;
  Exponent greatest = 0;
  for (std::size_t i = 0; i < count; ++i) greatest = std::max(greatest, load<Exponent>(exponents, i));
  return greatest == Format<T>::kSpecial;
}

std::int64_t special_count(double x) {
  if (std::isnan(x)) return kNan;
  if (std::isinf(x)) return x < 0 ? kNegative : kInfinite;
  return 0;
}

template <class T>
T special_value(std::int64_t counts) {
  constexpr std::int64_t kMask = (std::int64_t{1} << kCountBits) - 1;
  const bool positive = (counts & kMask) != 0, negative = ((counts >> kCountBits) & kMask) != 0;
  if ((counts >> (2 * kCountBits)) != 0 || positive == negative) return std::numeric_limits<T>::quiet_NaN();
  return negative ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
}

template <class T>
void encode_run(const std::byte* values, std::size_t count, const std::byte* exponents,
                std::int64_t* integers) {
  using Exponent = typename Format<T>::Exponent;
  constexpr std::size_t kIntegers = sizeof(T) / 4;
  if (!any_special<T>(exponents, count)) return add_integers<T>(values, count, exponents, integers);
  for (std::size_t i = 0; i < count; ++i) {
    if (load<Exponent>(exponents, i) == Format<T>::kSpecial) {
      integers[kIntegers * i] += special_count(static_cast<double>(load<T>(values, i)));
    } else {
      add_integers<T>(values + i * sizeof(T), 1, exponents + i * sizeof(Exponent), integers + kIntegers * i);
    }
  }
}

// high 2^47 + low, rounded once.
double rounded(std::int64_t high, std::int64_t low) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (std::max(high, low) <= kExact && std::min(high, low) >= -kExact) {
    return static_cast<double>(high) * power_of_two(kIntegerBits) + static_cast<double>(low);
  }
  __extension__ using Wide = __int128;
  return static_cast<double>(static_cast<Wide>(high) * (Wide{1} << kIntegerBits) + low);
}

// Scaling is exact: a subnormal result is a multiple of the least one already.
template <class T>
T decoded(const std::int64_t* integers, int exponent) {
  using F = Format<T>;
  const int scale = std::max(exponent, F::kLeast) - F::kHalf - F::kKeptBits;
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(static_cast<double>(static_cast<float>(integers[0])) * power_of_two(scale));
  } else {
    return rounded(integers[0], integers[1]) * power_of_two(scale / 2) * power_of_two(scale - scale / 2);
  }
}

template <class T>
void decode_run(const std::byte* exponents, const std::int64_t* integers, std::size_t count, std::byte* out) {
  using Exponent = typename Format<T>::Exponent;
  const bool special = any_special<T>(exponents, count);
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = load<Exponent>(exponents, i);
    const std::int64_t* const of = integers + sizeof(T) / 4 * i;
    const bool is_special = special && exponent == Format<T>::kSpecial;
    store(is_special ? special_value<T>(of[0]) : decoded<T>(of, exponent), out, i);
  }
}

}  // namespace

Monoid exponents_monoid(DataType type) {
  THALWEG_CHECK(supports(type), "a type with a reproducible sum");
  return {"exponent", exponent_bytes(type),
          type == DataType::kF32 ? combine_exponents<float> : combine_exponents<double>, nullptr};
}

void encode_exponents(DataType type, std::span<const std::byte* const> contributions, std::size_t count,
                      std::byte* exponents) {
  std::fill_n(exponents, count * exponent_bytes(type), std::byte{0});  // Null where there are none.
  for (const std::byte* values : contributions) {
    type == DataType::kF32 ? add_exponents<float>(values, count, exponents)
                           : add_exponents<double>(values, count, exponents);
  }
}

void encode_integers(DataType type, std::span<const std::byte* const> contributions, std::size_t count,
                     const std::byte* exponents, std::int64_t* integers) {
  const std::size_t per_element = integers_per_element(type), exponent_size = exponent_bytes(type);
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::size_t some = std::min(kRun, count - begin);
    std::int64_t* const sums = integers + begin * per_element;
    std::fill_n(sums, some * per_element, 0);
    for (const std::byte* values : contributions) {
      const std::byte* const from = values + begin * size_bytes(type);
      const std::byte* const exponent = exponents + begin * exponent_size;
      type == DataType::kF32 ? encode_run<float>(from, some, exponent, sums)
                             : encode_run<double>(from, some, exponent, sums);
    }
  }
}

void decode(DataType type, const std::byte* exponents, const std::int64_t* integers, std::size_t count,
            std::byte* out) {
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::size_t some = std::min(kRun, count - begin);
    const std::byte* const exponent = exponents + begin * exponent_bytes(type);
    const std::int64_t* const sums = integers + begin * integers_per_element(type);
    std::byte* const to = out + begin * size_bytes(type);
    type == DataType::kF32 ? decode_run<float>(exponent, sums, some, to)
                           : decode_run<double>(exponent, sums, some, to);
  }
}

}  // namespace thalweg::reproducible
