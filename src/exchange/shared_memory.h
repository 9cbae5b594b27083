// What a rank does with its peers' buffers when all of them are in shared memory.
#pragma once

#include <cstdint>
#include <optional>

#include "exchange/buffers.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

// The memory of those peers whose buffers this rank works on stays there as long as this.
class HeldMemory {
 public:
  HeldMemory(const Call& call, std::uint32_t rank, std::uint32_t ranks, Fabric& fabric, std::uint16_t channel,
             std::uint64_t sequence);
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  // A peer that has given the operation up; then none is held.
  const std::optional<std::uint32_t>& lost() const { return lost_; }

 private:
  void let_go(std::uint32_t end);

  Fabric& fabric_;
  const std::uint32_t rank_;
  const std::uint16_t channel_;
  std::uint32_t begin_ = 0, end_;  // Of the ranks, this one aside.
  std::optional<std::uint32_t> lost_;
};

// This rank's share of the operation: all ranks have said where their buffers are, and HeldMemory
// has them stay there. OK, or which peer's memory cannot be seen here.
Status work_in_shared_memory(const Call& call, Buffers& buffers, std::uint32_t rank, std::uint32_t ranks,
                             Fabric& fabric);

}  // namespace thalweg
