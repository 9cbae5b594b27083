// Group memory: a heap that the other ranks of the machine see too, so that they can work on a vector where
// it lies. Addresses differ between processes, offsets do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "net/shm/shm_memory.h"
#include "thalweg/status.h"

namespace thalweg {

// From any thread.
class ShmArena {
 public:
  // `capacity` is address space: pages come to be in allocate() and go in free().
  static Result<ShmArena> create(std::size_t capacity);
  // As large as the machine's memory, yet small enough for each of `ranks` processes to map all of them.
  static std::size_t default_capacity(std::uint32_t ranks);

  ShmArena() = default;
  ShmArena(ShmArena&& other) noexcept;
  ShmArena& operator=(ShmArena&& other) noexcept;

  // Zeros, aligned to 64 bytes, and to 2 MiB from that size on. kIo when there is not so much memory.
  Result<std::byte*> allocate(std::size_t size);
  // Precondition: from allocate(), or null. Peers must be done with it.
  void free(std::byte* data);

  // Fabric::kNotShared unless all of [data, data + size) is in the arena.
  std::uint64_t offset_of(const void* data, std::size_t size) const;
  // Null unless all of [offset, offset + size) is.
  std::byte* at(std::uint64_t offset, std::size_t size) const { return memory_.at(offset, size); }
  const ShmMemory& memory() const { return memory_; }

 private:
  using Holes = std::map<std::size_t, std::size_t>;  // Free memory: size by offset; no two adjoin.
  Holes::iterator find_hole(std::size_t size, std::size_t alignment, std::size_t& begin);
  void give_back(std::size_t begin, std::size_t size);

  ShmMemory memory_;
  mutable std::mutex mutex_;
  Holes holes_;
  std::unordered_map<std::size_t, std::size_t> used_;  // Size by offset.
};

}  // namespace thalweg
