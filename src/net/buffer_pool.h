// Memory for received payloads.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace thalweg {

// Keeps large buffers for reuse, since fresh megabytes cost a page fault for each 4 KiB. Buffers may be let
// go of on any thread, and outlive the pool's other owners.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr std::size_t kPooledFrom = std::size_t{64} << 10;
  static constexpr std::size_t kIdleBytesMax = std::size_t{64} << 20;

  explicit BufferPool(std::size_t idle_bytes_max = kIdleBytesMax) : idle_bytes_max_(idle_bytes_max) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Uninitialized, 64-byte aligned from kPooledFrom on, else 8-byte aligned.
  std::shared_ptr<std::byte> take(std::size_t bytes);
  std::size_t idle_bytes() const;

 private:
  void give(std::byte* buffer, std::size_t size_class);

  const std::size_t idle_bytes_max_;
  mutable std::mutex mutex_;
  std::size_t idle_bytes_ = 0;
  std::array<std::vector<std::byte*>, 64> idle_;  // By the binary logarithm of the size.
};

}  // namespace thalweg
