// The memory of one rank in one operation: its caller's buffers, and scratch where those do not do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "exchange/call.h"
#include "exchange/lane.h"
#include "exchange/shared_place.h"

namespace thalweg {

class Buffers {
 public:
  Buffers(const Call& call, const Plan& plan, std::uint32_t rank, std::uint32_t ranks);

  // Of an element in bytes, and where a block is. Scratch comes to be when first addressed.
  std::size_t bytes_of(Buffer buffer, std::uint64_t elements) const {
    return elements * (buffer == Buffer::kPlaces ? sizeof(SharedPlace) : element_bytes_);
  }
  std::byte* address(Buffer buffer, Block block);
  // Brings a result that came to be in scratch to the caller.
  void deliver();

  // By rank, and behind those as many again for a last word; empty unless the route is kShared.
  const std::vector<SharedPlace>& places() const { return places_; }
  // Says where the rank's own buffers are in shared memory.
  void set_place(std::uint32_t rank, Fabric& fabric, std::uint16_t channel);
  void forget_places() { std::fill(places_.begin(), places_.end(), SharedPlace{}); }
  Block part(std::uint32_t rank) const;

 private:
  Block work_block() const;

  const Call& call_;
  std::size_t element_bytes_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  const std::byte* in_;
  std::byte* out_;
  std::size_t in_begin_ = 0;  // Bytes of the vector before the caller's buffers.
  std::size_t out_begin_ = 0;
  bool work_is_out_ = false;  // Else the result comes to be in `work_`.
  std::unique_ptr<std::byte[]> work_;
  std::unique_ptr<std::byte[]> spare_;
  std::vector<SharedPlace> places_;
};

}  // namespace thalweg
