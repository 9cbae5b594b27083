// int8 with a scale per block: in each block of 256 elements, 127 stands for the greatest magnitude.
// Ratio 3.94. A block is its f32 scale, then one byte an element.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "exchange/codec/codecs.h"

namespace thalweg::codecs {
namespace {

constexpr std::size_t kInt8Block = 256, kInt8ScaleBytes = sizeof(float);
constexpr float kGreatest = 127.0f;

// The nearest integer, ties to even, of |x| <= 127: the last bits of a sum whose unit is 1.
std::int8_t nearest(float x) {
  constexpr float kShift = 0x1.8p23f;
  return static_cast<std::int8_t>(std::bit_cast<std::int32_t>(x + kShift) -
                                  std::bit_cast<std::int32_t>(kShift));
}

// NaN when a value is not finite; zero when all are too small for 1 / scale.
float scale_of(std::span<const float> block) {
  std::uint32_t greatest = 0;  // Magnitudes are ordered as their bits are, NaN last.
  for (const float value : block)
    greatest = std::max(greatest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  const float magnitude = std::bit_cast<float>(greatest);
  if (!std::isfinite(magnitude)) return std::numeric_limits<float>::quiet_NaN();
  const float scale = magnitude / kGreatest;
  return scale < std::numeric_limits<float>::min() ? 0.0f : scale;
}

class Int8Codec final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const override {
    return count + (count + kInt8Block - 1) / kInt8Block * kInt8ScaleBytes;
  }
  Status decode_add(std::span<const std::byte> bytes, CodecRound, float factor,
                    std::span<float> sum) const override {
    if (Status valid = check(bytes, sum.size()); !valid.ok()) return valid;
    const std::byte* at = bytes.data();
    for (std::size_t begin = 0; begin < sum.size(); begin += kInt8Block) {
      const float scale = load<float>(at) * factor;
      at += kInt8ScaleBytes;
      for (float& into : sum.subspan(begin, std::min(kInt8Block, sum.size() - begin))) {
        into += static_cast<float>(static_cast<std::int8_t>(*at++)) * scale;
      }
    }
    return {};
  }

 private:
  bool piecewise() const override { return true; }
  Status check(std::span<const std::byte> bytes, std::size_t count) const {
    if (Status size = check_size("int8", bytes.size(), encoded_bytes(count)); !size.ok()) return size;
    const std::byte* at = bytes.data();
    for (std::size_t begin = 0; begin < count; begin += kInt8Block) {
      const float scale = load<float>(at);
      const std::span values(at + kInt8ScaleBytes, std::min(kInt8Block, count - begin));
      const bool all_zero = scale != 0.0f || std::all_of(values.begin(), values.end(), [](std::byte value) {
                              return value == std::byte{0};
                            });
      if (!is_scale(scale) || !all_zero || std::count(values.begin(), values.end(), std::byte{0x80}) > 0) {
        return {Code::kData, fmt::format("int8 gradient: block at element {} with scale {} is none that "
                                         "encoding makes",
                                         begin, scale)};
      }
      at += kInt8ScaleBytes + values.size();
    }
    return {};
  }

  void encode_values(std::span<const float> values, CodecRound, std::span<std::byte> out) const override {
    std::byte* to = out.data();
    for (std::size_t begin = 0; begin < values.size(); begin += kInt8Block) {
      const auto block = values.subspan(begin, std::min(kInt8Block, values.size() - begin));
      const float scale = scale_of(block);
      store(scale, to);
      to += kInt8ScaleBytes;
      const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
      for (std::size_t i = 0; i < block.size(); ++i) {
        const float scaled = std::isnan(scale) ? 1.0f : block[i] * inverse;
        to[i] = static_cast<std::byte>(nearest(std::clamp(scaled, -kGreatest, kGreatest)));
      }
      to += block.size();
    }
  }
};

}  // namespace

std::unique_ptr<Codec> make_int8() { return std::make_unique<Int8Codec>(); }

}  // namespace thalweg::codecs
