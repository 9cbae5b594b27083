// One bit an element: its sign, times the mean magnitude of its block of 1024. Ratio 31.
// A block is its f32 scale, then its bits from the lowest of the first byte on, 1 for negative, padded with
// 0.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "exchange/codec/codecs.h"

namespace thalweg::codecs {
namespace {

constexpr std::size_t kSignBlock = 1024, kSignScaleBytes = sizeof(float);

// Lanes fix the order of the additions and let them overlap.
float mean_magnitude(std::span<const float> block) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < block.size(); ++i) lanes[i % kLanes] += static_cast<double>(std::abs(block[i]));
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  const auto mean = static_cast<float>(sum / static_cast<double>(block.size()));
  if (!std::isfinite(mean)) return std::numeric_limits<float>::quiet_NaN();
  return mean < std::numeric_limits<float>::min() ? 0.0f : mean;
}

std::size_t bytes_of_bits(std::size_t count) { return (count + 7) / 8; }

class SignCodec final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const override {
    const std::size_t blocks = (count + kSignBlock - 1) / kSignBlock;
    return blocks * kSignScaleBytes + bytes_of_bits(count);
  }
  Status decode_add(std::span<const std::byte> bytes, CodecRound, float factor,
                    std::span<float> sum) const override {
    if (Status valid = check(bytes, sum.size()); !valid.ok()) return valid;
    const std::byte* at = bytes.data();
    for (std::size_t begin = 0; begin < sum.size(); begin += kSignBlock) {
      const std::size_t some = std::min(kSignBlock, sum.size() - begin);
      const auto scale = std::bit_cast<std::uint32_t>(load<float>(at) * factor);
      at += kSignScaleBytes;
      for (std::size_t i = 0; i < some; ++i) {
        const auto bit = (static_cast<std::uint32_t>(at[i / 8]) >> (i % 8)) & 1u;
        sum[begin + i] += std::bit_cast<float>(scale ^ (bit << 31));
      }
      at += bytes_of_bits(some);
    }
    return {};
  }

 private:
  bool piecewise() const override { return true; }
  Status check(std::span<const std::byte> bytes, std::size_t count) const {
    if (Status size = check_size("sign", bytes.size(), encoded_bytes(count)); !size.ok()) return size;
    const std::byte* at = bytes.data();
    for (std::size_t begin = 0; begin < count; begin += kSignBlock) {
      if (!is_scale(load<float>(at))) {
        return {Code::kData,
                fmt::format("sign gradient: block at element {} has scale {}, expected zero, a normal "
                            "positive number or NaN",
                            begin, load<float>(at))};
      }
      at += kSignScaleBytes + bytes_of_bits(std::min(kSignBlock, count - begin));
    }
    if (count % 8 != 0 && (static_cast<unsigned>(bytes.back()) >> (count % 8)) != 0) {
      return {Code::kData, "sign gradient: bits are set after the last element"};
    }
    return {};
  }

  void encode_values(std::span<const float> values, CodecRound, std::span<std::byte> out) const override {
    std::byte* to = out.data();
    for (std::size_t begin = 0; begin < values.size(); begin += kSignBlock) {
      const auto block = values.subspan(begin, std::min(kSignBlock, values.size() - begin));
      store(mean_magnitude(block), to);
      to += kSignScaleBytes;
      for (std::size_t i = 0; i < block.size(); i += 8) {
        unsigned bits = 0;
        for (std::size_t k = 0; k < std::min<std::size_t>(8, block.size() - i); ++k) {
          bits |= (std::bit_cast<std::uint32_t>(block[i + k]) >> 31) << k;
        }
        *to++ = static_cast<std::byte>(bits);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Codec> make_sign() { return std::make_unique<SignCodec>(); }

}  // namespace thalweg::codecs
