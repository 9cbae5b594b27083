#include "exchange/checked_payload.h"

#include <algorithm>

namespace thalweg {
namespace {

// Small enough for the sum of any group.
std::int32_t contribution(std::uint32_t rank, std::uint64_t element) {
  const std::uint64_t mixed = (element + 1) * 0x9e3779b97f4a7c15ULL ^ (rank + 1) * 0xc2b2ae3d27d4eb4fULL;
  return static_cast<std::int32_t>((mixed * 0x9e3779b97f4a7c15ULL) >> 53) - 1024;
}

std::byte* bytes_of(std::vector<std::int32_t>& vector) {
  return vector.empty() ? nullptr : static_cast<std::byte*>(static_cast<void*>(vector.data()));
}

}  // namespace

CheckedPayload::CheckedPayload(const Demand& demand, const Layout& layout, std::uint64_t count)
    : demand_(demand), group_(layout.size()), count_(count), in_(group_), out_(group_) {
  for (std::uint32_t rank = 0; rank < group_; ++rank) {
    const Block input = input_of(rank);
    for (std::uint64_t e = input.begin; e < input.end(); ++e) in_[rank].push_back(contribution(rank, e));
    out_[rank].assign(output_of(rank).count, INT32_MIN);
  }
}

Block CheckedPayload::part(std::uint32_t rank) const { return part_of({0, count_}, group_, rank); }

Block CheckedPayload::input_of(std::uint32_t rank) const {
  switch (demand_.operation) {
    case Operation::kAllGather:
    case Operation::kGather:
      return part(rank);
    case Operation::kBroadcast:
    case Operation::kScatter:
    case Operation::kPointToPoint:
      return rank == demand_.root ? Block{0, count_} : Block{};
    case Operation::kBarrier:
      return {};
    default:
      return contributes(rank) ? Block{0, count_} : Block{};
  }
}

Block CheckedPayload::output_of(std::uint32_t rank) const {
  switch (demand_.operation) {
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return part(rank);
    case Operation::kReduce:
    case Operation::kGather:
      return rank == demand_.root ? Block{0, count_} : Block{};
    case Operation::kPointToPoint:
      return rank == demand_.peer ? Block{0, count_} : Block{};
    case Operation::kAllToAll:
      return {0, group_ * part(rank).count};
    case Operation::kNeighbours:
      return {0, ring_neighbours(rank, group_).size() * count_};
    case Operation::kBarrier:
      return {};
    default:
      return contributes(rank) ? Block{0, count_} : Block{};
  }
}

Call CheckedPayload::call(std::uint32_t rank) {
  Call call;
  call.operation = demand_.operation;
  call.arithmetic = Arithmetic::of(DataType::kI32, Reduction::kSum);
  call.count = count_;
  call.root = demand_.root;
  call.peer = demand_.peer;
  call.in = bytes_of(in_[rank]);
  call.out = bytes_of(out_[rank]);
  if (demand_.operation == Operation::kNeighbours) call.neighbours = ring_neighbours(rank, group_);
  if (demand_.operation != Operation::kAllToAll) return call;
  for (std::uint32_t peer = 0; peer <= group_; ++peer) {
    call.parts.push_back(peer == group_ ? count_ : part(peer).begin);
    call.parts_out.push_back(peer * part(rank).count);
  }
  return call;
}

// What `rank` must find at a place of its output, which begins at the whole vector's `element` 0 or its own
// part's.
std::int32_t CheckedPayload::expected(std::uint32_t rank, std::uint64_t element, const Vector& sums) const {
  switch (demand_.operation) {
    case Operation::kAllGather:
    case Operation::kGather: {
      std::uint32_t owner = 0;
      while (part(owner).end() <= element) ++owner;
      return contribution(owner, element);
    }
    case Operation::kBroadcast:
    case Operation::kScatter:
    case Operation::kPointToPoint:
      return contribution(demand_.root, element);
    case Operation::kAllToAll: {
      const Block own = part(rank);
      return contribution(static_cast<std::uint32_t>(element / own.count), own.begin + element % own.count);
    }
    case Operation::kNeighbours:
      return contribution(ring_neighbours(rank, group_)[element / count_], element % count_);
    default:
      return sums[element];
  }
}

CheckedPayload::Vector CheckedPayload::sums() const {
  Vector sums(count_);
  for (std::uint32_t rank = 0; rank < demand_.ranks; ++rank) {
    for (std::uint64_t e = 0; e < in_[rank].size() && in_[rank].size() == count_; ++e)
      sums[e] += in_[rank][e];
  }
  return sums;
}

bool CheckedPayload::right(std::uint32_t rank, const Vector& sums) const {
  const Block output = output_of(rank);
  for (std::uint64_t i = 0; i < output.count; ++i) {
    if (out_[rank][i] != expected(rank, output.begin + i, sums)) return false;
  }
  return true;
}

bool CheckedPayload::right(std::uint32_t rank) const { return right(rank, sums()); }

bool CheckedPayload::right() const {
  const Vector all = sums();
  for (std::uint32_t rank = 0; rank < group_; ++rank) {
    if (!right(rank, all)) return false;
  }
  return true;
}

}  // namespace thalweg
