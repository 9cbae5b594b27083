// Memory of large arrays that are read here and there: in huge pages, where the system has them, so that
// looks miss no translation of addresses.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/check.h"

namespace thalweg {

template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <class Other>
  HugePageAllocator(const HugePageAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    const std::size_t bytes = count * sizeof(T);
    const bool large = bytes >= kHugePage;
    void* memory = nullptr;
    const std::size_t alignment = large ? kHugePage : std::max(alignof(T), sizeof(void*));
    THALWEG_CHECK(posix_memalign(&memory, alignment, bytes) == 0, "out of memory for an array");
    if (large) static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  bool operator==(const HugePageAllocator&) const = default;
};

}  // namespace thalweg
