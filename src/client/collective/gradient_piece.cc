#include "client/collective/gradient_piece.h"

#include <algorithm>

namespace thalweg {
namespace {

// Elements of one byte, which are moved and never combined.
constexpr Monoid kByte{"byte", 1, [](void*, const void*, std::size_t, void*) {}, nullptr};

}  // namespace

GradientPiece::GradientPiece(Group& group, GradientMemory& memory, const GradientOptions& options,
                             Block block)
    : block_(block), work_(begin(group, memory, options)) {}

std::span<float> GradientPiece::values(GradientMemory& memory) const {
  return {static_cast<float*>(static_cast<void*>(memory.data)) + block_.begin, block_.count};
}

GroupWork GradientPiece::begin(Group& group, GradientMemory& memory, const GradientOptions& options) {
  GroupCall call;
  if (!memory.codec) {
    std::byte* const data = memory.data + block_.begin * memory.element_bytes;
    call.in = call.out = data;
    call.count = block_.count;
    call.type = options.type;
    call.combine = options.reduction;
    call.route = options.route;
    return group.start(call);
  }
  const Codec& codec = *memory.codec;
  round_ = {memory.rounds[{block_.begin, block_.count}]++, block_.begin};
  const std::size_t bytes = codec.encoded_bytes(block_.count);
  if (options.reduction == Reduction::kMean) factor_ = 1.0f / static_cast<float>(group.size());
  const std::span<float> residual = std::span<float>(memory.residual).subspan(block_.begin, block_.count);
  const auto arithmetic = codec.arithmetic();
  adds_encoded_ = arithmetic.has_value();
  encoded_.resize(adds_encoded_ ? bytes : bytes * group.size());
  const std::size_t own = adds_encoded_ ? 0 : bytes * group.rank();
  codec.encode(values(memory), residual, round_, std::span<std::byte>(encoded_).subspan(own, bytes));
  call.in = encoded_.data() + own;
  call.out = encoded_.data();
  if (adds_encoded_) {
    call.count = bytes / arithmetic->element_bytes;
    call.type = arithmetic->type;
    call.combine = arithmetic->reduction;
  } else {
    call.operation = Operation::kAllGather;
    call.count = encoded_.size();
    call.combine = Combine(kByte);
  }
  return group.start(call);
}

Status GradientPiece::end(GradientMemory& memory) {
  if (Status status = work_.wait(); !status.ok() || !memory.codec) return status;
  const std::span<float> sum = values(memory);
  const std::size_t bytes = memory.codec->encoded_bytes(block_.count);
  std::fill(sum.begin(), sum.end(), 0.0f);
  const std::span<const std::byte> encoded(encoded_);
  for (std::size_t at = 0; at < encoded.size(); at += bytes) {
    if (Status status = memory.codec->decode_add(encoded.subspan(at, bytes), round_, factor_, sum);
        !status.ok()) {
      return status;
    }
  }
  return ok_status();
}

}  // namespace thalweg
