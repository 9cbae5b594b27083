#include "net/buffer_pool.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace thalweg {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

BufferPool::~BufferPool() {
  for (auto& buffers : idle_) {
    for (std::byte* buffer : buffers) std::free(buffer);
  }
}

std::shared_ptr<std::byte> BufferPool::take(std::size_t bytes) {
  if (bytes < kPooledFrom) {
    const auto words = std::make_shared_for_overwrite<std::uint64_t[]>((bytes + 7) / 8);
    return {words, static_cast<std::byte*>(static_cast<void*>(words.get()))};
  }
  const std::size_t size_class = std::bit_width(bytes - 1U);
  std::byte* buffer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (auto& idle = idle_[size_class]; !idle.empty()) {
      buffer = idle.back();
      idle.pop_back();
      idle_bytes_ -= std::size_t{1} << size_class;
    }
  }
  if (buffer == nullptr) {
    buffer = static_cast<std::byte*>(std::aligned_alloc(kAlignment, std::size_t{1} << size_class));
    if (buffer == nullptr) throw std::bad_alloc();
  }
  return {buffer, [pool = shared_from_this(), size_class](std::byte* done) { pool->give(done, size_class); }};
}

std::size_t BufferPool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

void BufferPool::give(std::byte* buffer, std::size_t size_class) {
  const std::size_t bytes = std::size_t{1} << size_class;
  {
    const std::lock_guard lock(mutex_);
    if (idle_bytes_ + bytes <= idle_bytes_max_) {
      idle_[size_class].push_back(buffer);
      idle_bytes_ += bytes;
      return;
    }
  }
  std::free(buffer);
}

}  // namespace thalweg
