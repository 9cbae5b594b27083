#include "exchange/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace thalweg {

namespace {

constexpr std::uint64_t kGradientBytesMax = std::uint64_t{1} << 50;  // No memory is as large.

}  // namespace

Status Pipeline::check(std::span<const GradientSpec> tensors, const GradientOptions& options) {
  if (tensors.empty() || tensors.size() > std::size_t{1} << 28) {
    return {Code::kUsage, fmt::format("{} gradients, expected 1 to 2^28", tensors.size())};
  }
  const auto empty =
      std::find_if(tensors.begin(), tensors.end(), [](const auto& t) { return t.elements == 0; });
  if (empty != tensors.end()) {
    return {Code::kUsage,
            fmt::format("gradient {} '{}' has no elements", empty - tensors.begin(), empty->name)};
  }
  std::uint64_t left = kGradientBytesMax / size_bytes(options.type);
  for (const GradientSpec& tensor : tensors) {
    if (tensor.elements > left) {
      return {Code::kUsage,
              fmt::format("gradients to '{}' have more than {} bytes", tensor.name, kGradientBytesMax)};
    }
    left -= tensor.elements;
  }
  if (options.stall_timeout <= std::chrono::nanoseconds(0)) {
    return {Code::kUsage, fmt::format("GradientOptions::stall_timeout is {} ns, expected more than 0",
                                      options.stall_timeout.count())};
  }
  return ok_status();
}

Pipeline::Pipeline(std::vector<GradientSpec> tensors, GradientOptions options, std::uint32_t rank,
                   std::uint32_t ranks, std::uint16_t channel)
    : tensors_(std::move(tensors)),
      layout_(tensors_, size_bytes(options.type), options.bucket_bytes),
      negotiation_(layout_, tensors_, options, rank, ranks, channel),
      left_(tensors_.size()) {}

Status Pipeline::announce(std::uint32_t tensor, Instant now) {
  if (tensor >= tensors_.size()) {
    return {Code::kUsage, fmt::format("no gradient {}; there are {}", tensor, tensors_.size())};
  }
  if (!status().ok()) return status();
  const std::uint32_t position = layout_.mirror(tensor);
  if (left_[position] > 0) {
    return {Code::kUsage, fmt::format("gradient {} '{}' is announced again before its exchange has ended",
                                      tensor, tensors_[tensor].name)};
  }
  left_[position] = tensors_[tensor].elements;
  ++under_way_;
  negotiation_.announce(position, now);
  return ok_status();
}

std::optional<Block> Pipeline::start() {
  auto piece = negotiation_.next();
  if (piece) ++pieces_;
  return piece;
}

void Pipeline::finish(Block piece, std::vector<std::uint32_t>& done) {
  negotiation_.finished(piece);
  for (std::uint32_t position = layout_.position_at(piece.begin);
       position < layout_.positions() && layout_.block(position).begin < piece.end(); ++position) {
    const Block tensor = layout_.block(position);
    const std::uint64_t shared = std::min(tensor.end(), piece.end()) - std::max(tensor.begin, piece.begin);
    THALWEG_CHECK(shared <= left_[position], "a piece is of announced gradients");
    left_[position] -= shared;
    if (left_[position] > 0) continue;
    --under_way_;
    done.push_back(layout_.mirror(position));
  }
}

}  // namespace thalweg
