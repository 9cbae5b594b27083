#include "exchange/ordinary_memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"

namespace thalweg {
namespace {

// What is summed up before it is copied on, so that it is still in the first-level cache.
constexpr std::size_t kFetchChunkBytes = std::size_t{16} << 10;

const Status kUnreachable{Code::kPeerLost, "a rank's memory cannot be read"};

// What is fetched no peer reads: in one area it stays in this core's cache.
bool is_private(const LaneStep& step) {
  return step.fetches || step.kind == LaneStep::Kind::kFetch || step.kind == LaneStep::Kind::kAdd;
}

// Two are what a window needs beside the next one. Those of two ranks rest until they have left the other
// core's cache; more ranks put so much through it meanwhile that further areas only take room in it.
std::uint64_t turns(std::uint32_t ranks) { return ranks > 2 ? 2 : Fabric::kStagingTurns; }

bool is_mean(const Call& call) {
  return call.arithmetic.reduction == Reduction::kMean && !call.arithmetic.monoid.combine;
}

}  // namespace

Status OrdinaryMemory::take(const LaneStep& step, std::uint32_t& unreachable) {
  const auto take_step = [&]() -> Status {
    switch (step.kind) {
      case LaneStep::Kind::kOffer:
        return offer(step.block);
      case LaneStep::Kind::kOfferEarly:
        return buffers_.places()[rank_].offers_early() ? offer(step.block) : ok_status();
      case LaneStep::Kind::kSum:
        return step.fetches ? sum_fetched(step.block) : sum_staged(step.block);
      case LaneStep::Kind::kTake:
        return take_parts(step.block, step.fetches);
      case LaneStep::Kind::kFetch:
        return fetch_all();
      default:
        return add_fetched();
    }
  };
  const std::uint64_t window = step.block.begin / staged_elements(call_, ranks_);
  turn_ = is_private(step) ? 0 : (sequence_ + window) % turns(ranks_);
  const Status status = take_step();
  unreachable = unreachable_;
  return status;
}

// The elements of a rank's part that a window shows.
Block OrdinaryMemory::of_part(std::uint32_t part, Block window) const {
  const Block all = buffers_.part(part);
  const std::uint64_t begin = std::min(window.begin, all.count);
  return {all.begin + begin, std::min(window.count, all.count - begin)};
}

// Null when the owner's staging area cannot be where it says.
const std::byte* OrdinaryMemory::slot_of(std::uint32_t owner, std::uint32_t part) {
  if (owner == rank_) return own_slot(part);
  const std::byte* const begin = fabric_.shared_by(owner, buffers_.places()[owner].staging,
                                                   Fabric::kStagingTurns * Fabric::kStagingBytes);
  return begin ? begin + slot_at(part) : nullptr;
}

bool OrdinaryMemory::take_from(std::uint32_t owner) const {
  switch (call_.operation) {
    case Operation::kAllReduce:
    case Operation::kAllGather:
      return owner != rank_;
    case Operation::kReduce:
      return rank_ == call_.root && owner != rank_;
    default:
      return false;
  }
}

// Where a peer has elements that its own part's owner brings to others: inputs of all-gather, else results.
std::uint64_t OrdinaryMemory::address_of(std::uint32_t owner, Block block) const {
  const SharedPlace& place = buffers_.places()[owner];
  if (call_.operation != Operation::kAllGather) return place.out_address + block.begin * bytes_of({0, 1});
  return place.in_address + (block.begin - buffers_.part(owner).begin) * bytes_of({0, 1});
}

bool OrdinaryMemory::fetch(std::uint32_t owner, std::uint64_t address, std::byte* into, std::size_t size) {
  unreachable_ = owner;
  return size == 0 || fabric_.fetch(owner, address, into, size);
}

// to = sources[0] + sources[1] + ..., where `to` may be any of them.
void OrdinaryMemory::combine(std::byte* to, const std::vector<const std::byte*>& sources, std::size_t count) {
  const Arithmetic& arithmetic = call_.arithmetic;
  if (arithmetic.combine_many) {
    arithmetic.combine_many(to, sources.data(), sources.size(), count);
    if (is_mean(call_)) divide(arithmetic.type, to, count, ranks_);
    return;
  }
  std::vector<std::byte> sum(sources[0], sources[0] + bytes_of({0, count}));
  for (std::size_t r = 1; r < sources.size(); ++r)
    arithmetic.apply(sum.data(), sum.data(), sources[r], count);
  std::copy(sum.begin(), sum.end(), to);
}

Status OrdinaryMemory::offer(Block window) {
  const bool whole = combines(call_.operation);
  for (std::uint32_t part = 0; part < ranks_; ++part) {
    if (whole == (part == rank_)) continue;
    const Block block = of_part(part, window);
    if (block.count > 0) std::memcpy(own_slot(part), buffers_.address(Buffer::kIn, block), bytes_of(block));
  }
  return {};
}

// The sum goes to this rank's staging area where others want it, and to where the caller does.
Status OrdinaryMemory::sum_staged(Block window) {
  const Block block = of_part(rank_, window);
  const bool kept = call_.operation != Operation::kReduce || rank_ == call_.root;
  const bool stages = call_.operation == Operation::kAllReduce || !kept;
  std::vector<const std::byte*> begins(ranks_), sources(ranks_);
  for (std::uint32_t r = 0; block.count > 0 && r < ranks_; ++r) {
    begins[r] = r == rank_ ? buffers_.address(Buffer::kIn, block) : slot_of(r, rank_);
    if (begins[r]) continue;
    return {Code::kRefused, "rank " + std::to_string(r) + " says that its staging area is at byte " +
                                std::to_string(buffers_.places()[r].staging) +
                                " of the memory that it shares, which rank " + std::to_string(rank_) +
                                " does not see"};
  }
  const std::size_t element = call_.arithmetic.element_bytes;
  const std::uint64_t chunk = std::max<std::uint64_t>(1, kFetchChunkBytes / element);
  for (std::uint64_t i = 0; i < block.count; i += chunk) {
    const std::uint64_t count = std::min(chunk, block.count - i);
    const std::size_t at = i * element;
    for (std::uint32_t r = 0; r < ranks_; ++r) sources[r] = begins[r] + at;
    std::byte* const out = kept ? buffers_.address(Buffer::kWork, {block.begin + i, count}) : nullptr;
    std::byte* const to = stages ? own_slot(rank_) + at : out;
    combine(to, sources, count);
    if (kept && stages) std::memcpy(out, to, count * element);
  }
  return {};
}

// What a peer contributes to this rank's part passes through its slot of the staging area.
Status OrdinaryMemory::sum_fetched(Block window) {
  const Block part = of_part(rank_, window);
  const std::size_t element = call_.arithmetic.element_bytes;
  std::vector<const std::byte*> sources(ranks_);
  const Pieces pieces(part, staged_elements(call_, ranks_));
  for (std::uint64_t i = 0; part.count > 0 && i < pieces.size(); ++i) {
    const Block block = pieces[i];
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      sources[r] = r == rank_ ? buffers_.address(Buffer::kIn, block) : own_slot(r);
      const std::uint64_t address = buffers_.places()[r].in_address + block.begin * element;
      if (r != rank_ && !fetch(r, address, own_slot(r), bytes_of(block))) return kUnreachable;
    }
    combine(buffers_.address(Buffer::kWork, block), sources, block.count);
  }
  return {};
}

Status OrdinaryMemory::take_parts(Block window, bool fetches) {
  for (std::uint32_t d = 0; d < ranks_; ++d) {
    const std::uint32_t owner = (rank_ + d) % ranks_;
    const Block block = of_part(owner, window);
    if (block.count == 0) continue;
    const bool is_own = owner == rank_ && call_.operation == Operation::kAllGather;
    if (!is_own && !take_from(owner)) continue;
    std::byte* const to = buffers_.address(Buffer::kWork, block);
    if (is_own) {
      const std::byte* const own = buffers_.address(Buffer::kIn, block);
      if (to != own) std::memmove(to, own, bytes_of(block));
      continue;
    }
    if (fetches) {
      if (!fetch(owner, address_of(owner, block), to, bytes_of(block))) return kUnreachable;
      continue;
    }
    const std::byte* const from = slot_of(owner, owner);
    if (!from)
      return {Code::kRefused, "rank " + std::to_string(owner) + " has no staging area where it says"};
    std::memcpy(to, from, bytes_of(block));
  }
  return {};
}

Status OrdinaryMemory::fetch_all() {
  const std::uint32_t peer = 1 - rank_;
  const std::size_t size = bytes_of({0, call_.count});
  THALWEG_CHECK(size <= Fabric::kStagingBytes, "as the lane was made");
  return fetch(peer, buffers_.places()[peer].in_address, own_slot(0), size) ? Status() : kUnreachable;
}

Status OrdinaryMemory::add_fetched() {
  const Block all{0, call_.count};
  const std::byte* const own = buffers_.address(Buffer::kIn, all);
  combine(buffers_.address(Buffer::kWork, all),
          rank_ == 0 ? std::vector{own, const_cast<const std::byte*>(own_slot(0))}
                     : std::vector{const_cast<const std::byte*>(own_slot(0)), own},
          call_.count);
  return {};
}

}  // namespace thalweg
