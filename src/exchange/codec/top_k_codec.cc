// The elements of greatest magnitude, each as its u32 index and f32 value, by index (Aji and Heafield,
// "Sparse communication for distributed gradient descent", EMNLP 2017). Ratio 1 / (2 kept).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <vector>

#include "base/check.h"
#include "exchange/codec/codecs.h"

namespace thalweg::codecs {
namespace {

constexpr std::size_t kPairBytes = sizeof(std::uint32_t) + sizeof(float);

// Ordered as the magnitudes are, NaN last.
std::uint32_t magnitude_bits(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

// The kept-th greatest magnitude: a histogram by leading bits finds its bucket, selection its place there.
std::uint32_t threshold(std::span<const float> values, std::size_t kept) {
  constexpr unsigned kLowBits = 20;  // Below the exponent and the first three bits of the fraction.
  std::vector<std::size_t> histogram(std::size_t{1} << (31 - kLowBits));
  for (const float value : values) ++histogram[magnitude_bits(value) >> kLowBits];
  std::size_t bucket = histogram.size(), above = 0;
  while (above + histogram[--bucket] < kept) above += histogram[bucket];
  std::vector<std::uint32_t> there;
  there.reserve(histogram[bucket]);
  for (const float value : values) {
    if (magnitude_bits(value) >> kLowBits == bucket) there.push_back(magnitude_bits(value));
  }
  const auto wanted = there.begin() + static_cast<std::ptrdiff_t>(kept - above - 1);
  std::nth_element(there.begin(), wanted, there.end(), std::greater<>());
  return *wanted;
}

class TopKCodec final : public Codec {
 public:
  explicit TopKCodec(double kept) : kept_(kept) {}

  std::size_t encoded_bytes(std::size_t count) const override { return kept_of(kept_, count) * kPairBytes; }
  Status decode_add(std::span<const std::byte> bytes, CodecRound, float factor,
                    std::span<float> sum) const override {
    if (Status size = check_size("top-k", bytes.size(), encoded_bytes(sum.size())); !size.ok()) return size;
    std::uint64_t least = 0;
    for (std::size_t at = 0; at < bytes.size(); at += kPairBytes) {
      const auto index = load<std::uint32_t>(bytes.data() + at);
      if (index < least || index >= sum.size()) {
        return {Code::kData, fmt::format("top-k gradient: index {} at byte {}, expected one of {} to {}",
                                         index, at, least, sum.size() - 1)};
      }
      least = std::uint64_t{index} + 1;
    }
    for (std::size_t at = 0; at < bytes.size(); at += kPairBytes) {
      sum[load<std::uint32_t>(bytes.data() + at)] +=
          factor * load<float>(bytes.data() + at + sizeof(std::uint32_t));
    }
    return {};
  }

 private:
  // Of equal magnitudes the first ones are kept.
  void encode_values(std::span<const float> values, CodecRound, std::span<std::byte> out) const override {
    THALWEG_CHECK(values.size() <= std::numeric_limits<std::uint32_t>::max(), "u32 indices");
    const std::size_t kept = kept_of(kept_, values.size());
    if (kept == 0) return;
    const std::uint32_t least = threshold(values, kept);
    std::size_t equal = kept;
    for (const float value : values) equal -= magnitude_bits(value) > least;
    std::byte* to = out.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t magnitude = magnitude_bits(values[i]);
      if (magnitude < least || (magnitude == least && equal == 0)) continue;
      equal -= magnitude == least;
      store(static_cast<std::uint32_t>(i), to);
      store(values[i], to + sizeof(std::uint32_t));
      to += kPairBytes;
    }
  }

  double kept_;
};

}  // namespace

std::unique_ptr<Codec> make_top_k(double kept) { return std::make_unique<TopKCodec>(kept); }

}  // namespace thalweg::codecs
