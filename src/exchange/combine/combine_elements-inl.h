// The elements that the combining kernels work on, a vector at a time, and the ways in which two combine.
// Included once per instruction set. Every instruction set gives the same bits, but for which NaN a sum or
// product is.
#if defined(THALWEG_EXCHANGE_COMBINE_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THALWEG_EXCHANGE_COMBINE_ELEMENTS_INL_H_
#undef THALWEG_EXCHANGE_COMBINE_ELEMENTS_INL_H_
#else
#define THALWEG_EXCHANGE_COMBINE_ELEMENTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements stored as they are computed with.
template <class T>
struct Plain {
  using Stored = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static HWY_INLINE V load(const std::byte* at) { return hn::LoadU(D(), reinterpret_cast<const T*>(at)); }
  static HWY_INLINE void store(V v, std::byte* at) { hn::StoreU(v, D(), reinterpret_cast<T*>(at)); }
  static HWY_INLINE void stream(V v, std::byte* at) { hn::Stream(v, D(), reinterpret_cast<T*>(at)); }
};

// Elements of 16 bits, computed with as f32.
template <class Self>
struct Half {
  using Stored = std::uint16_t;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  using D16 = hn::Rebind<std::uint16_t, D>;
  using D32 = hn::RebindToUnsigned<D>;
  static HWY_INLINE V load(const std::byte* at) {
    return Self::widen(hn::LoadU(D16(), reinterpret_cast<const std::uint16_t*>(at)));
  }
  static HWY_INLINE void store(V v, std::byte* at) {
    hn::StoreU(Self::narrow(v), D16(), reinterpret_cast<std::uint16_t*>(at));
  }
  static HWY_INLINE void stream(V v, std::byte* at) {
    hn::Stream(Self::narrow(v), D16(), reinterpret_cast<std::uint16_t*>(at));
  }
  template <class V32>
  static HWY_INLINE hn::Vec<D16> low_halves(V32 v) {
    return hn::TruncateTo(D16(), v);
  }
};

struct Bf16 : Half<Bf16> {
  static HWY_INLINE V widen(hn::Vec<D16> v) {
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(D32(), v)));
  }
  static HWY_INLINE hn::Vec<D16> narrow(V v) {
    const D32 d;
    const auto bits = hn::BitCast(d, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40));
    return low_halves(hn::IfThenElse(hn::RebindMask(d, hn::Ne(v, v)), quiet, rounded));
  }
};

// By the instructions for it, or in integers with the same bits.
struct F16 : Half<F16> {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  static HWY_INLINE V widen(hn::Vec<D16> v) {
    return hn::PromoteTo(D(), hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
  }
  static HWY_INLINE hn::Vec<D16> narrow(V v) {
    return hn::BitCast(D16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
#else
  static HWY_INLINE V widen(hn::Vec<D16> half) {
    const D d;
    const D32 d32;
    const auto h = hn::PromoteTo(d32, half);
    const auto magnitude = hn::And(h, hn::Set(d32, 0x7fff));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(d32, (127 - 15) << 23));
    const auto special = hn::Or(shifted, hn::Set(d32, 0x7f800000));
    // 2^-14 with the fraction added as bits, less 2^-14.
    const auto tiny = hn::Sub(hn::BitCast(d, hn::Add(shifted, hn::Set(d32, 113u << 23))),
                              hn::BitCast(d, hn::Set(d32, 113u << 23)));
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d32, 0x400)), hn::BitCast(d32, tiny), normal);
    bits = hn::IfThenElse(hn::Ge(magnitude, hn::Set(d32, 0x7c00)), special, bits);
    bits =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(d32, 0x7c00)), hn::Or(bits, hn::Set(d32, 0x400000)), bits);
    const auto sign = hn::ShiftLeft<16>(hn::And(h, hn::Set(d32, 0x8000)));
    return hn::BitCast(d, hn::Or(bits, sign));
  }
  static HWY_INLINE hn::Vec<D16> narrow(V v) {
    const D d;
    const D32 d32;
    const auto bits = hn::BitCast(d32, v);
    const auto magnitude = hn::And(bits, hn::Set(d32, 0x7fffffff));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d32, 1));
    const auto biased = hn::Sub(magnitude, hn::Set(d32, (127 - 15) << 23));
    const auto normal = hn::ShiftRight<13>(hn::Add(biased, hn::Add(odd, hn::Set(d32, 0xfff))));
    // Adding 1/2 leaves the fraction of a subnormal half, rounded, in the low bits.
    const auto half = hn::Set(d, 0.5f);
    const auto tiny =
        hn::Sub(hn::BitCast(d32, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(d32, half));
    const auto nan =
        hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d32, 0x3ff)), hn::Set(d32, 0x7e00));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d32, 113u << 23)), tiny, normal);
    result = hn::IfThenElse(hn::Ge(magnitude, hn::Set(d32, 143u << 23)), hn::Set(d32, 0x7c00), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d32, 0x7f800000)), nan, result);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 0x8000));
    return low_halves(hn::Or(result, sign));
  }
#endif
};

template <class V>
using Element = hn::TFromV<V>;

struct Sum {
  static constexpr bool kNormalizes = false;
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Product {
  static constexpr bool kNormalizes = false;
  template <class V>
  static HWY_INLINE V of(V a, V b) {
#if HWY_TARGET != HWY_SCALAR
    using T = Element<V>;
    const hn::DFromV<V> d;
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      // (2^32 ah + al) (2^32 bh + bl), modulo 2^64.
      const hn::RepartitionToNarrow<decltype(d)> d32;
      const auto low = [&](V x, V y) { return hn::MulEven(hn::BitCast(d32, x), hn::BitCast(d32, y)); };
      const V crossed = hn::Add(low(hn::ShiftRight<32>(a), b), low(a, hn::ShiftRight<32>(b)));
      return hn::Add(low(a, b), hn::ShiftLeft<32>(crossed));
    } else {
      return hn::Mul(a, b);
    }
#else
    return hn::Set(hn::DFromV<V>(), hn::GetLane(a) * hn::GetLane(b));
#endif
  }
};

// Of equal floats only the zeros differ in bits, and only in the sign: it is set in the minimum when in
// either.
template <bool kMinimum>
struct Extreme {
  static constexpr bool kNormalizes = false;
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    const hn::DFromV<V> d;
    using T = Element<V>;
    if constexpr (std::is_integral_v<T>) {
      return kMinimum ? hn::Min(a, b) : hn::Max(a, b);
    } else {
      const V same = kMinimum ? hn::Or(a, b) : hn::And(a, b);
      const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
      const V equal = hn::IfThenElse(hn::Eq(a, b), same, nan);
      const auto less = kMinimum ? hn::Lt(a, b) : hn::Gt(a, b);
      const auto more = kMinimum ? hn::Lt(b, a) : hn::Gt(b, a);
      return hn::IfThenElse(less, a, hn::IfThenElse(more, b, equal));
    }
  }
};

template <bool kBoth>
struct Logical {
  static constexpr bool kNormalizes = true;
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    const hn::DFromV<V> d;
    const auto zero = hn::Zero(d);
    const auto false_a = hn::Eq(a, zero), false_b = hn::Eq(b, zero);
    const auto is_false = kBoth ? hn::Or(false_a, false_b) : hn::And(false_a, false_b);
    return hn::IfThenElse(is_false, zero, hn::Set(d, Element<V>{1}));
  }
};

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
