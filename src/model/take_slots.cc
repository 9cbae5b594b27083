#include "model/take_slots.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/take_slots.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once per instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace thalweg::kernels::HWY_NAMESPACE {

std::size_t TakeSlots(std::uint64_t* slots, std::size_t size, PlacedKey* keys, std::uint32_t* slot_of) {
  std::size_t count = 0, i = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  // Without highway's Compress(): g++ copies its table of 2 KB to the stack for each vector.
  static_assert(kTakenAtOnce * sizeof(std::uint64_t) == sizeof(__m512i));
  const __m512i none = _mm512_setzero_si512();
  __m512i numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (; i + kTakenAtOnce <= size; i += kTakenAtOnce) {
    const __m512i held = _mm512_loadu_si512(slots + i);
    const __mmask8 taken = _mm512_cmpneq_epi64_mask(held, none);
    _mm512_storeu_si512(slots + i, none);
    const __m512i kept = _mm512_maskz_compress_epi64(taken, held);
    _mm512_storeu_si512(keys + count, _mm512_xor_si512(kept, _mm512_set1_epi64(-1)));
    const __m256i kept_numbers = _mm512_cvtepi64_epi32(_mm512_maskz_compress_epi64(taken, numbers));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(slot_of + count), kept_numbers);
    count += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(taken)));
    numbers = _mm512_add_epi64(numbers, _mm512_set1_epi64(kTakenAtOnce));
  }
#endif
  for (; i < size; ++i) {
    const std::uint64_t held = slots[i];
    slots[i] = 0;
    keys[count] = ~held;
    slot_of[count] = static_cast<std::uint32_t>(i);
    count += held != 0;
  }
  return count;
}

}  // namespace thalweg::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thalweg {
namespace kernels {
HWY_EXPORT(TakeSlots);
std::size_t take(std::uint64_t* slots, std::size_t size, PlacedKey* keys, std::uint32_t* slot_of) {
  return HWY_DYNAMIC_DISPATCH(TakeSlots)(slots, size, keys, slot_of);
}
}  // namespace kernels

std::size_t take_slots(std::span<std::uint64_t> slots, PlacedKey* keys, std::uint32_t* slot_of) {
  return kernels::take(slots.data(), slots.size(), keys, slot_of);
}

}  // namespace thalweg
#endif
