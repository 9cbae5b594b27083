#include "exchange/buffers.h"

#include <cstring>

#include "exchange/route/route.h"

namespace thalweg {

// A buffer is addressed by elements of the whole vector, so one that holds a part begins before its storage.
Buffers::Buffers(const Call& call, const Plan& plan, std::uint32_t rank, std::uint32_t ranks)
    : call_(call),
      element_bytes_(call.arithmetic.element_bytes),
      rank_(rank),
      ranks_(ranks),
      in_(call.in),
      out_(call.out) {
  const auto part_begin = [this, rank] { return part(rank).begin * element_bytes_; };
  bool out_is_part = false;
  switch (call.operation) {
    case Operation::kAllGather:
    case Operation::kGather:
      in_begin_ = part_begin();
      break;
    case Operation::kReduceScatter:
    case Operation::kScatter:
      out_is_part = true;
      out_begin_ = part_begin();
      break;
    case Operation::kBroadcast:
      if (rank == call.root && !out_ && !plan.route->root_receives)
        out_ = const_cast<std::byte*>(in_);  // Sent from, never written.
      break;
    default:
      break;
  }
  const bool overwrites_in = call.operation == Operation::kAllToAll && in_ == out_;
  work_is_out_ = out_ != nullptr && !overwrites_in &&
                 (!out_is_part || plan.route->touches_own_part_only.has(call.operation));
  if (plan.route->in_memory) places_.resize(std::size_t{2} * ranks);
}

Block Buffers::part(std::uint32_t rank) const {
  if (call_.parts.empty()) return part_of({0, call_.count}, ranks_, rank);
  return {call_.parts[rank], call_.parts[rank + 1] - call_.parts[rank]};
}

Block Buffers::work_block() const {
  if (call_.operation == Operation::kNeighbours) return {0, call_.count * call_.neighbours.size()};
  return {0, call_.parts_out.empty() ? call_.count : call_.parts_out.back()};
}

std::byte* Buffers::address(Buffer buffer, Block block) {
  const std::size_t at = block.begin * element_bytes_;
  switch (buffer) {
    case Buffer::kIn:
      return const_cast<std::byte*>(in_) + (at - in_begin_);
    case Buffer::kWork:
      if (work_is_out_) return out_ + (at - out_begin_);
      if (!work_) work_.reset(new std::byte[work_block().count * element_bytes_]);
      return work_.get() + at;
    case Buffer::kSpare:
      if (!spare_) spare_.reset(new std::byte[call_.count * element_bytes_]);
      return spare_.get() + at;
    case Buffer::kPlaces:
      break;
  }
  return static_cast<std::byte*>(static_cast<void*>(&places_[block.begin]));
}

void Buffers::deliver() {
  if (work_is_out_ || !out_) return;
  const Block block = call_.operation == Operation::kAllToAll ? work_block() : part(rank_);
  if (block.count > 0) std::memcpy(out_, address(Buffer::kWork, block), block.count * element_bytes_);
}

void Buffers::set_place(std::uint32_t rank, Fabric& fabric, std::uint16_t channel) {
  const std::uint64_t own = part(rank).count, all = call_.count;
  const bool in_is_part = call_.operation == Operation::kAllGather;
  const bool out_is_part = call_.operation == Operation::kReduceScatter;
  const std::byte* in = call_.operation == Operation::kBroadcast && !in_ ? out_ : in_;
  SharedPlace& place = places_[rank];
  if (in) place.in = fabric.shared_offset(in, (in_is_part ? own : all) * element_bytes_);
  if (out_) place.out = fabric.shared_offset(out_, (out_is_part ? own : all) * element_bytes_);
  const std::byte* const staging = fabric.staging(channel);
  if (staging) place.staging = fabric.shared_offset(staging, Fabric::kStagingTurns * Fabric::kStagingBytes);
  place.in_address = reinterpret_cast<std::uintptr_t>(in);
  place.out_address = reinterpret_cast<std::uintptr_t>(out_);
  place.borrowed = fabric.borrows_channels() ? 1 : 0;
  place.fetches = call_.copies == CopyWay::kFetch ? 1 : 0;
  place.sends = call_.copies == CopyWay::kSend ? 1 : 0;
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (r != rank && !fabric.can_fetch(r)) place.fetches = 0;
  }
}

}  // namespace thalweg
