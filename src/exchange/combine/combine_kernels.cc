#include <hwy/cache_control.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "exchange/combine/combine.h"

#ifndef HWY_DISABLED_TARGETS  // These loops wait for memory: more targets would cost compile time alone.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exchange/combine/combine_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

#include "exchange/combine/combine_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

template <class E>
constexpr std::size_t kStoredBytes = sizeof(typename E::Stored);

// The vector at `offset` bytes of all sources, combined in order. kSources 0: `sources_count` of them.
template <class E, class Op, std::size_t kSources>
HWY_INLINE typename E::V combined(const std::byte* const* sources, std::size_t sources_count,
                                  std::size_t offset) {
  auto sum = E::load(sources[0] + offset);
  if constexpr (kSources == 0) {
    for (std::size_t s = 1; s < sources_count; ++s) sum = Op::of(sum, E::load(sources[s] + offset));
  } else {
    for (std::size_t s = 1; s < kSources; ++s) sum = Op::of(sum, E::load(sources[s] + offset));
  }
  return sum;
}

// Fewer elements than a vector has: combined in copies of that size.
template <class E, class Op>
HWY_NOINLINE void combine_few(std::byte* out, const std::byte* const* sources, std::size_t sources_count,
                              std::size_t count) {
  HWY_ALIGN std::byte few[2][HWY_MAX_BYTES] = {};
  const std::size_t bytes = count * kStoredBytes<E>;
  std::memcpy(few[0], sources[0], bytes);
  auto sum = E::load(few[0]);
  for (std::size_t s = 1; s < sources_count; ++s) {
    std::memcpy(few[1], sources[s], bytes);
    sum = Op::of(sum, E::load(few[1]));
  }
  E::store(sum, few[0]);
  std::memcpy(out, few[0], bytes);
}

// The last vector overlaps the one before it, so it is computed first, before `out`, which may be a source,
// changes.
template <class E, class Op, std::size_t kSources>
HWY_INLINE void combine_run(std::byte* out, const std::byte* const* sources, std::size_t sources_count,
                            std::size_t count) {
  const std::size_t step = hn::Lanes(typename E::D()) * kStoredBytes<E>, bytes = count * kStoredBytes<E>;
  if (bytes < step) {
    if (bytes > 0) combine_few<E, Op>(out, sources, sources_count, count);
    return;
  }
  const auto at = [=](std::size_t offset)
                      HWY_ATTR { return combined<E, Op, kSources>(sources, sources_count, offset); };
  const std::size_t last = bytes - step;
  const auto tail = at(last);
  std::size_t i = 0;
  for (; i + 4 * step <= bytes; i += 4 * step) {
    const auto v0 = at(i), v1 = at(i + step), v2 = at(i + 2 * step), v3 = at(i + 3 * step);
    E::store(v0, out + i);
    E::store(v1, out + i + step);
    E::store(v2, out + i + 2 * step);
    E::store(v3, out + i + 3 * step);
  }
  for (; i < last; i += step) E::store(at(i), out + i);
  E::store(tail, out + last);
}

// `out` is written by whole aligned vectors but for its ends.
template <class E, class Op>
HWY_INLINE void combine_past_caches(std::byte* out, const std::byte* const* sources,
                                    std::size_t sources_count, std::size_t count) {
  const std::size_t step = hn::Lanes(typename E::D()) * kStoredBytes<E>, bytes = count * kStoredBytes<E>;
  const std::size_t begin = (step - reinterpret_cast<std::uintptr_t>(out) % step) % step;
  if (bytes < 2 * step || begin % kStoredBytes<E> != 0) {
    return combine_run<E, Op, 0>(out, sources, sources_count, count);
  }
  const auto at = [=](std::size_t offset)
                      HWY_ATTR { return combined<E, Op, 0>(sources, sources_count, offset); };
  E::store(at(0), out);
  std::size_t i = begin;
  for (; i + step <= bytes; i += step) E::stream(at(i), out + i);
  E::store(at(bytes - step), out + bytes - step);
  hwy::FlushStream();
}

template <class E, class Op>
struct Kernels {
  // Its bits as they are, but what is true becomes 1.
  static void one(std::byte* out, const std::byte* source, std::size_t count) {
    if constexpr (Op::kNormalizes) {
      two(out, source, source, count);
    } else {
      std::memmove(out, source, count * kStoredBytes<E>);
    }
  }
  static void two(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count) {
    const std::byte* const sources[] = {a, b};
    combine_run<E, Op, 2>(out, sources, 2, count);
  }
  static void many(std::byte* out, const std::byte* const* sources, std::size_t sources_count,
                   std::size_t count) {
    if (sources_count == 1) return one(out, sources[0], count);
    combine_run<E, Op, 0>(out, sources, sources_count, count);
  }
  static void many_past_caches(std::byte* out, const std::byte* const* sources, std::size_t sources_count,
                               std::size_t count) {
    if (sources_count == 1) return one(out, sources[0], count);
    combine_past_caches<E, Op>(out, sources, sources_count, count);
  }
};

using Found = std::pair<CombineFn, std::array<CombineManyFn, 2>>;  // The latter by Stores.

template <class E, class Op>
Found found() {
  using K = Kernels<E, Op>;
  return {&K::two, {&K::many, &K::many_past_caches}};
}

// `U` combines by wrapping and equality, where signs make no difference.
template <class E, class U = E>
Found find_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMean:
      return found<U, Sum>();
    case Reduction::kMin:
      return found<E, Extreme<true>>();
    case Reduction::kMax:
      return found<E, Extreme<false>>();
    case Reduction::kProduct:
      return found<U, Product>();
    case Reduction::kAnd:
      return found<U, Logical<true>>();
    case Reduction::kOr:
      return found<U, Logical<false>>();
    case Reduction::kReproducibleSum:
      break;
  }
  return {};
}

Found Find(DataType type, Reduction reduction) {
  switch (type) {
    case DataType::kF32:
      return find_reduction<Plain<float>>(reduction);
    case DataType::kF64:
      return find_reduction<Plain<double>>(reduction);
    case DataType::kF16:
      return find_reduction<F16>(reduction);
    case DataType::kBf16:
      return find_reduction<Bf16>(reduction);
    case DataType::kI32:
      return find_reduction<Plain<std::int32_t>, Plain<std::uint32_t>>(reduction);
    case DataType::kI64:
      return find_reduction<Plain<std::int64_t>, Plain<std::uint64_t>>(reduction);
    case DataType::kU64:
      return find_reduction<Plain<std::uint64_t>>(reduction);
  }
  return {};
}

template <class E>
void divide_run(std::byte* data, std::size_t count, double divisor) {
  const typename E::D d;
  using T = hn::TFromD<decltype(d)>;
  const auto by = hn::Set(d, static_cast<T>(divisor));
  const std::size_t step = hn::Lanes(d) * kStoredBytes<E>, bytes = count * kStoredBytes<E>;
  std::size_t i = 0;
  for (; i + step <= bytes; i += step) E::store(hn::Div(E::load(data + i), by), data + i);
  if (i == bytes) return;
  HWY_ALIGN std::byte few[HWY_MAX_BYTES] = {};
  std::memcpy(few, data + i, bytes - i);
  E::store(hn::Div(E::load(few), by), few);
  std::memcpy(data + i, few, bytes - i);
}

void DivideFloats(DataType type, std::byte* data, std::size_t count, double divisor) {
  switch (type) {
    case DataType::kF32:
      return divide_run<Plain<float>>(data, count, divisor);
    case DataType::kF64:
      return divide_run<Plain<double>>(data, count, divisor);
    case DataType::kF16:
      return divide_run<F16>(data, count, divisor);
    default:
      return divide_run<Bf16>(data, count, divisor);
  }
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {
namespace kernels {

HWY_EXPORT(Find);
HWY_EXPORT(DivideFloats);

namespace {

// Rounds towards zero; the magnitude of the least integer fits its unsigned type.
template <class T>
void divide_integers(std::byte* data, std::size_t count, std::uint64_t divisor) {
  for (std::size_t i = 0; i < count; ++i, data += sizeof(T)) {
    T value;
    std::memcpy(&value, data, sizeof value);
    const bool negative = value < T{0};
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const std::uint64_t quotient = magnitude / divisor;
    value = static_cast<T>(negative ? 0 - quotient : quotient);
    std::memcpy(data, &value, sizeof value);
  }
}

}  // namespace
}  // namespace kernels

CombineFn combine_function(DataType type, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(kernels::Find)(type, reduction).first;
}

CombineManyFn combine_many_function(DataType type, Reduction reduction, Stores stores) {
  return HWY_DYNAMIC_DISPATCH(kernels::Find)(type, reduction).second[static_cast<std::size_t>(stores)];
}

void divide(DataType type, std::byte* data, std::size_t count, std::uint64_t divisor) {
  THALWEG_CHECK(divisor > 0, "a mean of something");
  if (divisor == 1) return;
  switch (type) {
    case DataType::kI32:
      return kernels::divide_integers<std::int32_t>(data, count, divisor);
    case DataType::kI64:
      return kernels::divide_integers<std::int64_t>(data, count, divisor);
    case DataType::kU64:
      return kernels::divide_integers<std::uint64_t>(data, count, divisor);
    default:
      HWY_DYNAMIC_DISPATCH(kernels::DivideFloats)(type, data, count, static_cast<double>(divisor));
  }
}

}  // namespace thalweg
#endif
