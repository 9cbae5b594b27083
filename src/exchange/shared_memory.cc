#include "exchange/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace thalweg {
namespace {

// What is summed up before it is copied to the other ranks, so that it is still in the first-level cache.
constexpr std::size_t kChunkBytes = std::size_t{16} << 10;

struct Views {
  std::vector<const std::byte*> in;  // By rank: where element 0 of the vector would be.
  std::vector<std::byte*> out;       // Null where the operation leaves no result.
};

Result<Views> views_of(const Call& call, const Buffers& buffers, std::uint32_t rank, std::uint32_t ranks,
                       Fabric& fabric) {
  Views views;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const SharedPlace& place = buffers.places()[r];
    const std::size_t element = call.arithmetic.element_bytes;
    const Block part = call.operation == Operation::kAllGather ? buffers.part(r) : Block{0, call.count};
    const bool gives = call.operation != Operation::kBroadcast || r == call.root;
    const bool takes =
        call.operation == Operation::kAllReduce || (call.operation == Operation::kReduce && r == call.root);
    std::byte* in = nullptr;
    std::byte* out = nullptr;
    if (gives) in = fabric.shared_by(r, place.in, part.count * element);
    if (takes) out = fabric.shared_by(r, place.out, call.count * element);
    if ((gives && !in && part.count > 0) || (takes && !out && call.count > 0)) {
      return Status(Code::kRefused, "rank " + std::to_string(r) + " says that its buffer is at byte " +
                                        std::to_string(in || !gives ? place.out : place.in) +
                                        " of the memory that it shares, which rank " + std::to_string(rank) +
                                        " does not see; allocate buffers with Group::allocate");
    }
    views.in.push_back(in ? in - part.begin * element : nullptr);
    views.out.push_back(out);
  }
  return views;
}

// out[r][block] = the sum of in[.][block] for every r that has an output; without any, to `own`.
void sum_block(const Call& call, const Views& views, Block block, std::byte* own,
               std::uint64_t contributors) {
  const std::size_t element = call.arithmetic.element_bytes;
  const std::size_t chunk = std::max<std::size_t>(1, kChunkBytes / element);
  std::vector<const std::byte*> sources(views.in.size());
  std::vector<std::byte> sum;
  if (call.arithmetic.monoid.combine) sum.resize(chunk * element);  // Whose output may be an input.
  const Pieces pieces(block, chunk);
  for (std::uint64_t i = 0; block.count > 0 && i < pieces.size(); ++i) {
    const std::size_t at = pieces[i].begin * element, count = pieces[i].count;
    for (std::size_t r = 0; r < sources.size(); ++r) sources[r] = views.in[r] + at;
    std::byte* to = own ? own + (pieces[i].begin - block.begin) * element : nullptr;
    for (std::size_t r = 0; !to && r < views.out.size(); ++r) {
      if (views.out[r]) to = views.out[r] + at;
    }
    if (sum.empty()) {
      call.arithmetic.combine_many(to, sources.data(), sources.size(), count);
    } else {
      std::memcpy(sum.data(), sources[0], count * element);
      for (std::size_t r = 1; r < sources.size(); ++r) {
        call.arithmetic.apply(sum.data(), sum.data(), sources[r], count);
      }
      std::memcpy(to, sum.data(), count * element);
    }
    if (contributors > 0) divide(call.arithmetic.type, to, count, contributors);
    for (std::byte* out : views.out) {
      if (out && out + at != to) std::memcpy(out + at, to, count * element);
    }
  }
}

}  // namespace

// Of a broadcast only the root's memory is looked at.
HeldMemory::HeldMemory(const Call& call, std::uint32_t rank, std::uint32_t ranks, Fabric& fabric,
                       std::uint16_t channel, std::uint64_t sequence)
    : fabric_(fabric), rank_(rank), channel_(channel), end_(ranks) {
  if (call.operation == Operation::kBroadcast) begin_ = call.root, end_ = call.root + 1;
  for (std::uint32_t peer = begin_; peer < end_; ++peer) {
    if (peer == rank_ || fabric_.hold({peer, channel_}, sequence)) continue;
    lost_ = peer;
    let_go(peer);
    return;
  }
}

HeldMemory::~HeldMemory() {
  if (!lost_) let_go(end_);
}

void HeldMemory::let_go(std::uint32_t end) {
  for (std::uint32_t peer = begin_; peer < end; ++peer) {
    if (peer != rank_) fabric_.let_go({peer, channel_});
  }
}

Status work_in_shared_memory(const Call& call, Buffers& buffers, std::uint32_t rank, std::uint32_t ranks,
                             Fabric& fabric) {
  Result<Views> views = views_of(call, buffers, rank, ranks, fabric);
  if (!views) return views.status();
  const bool mean = call.arithmetic.reduction == Reduction::kMean && !call.arithmetic.monoid.combine;
  const Block whole{0, call.count};
  switch (call.operation) {
    case Operation::kAllReduce:
    case Operation::kReduce:
      sum_block(call, *views, part_of(whole, ranks, rank), nullptr, mean ? ranks : 0);
      break;
    case Operation::kReduceScatter: {
      const Block part = buffers.part(rank);
      sum_block(call, *views, part, buffers.address(Buffer::kWork, part), mean ? ranks : 0);
      break;
    }
    default:  // All-gather and broadcast: take from the ranks that have it.
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const Block block = call.operation == Operation::kAllGather ? buffers.part(r) : whole;
        if (!views->in[r] || block.count == 0) continue;
        const std::byte* from = views->in[r] + block.begin * call.arithmetic.element_bytes;
        std::byte* to = buffers.address(Buffer::kWork, block);
        if (to != from) std::memmove(to, from, block.count * call.arithmetic.element_bytes);
      }
  }
  return ok_status();
}

}  // namespace thalweg
