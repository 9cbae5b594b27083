// An array of plain values in memory of its own, aligned to a cache line and not initialised.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "base/check.h"

namespace thalweg {

template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  static constexpr std::size_t kAlign = 64;

  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    data_.reset(static_cast<T*>(std::aligned_alloc(kAlign, bytes())));
    THALWEG_CHECK(data_ != nullptr, "out of memory for a table");
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  // What was asked of the allocator: whole cache lines.
  std::size_t bytes() const { return (size_ * sizeof(T) + kAlign - 1) / kAlign * kAlign; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace thalweg
