// An array of plain values in memory of its own, aligned and not initialised.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/check.h"
#include "table/arena.h"

namespace thalweg {

template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  Buffer() = default;
  // From `arena`, when there is one and the array is worth it.
  Buffer(std::size_t size, Arena* arena) : size_(size) {
    if (size == 0) return;
    if (arena != nullptr && bytes() >= Arena::kBytesMin) {
      data_ = {static_cast<T*>(arena->allocate(bytes())), Free{arena, bytes()}};
      return;
    }
    void* memory = nullptr;
    THALWEG_CHECK(posix_memalign(&memory, Arena::kAlign, bytes()) == 0, "out of memory for a table");
    data_.reset(static_cast<T*>(memory));
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  // What was asked of the allocator: whole cache lines.
  std::size_t bytes() const {
    return (size_ * sizeof(T) + Arena::kAlign - 1) / Arena::kAlign * Arena::kAlign;
  }

 private:
  struct Free {
    Arena* arena = nullptr;
    std::size_t bytes = 0;
    void operator()(T* data) const { arena != nullptr ? arena->release(data, bytes) : std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

// Copies the few floats of a row, the usual widths without a call.
inline void copy_floats(const float* from, std::size_t count, float* to) {
  if (count == 1) {
    *to = *from;
  } else if (count == 3) {
    std::memcpy(to, from, 3 * sizeof(float));
  } else if (count % 4 == 0) {
    for (std::size_t i = 0; i < count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

}  // namespace thalweg
