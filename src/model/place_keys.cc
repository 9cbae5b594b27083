#include "model/place_keys.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/place_keys.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void PlaceKeys(const Key* keys, std::size_t count, PlacedKey* placed) {
  std::size_t i = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // Others have no product of 64 bits.
  const hn::CappedTag<std::uint64_t, 8> d;
  const auto one = hn::Set(d, 1);
  const auto first = hn::Set(d, 0xff51afd7ed558ccdULL), second = hn::Set(d, 0xc4ceb9fe1a85ec53ULL);
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    auto x = hn::Add(hn::LoadU(d, keys + i), one);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<33>(x)), first);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<33>(x)), second);
    hn::StoreU(hn::Sub(hn::Xor(x, hn::ShiftRight<33>(x)), one), d, placed + i);
  }
#endif
  for (; i < count; ++i) placed[i] = place(keys[i]);
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {
namespace kernels {
HWY_EXPORT(PlaceKeys);
void place(const Key* keys, std::size_t count, PlacedKey* placed) {
  HWY_DYNAMIC_DISPATCH(PlaceKeys)(keys, count, placed);
}
}  // namespace kernels

void place_keys(std::span<const Key> keys, PlacedKey* placed) {
  kernels::place(keys.data(), keys.size(), placed);
}

}  // namespace thalweg
#endif
