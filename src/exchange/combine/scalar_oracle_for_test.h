// Element by element arithmetic, written another way than the kernels, for tests to compare with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "thalweg/reduction.h"

namespace thalweg::oracle {

// A 16-bit float: its value from the definition, and the nearest one by search among all of them.
template <int kFractionBits>
struct Small {
  static constexpr int kExponentBits = 15 - kFractionBits;
  static constexpr std::uint32_t kInfinity = ((1u << kExponentBits) - 1) << kFractionBits;
  std::uint16_t bits = 0;

  static double magnitude(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> kFractionBits);
    const int fraction = static_cast<int>(bits & ((1u << kFractionBits) - 1));
    const int bias = (1 << (kExponentBits - 1)) - 1;
    const int whole = exponent > 0 ? fraction + (1 << kFractionBits) : fraction;
    return std::ldexp(whole, std::max(exponent, 1) - bias - kFractionBits);
  }
  float value() const {
    const std::uint32_t absolute = bits & 0x7fffu;
    float result = static_cast<float>(magnitude(absolute));
    if (absolute == kInfinity) result = std::numeric_limits<float>::infinity();
    if (absolute > kInfinity) result = std::numeric_limits<float>::quiet_NaN();
    return bits & 0x8000u ? -result : result;
  }
  // Values past the greatest are taken as if the exponents went on, which is how IEEE 754 rounds to infinity.
  static Small nearest(float value) {
    const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return {static_cast<std::uint16_t>(kInfinity + 1)};
    const double wanted = std::abs(static_cast<double>(value));
    std::uint32_t low = 0, high = kInfinity;  // magnitude(low) <= wanted, and below that of high.
    if (wanted >= magnitude(high)) return {static_cast<std::uint16_t>(sign | kInfinity)};
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (magnitude(middle) <= wanted ? low : high) = middle;
    }
    const double below = wanted - magnitude(low), above = magnitude(high) - wanted;
    const bool up = above < below || (above == below && low % 2 == 1);
    return {static_cast<std::uint16_t>(sign | (up ? high : low))};
  }
};
using Half = Small<10>;
using Brain = Small<7>;

template <class T>
constexpr bool kIsSmall = !std::is_arithmetic_v<T>;

template <class V>
bool is_nan(V value) {
  if constexpr (std::is_floating_point_v<V>) return std::isnan(value);
  return false;
}

template <class T>
auto value_of(T x) {
  if constexpr (kIsSmall<T>) {
    return x.value();
  } else {
    return x;
  }
}
template <class T, class V>
T rounded(V value) {
  if constexpr (kIsSmall<T>) {
    return T::nearest(value);
  } else {
    return value;
  }
}

template <class V>
V combined(Reduction reduction, V a, V b) {
  __extension__ using Wide = unsigned __int128;
  switch (reduction) {
    case Reduction::kProduct:
      if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<Wide>(a) * b);
      return a * b;
    case Reduction::kMin:
    case Reduction::kMax: {
      if (is_nan(a) || is_nan(b)) return std::numeric_limits<V>::quiet_NaN();
      bool first = reduction == Reduction::kMin ? a < b : a > b;
      if constexpr (std::is_floating_point_v<V>) {
        if (a == b) first = std::signbit(a) == (reduction == Reduction::kMin);
      }
      return first ? a : b;
    }
    case Reduction::kAnd:
      return static_cast<V>(a != V{0} && b != V{0});
    case Reduction::kOr:
      return static_cast<V>(a != V{0} || b != V{0});
    default:
      if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<Wide>(a) + b);
      return a + b;
  }
}

// The same bits, or NaN both.
template <class T>
bool same(T a, T b) {
  const auto va = value_of(a), vb = value_of(b);
  if (is_nan(va) || is_nan(vb)) return is_nan(va) && is_nan(vb);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Any bits, often a special value.
template <class T>
T draw(Random& random) {
  const std::uint64_t bits = random.next();
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
  if constexpr (!std::is_integral_v<T>) {
    using L = std::numeric_limits<float>;
    static constexpr float kSpecial[] = {
        0.0f,     -0.0f,    1.0f,  -1.0f,    L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(),
        L::max(), 65504.0f, 6e-8f, 65520.0f, 3.0f};
    if (random.chance(0.3)) value = rounded<T>(kSpecial[random.below(std::size(kSpecial))]);
    if (random.chance(0.4)) value = rounded<T>(static_cast<float>(random.normal()));
  } else if (random.chance(0.3)) {
    value = static_cast<T>(random.below(3) - 1);
  }
  return value;
}

}  // namespace thalweg::oracle
