#include "net/shm/shm_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"
#include "node/fabric.h"

namespace thalweg {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kAddressSpace = std::size_t{1} << 45;  // A quarter of what 47 bits address.

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

ShmArena::ShmArena(ShmArena&& other) noexcept
    : memory_(std::move(other.memory_)), holes_(std::move(other.holes_)), used_(std::move(other.used_)) {}

ShmArena& ShmArena::operator=(ShmArena&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(holes_, other.holes_);
  std::swap(used_, other.used_);
  return *this;
}

std::size_t ShmArena::default_capacity(std::uint32_t ranks) {
  const auto machine =
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return round_up(std::min(machine, kAddressSpace / ranks), kHugePage);
}

Result<ShmArena> ShmArena::create(std::size_t capacity) {
  capacity = round_up(std::max(capacity, kHugePage), kHugePage);
  auto memory = ShmMemory::create("thalweg-arena", capacity);
  if (!memory) return memory.status();
  ::madvise(memory->data(), capacity, MADV_HUGEPAGE);  // Where the machine lets shared memory have them.
  ShmArena arena;
  arena.memory_ = *std::move(memory);
  arena.holes_.emplace(0, capacity);
  return arena;
}

ShmArena::Holes::iterator ShmArena::find_hole(std::size_t size, std::size_t alignment, std::size_t& begin) {
  return std::find_if(holes_.begin(), holes_.end(), [&](const auto& hole) {
    begin = round_up(hole.first, alignment);
    const std::size_t skipped = begin - hole.first;
    return skipped <= hole.second && size <= hole.second - skipped;
  });
}

Result<std::byte*> ShmArena::allocate(std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (size > memory_.size()) size = memory_.size() + 1;  // Too large for a hole, small enough to round up.
  const std::size_t unit = size > kPage - kLine ? kPage : kLine;
  const std::size_t taken = std::max(round_up(size, unit), kLine);
  std::size_t begin = 0;
  const auto hole = find_hole(taken, size >= kHugePage ? kHugePage : unit, begin);
  if (hole == holes_.end()) {
    return Status(Code::kIo, "no " + std::to_string(size) + " bytes free in " +
                                 std::to_string(memory_.size()) + " bytes of group memory");
  }
  std::byte* const data = memory_.data() + begin;
  if (unit == kPage && ::madvise(data, taken, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    return Status(Code::kIo,
                  "cannot get " + std::to_string(size) + " bytes of group memory: " + std::strerror(errno));
  }
  const auto [hole_begin, hole_size] = *hole;
  holes_.erase(hole);
  if (begin > hole_begin) holes_.emplace(hole_begin, begin - hole_begin);
  const std::size_t end = begin + taken, hole_end = hole_begin + hole_size;
  if (end < hole_end) holes_.emplace(end, hole_end - end);
  used_.emplace(begin, taken);
  return data;
}

void ShmArena::free(std::byte* data) {
  if (!data) return;
  const std::lock_guard lock(mutex_);
  const auto begin = static_cast<std::size_t>(data - memory_.data());
  const auto found = used_.find(begin);
  THALWEG_CHECK(found != used_.end(), "only what was allocated is freed");
  const std::size_t size = found->second;
  used_.erase(found);
  // Small blocks are handed out again as zeros; the pages of large ones go back to the system.
  if (size < kPage) {
    std::memset(data, 0, size);
  } else {
    ::madvise(data, size, MADV_REMOVE);
  }
  give_back(begin, size);
}

void ShmArena::give_back(std::size_t begin, std::size_t size) {
  const auto next = holes_.lower_bound(begin);
  if (next != holes_.end() && next->first == begin + size) {
    size += next->second;
    holes_.erase(next);
  }
  const auto after = holes_.lower_bound(begin);
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += size;
      return;
    }
  }
  holes_.emplace(begin, size);
}

std::uint64_t ShmArena::offset_of(const void* data, std::size_t size) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(data);
  if (at < begin || at - begin > memory_.size() || size > memory_.size() - (at - begin))
    return Fabric::kNotShared;
  return at - begin;
}

}  // namespace thalweg
