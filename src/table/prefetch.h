// Rows on their way to the core before they are needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg {

// By address, for the row may not exist.
inline void prefetch_floats(const float* row, std::size_t floats) {
  constexpr std::size_t kLine = 64;
  const auto begin = reinterpret_cast<std::uintptr_t>(row), last = begin + floats * sizeof(float) - 1;
  for (std::uintptr_t at = begin; at < last; at += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
  __builtin_prefetch(reinterpret_cast<const void*>(last), 1);
}

}  // namespace thalweg
