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

CheckedPayload::CheckedPayload(const Demand& demand, const Layout& layout, std::uint64_t count,
                               std::optional<std::uint32_t> only)
    : demand_(demand), group_(layout.size()), count_(count), in_(group_), out_(group_) {
  for (std::uint32_t rank = only.value_or(0); rank < (only ? *only + 1 : group_); ++rank) {
    const Block input = input_of(rank);
    in_[rank].resize(input.count);
    for (std::uint64_t i = 0; i < input.count; ++i) in_[rank][i] = contribution(rank, input.begin + i);
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

CheckedPayload::Vector CheckedPayload::sums() const {
  switch (demand_.operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kReduce:
      break;
    default:
      return {};
  }
  Vector sums(count_);
  for (std::uint32_t rank = 0; rank < demand_.ranks; ++rank) {
    for (std::uint64_t e = 0; e < count_; ++e) sums[e] += contribution(rank, e);
  }
  return sums;
}

bool CheckedPayload::right(std::uint32_t rank, const Vector& sums) const {
  const Block output = output_of(rank);
  const Vector& out = out_[rank];
  if (out.size() != output.count) return false;
  if (output.count == 0) return true;
  // Whether what was at `block` of a rank's vector lies at `place`.
  const auto holds = [&out](std::uint64_t place, std::uint32_t from, Block block) {
    bool all = true;
    for (std::uint64_t i = 0; i < block.count; ++i)
      all = all && out[place + i] == contribution(from, block.begin + i);
    return all;
  };
  bool all = true;
  switch (demand_.operation) {
    case Operation::kAllGather:
    case Operation::kGather:
      for (std::uint32_t owner = 0; owner < group_; ++owner)
        all = all && holds(part(owner).begin, owner, part(owner));
      return all;
    case Operation::kBroadcast:
    case Operation::kScatter:
    case Operation::kPointToPoint:
      return holds(0, demand_.root, output);
    case Operation::kAllToAll:
      for (std::uint32_t peer = 0; peer < group_; ++peer)
        all = all && holds(peer * part(rank).count, peer, part(rank));
      return all;
    case Operation::kNeighbours: {
      std::uint64_t place = 0;
      for (const std::uint32_t peer : ring_neighbours(rank, group_)) {
        all = all && holds(place, peer, {0, count_});
        place += count_;
      }
      return all;
    }
    default:
      return std::equal(out.begin(), out.end(), sums.begin() + static_cast<std::ptrdiff_t>(output.begin));
  }
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
