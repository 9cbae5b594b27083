// f32 to and from f16 and bf16, rounded to nearest even.
#pragma once

#include <cstddef>

#include "thalweg/reduction.h"

namespace thalweg {

// Finite values beyond the greatest that the type has become that. `type` is kF16 or kBf16; `out` may be
// unaligned.
void narrow(DataType type, const float* values, std::size_t count, std::byte* out);
// sum[i] += factor * value i.
void widen_add(DataType type, const std::byte* values, std::size_t count, float factor, float* sum);

}  // namespace thalweg
