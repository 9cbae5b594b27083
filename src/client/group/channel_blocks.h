// The channels of a rank's links, in blocks of which each group that shares them has one.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/check.h"
#include "base/limits.h"
#include "client/group/group_view.h"

namespace thalweg {

// Block 0 is the group's from which the others are split off. Two groups with a pair of ranks in common never
// have the same block at a time: a block is chosen among those that all members of the new group have free.
class ChannelBlocks {
 public:
  static constexpr std::uint32_t kBlocks = limits::kChannelsMax / GroupChannels::kAll;

  // Bit b: block b is free.
  std::uint64_t free() const {
    const std::lock_guard lock(mutex_);
    return free_;
  }
  // False where another thread was faster.
  bool take(std::uint32_t block) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t bit = std::uint64_t{1} << block;
    if (!(free_ & bit)) return false;
    free_ ^= bit;
    return true;
  }
  void give_back(std::uint32_t block) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t bit = std::uint64_t{1} << block;
    THALWEG_CHECK(!(free_ & bit), "a block is given back once");
    if (block > 0) free_ |= bit;
  }

 private:
  static_assert(kBlocks <= 63);
  mutable std::mutex mutex_;
  std::uint64_t free_ = (std::uint64_t{1} << kBlocks) - 2;
};

}  // namespace thalweg
