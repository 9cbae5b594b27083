// What a rank does for an operation among ranks of one machine whose buffers its peers cannot see: it puts
// what they need into a staging area that they do see, a part that the cache holds at a time; or fetches it
// out of their memory.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/buffers.h"
#include "exchange/lane.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

class OrdinaryMemory {
 public:
  // All ranks have said where they can be reached. `sequence` of the operation, the same at all of them.
  OrdinaryMemory(const Call& call, Buffers& buffers, std::uint32_t rank, std::uint32_t ranks, Fabric& fabric,
                 std::uint16_t channel, std::uint64_t sequence)
      : call_(call),
        buffers_(buffers),
        rank_(rank),
        ranks_(ranks),
        fabric_(fabric),
        sequence_(sequence),
        staging_(fabric.staging(channel)) {}

  // Elements of each of the ranks' parts that a staging area holds; 0 when they are too large.
  static std::uint64_t staged_elements(const Call& call, std::uint32_t ranks) {
    return window_bytes(call, ranks) / call.arithmetic.element_bytes;
  }

  // Takes a step of Kind kOffer, kSum, kTake, kFetch or kAdd. kRefused: a peer says that its staging area is
  // where none can be. kPeerLost: `unreachable` has a peer whose memory could not be fetched. A step that
  // failed must not be taken again, since it may have changed the result.
  Status take(const LaneStep& step, std::uint32_t& unreachable);

 private:
  // Slots lie where they lie in every operation: what one of them stages early must not touch the slot of
  // sums that a peer may still read of the one before it.
  static constexpr std::size_t slot_bytes(std::uint32_t ranks) {
    return Fabric::kStagingBytes / ranks / 64 * 64;
  }
  // Of a slot that a window fills. More than two ranks of a vector that takes several windows keep two of
  // them in their caches, with those of the other ranks on the same core.
  static std::size_t window_bytes(const Call& call, std::uint32_t ranks) {
    constexpr std::size_t kOfSeveral = std::size_t{160} << 10;
    const bool one_window = call.count <= Fabric::kStagingBytes / call.arithmetic.element_bytes;
    return ranks <= 2 || one_window ? slot_bytes(ranks) : kOfSeveral / ranks / 64 * 64;
  }
  std::size_t slot_at(std::uint32_t part) const {
    return turn_ * Fabric::kStagingBytes + part * slot_bytes(ranks_);
  }
  std::byte* own_slot(std::uint32_t part) const { return staging_ + slot_at(part); }
  const std::byte* slot_of(std::uint32_t owner, std::uint32_t part);
  Block of_part(std::uint32_t part, Block window) const;
  std::size_t bytes_of(Block block) const { return block.count * call_.arithmetic.element_bytes; }
  bool take_from(std::uint32_t owner) const;
  std::uint64_t address_of(std::uint32_t owner, Block block) const;
  bool fetch(std::uint32_t owner, std::uint64_t address, std::byte* into, std::size_t size);
  void combine(std::byte* to, const std::vector<const std::byte*>& sources, std::size_t count);

  Status offer(Block window);
  Status sum_staged(Block window);
  Status sum_fetched(Block window);
  Status take_parts(Block window, bool fetches);
  Status fetch_all();
  Status add_fetched();

  const Call& call_;
  Buffers& buffers_;
  const std::uint32_t rank_;
  const std::uint32_t ranks_;
  Fabric& fabric_;
  const std::uint64_t sequence_;
  std::byte* const staging_;
  std::size_t turn_ = 0;  // Of the staging areas, where the step's window is.
  std::uint32_t unreachable_ = 0;
};

}  // namespace thalweg
