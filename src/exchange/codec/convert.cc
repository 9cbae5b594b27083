#include "exchange/codec/convert.h"

#include <cstring>

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exchange/codec/convert.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

#include "exchange/combine/combine_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

// Keeps what is not finite.
template <class E, class V>
HWY_INLINE V saturated(V v, float greatest) {
  const hn::DFromV<V> d;
  const V most = hn::Set(d, greatest);
  const V clamped = hn::CopySign(most, v);
  const V magnitude = hn::Abs(v);
  const auto beyond = hn::And(hn::Gt(magnitude, most), hn::Le(magnitude, hn::Set(d, 0x1.fffffep127f)));
  return hn::IfThenElse(beyond, clamped, v);
}

template <class E>
HWY_INLINE void narrow_run(const float* values, std::size_t count, float greatest, std::byte* out) {
  const typename E::D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    E::store(saturated<E>(hn::LoadU(d, values + i), greatest), out + 2 * i);
  }
  if (i == count) return;
  HWY_ALIGN float few[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN std::byte few_out[HWY_MAX_BYTES];
  std::memcpy(few, values + i, (count - i) * sizeof(float));
  E::store(saturated<E>(hn::LoadU(d, few), greatest), few_out);
  std::memcpy(out + 2 * i, few_out, 2 * (count - i));
}

template <class E>
HWY_INLINE void widen_run(const std::byte* values, std::size_t count, float factor, float* sum) {
  const typename E::D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), hn::Mul(E::load(values + 2 * i), by)), d, sum + i);
  }
  if (i == count) return;
  HWY_ALIGN std::byte few[HWY_MAX_BYTES] = {};
  HWY_ALIGN float widened[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(few, values + 2 * i, 2 * (count - i));
  hn::StoreU(hn::Mul(E::load(few), by), d, widened);
  for (std::size_t k = 0; i < count; ++i, ++k) sum[i] += widened[k];
}

void Narrow(DataType type, const float* values, std::size_t count, std::byte* out) {
  type == DataType::kF16 ? narrow_run<F16>(values, count, 65504.0f, out)
                         : narrow_run<Bf16>(values, count, 0x1.fep127f, out);
}
void WidenAdd(DataType type, const std::byte* values, std::size_t count, float factor, float* sum) {
  type == DataType::kF16 ? widen_run<F16>(values, count, factor, sum)
                         : widen_run<Bf16>(values, count, factor, sum);
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {
namespace kernels {
HWY_EXPORT(Narrow);
HWY_EXPORT(WidenAdd);
}  // namespace kernels

void narrow(DataType type, const float* values, std::size_t count, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(kernels::Narrow)(type, values, count, out);
}
void widen_add(DataType type, const std::byte* values, std::size_t count, float factor, float* sum) {
  HWY_DYNAMIC_DISPATCH(kernels::WidenAdd)(type, values, count, factor, sum);
}

}  // namespace thalweg
#endif
