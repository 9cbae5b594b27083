// Lossy compression of gradients, with error feedback: what one step loses, the next one sends (Seide et al.,
// "1-bit stochastic gradient descent", Interspeech 2014; Karimireddy et al., "Error feedback fixes SignSGD",
// ICML 2019).
//
// A compressed all-reduce of n ranks:
//   codecs with an arithmetic(): encode; all-reduce the encoded elements; decode once;
//   the others: encode; all-gather the encoded bytes; decode all n of them into one sum, in rank order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "exchange/combine/combine.h"
#include "thalweg/status.h"

namespace thalweg {

enum class CodecKind : std::uint8_t { kF16, kBf16, kInt8, kTopK, kRandomK, kSign };
inline constexpr std::size_t kCodecs = 6;

struct CodecSpec {
  CodecKind kind = CodecKind::kF16;
  double kept = 0.01;  // Share of the elements that top-k and random-k send; in (0, 1].
};
// "f16", "bf16", "int8", "top-k", "top-k:0.001", "random-k:0.1", "sign".
Result<CodecSpec> parse_codec(std::string_view name);

// Which vector is encoded, equal on all ranks: random-k chooses by it.
struct CodecRound {
  std::uint64_t step = 0;  // How often this tensor was encoded before.
  std::uint64_t tensor = 0;
};

// Keeps no state: one serves any number of tensors and threads.
class Codec {
 public:
  virtual ~Codec() = default;

  // The same for all vectors of `count` elements; count < 2^32.
  virtual std::size_t encoded_bytes(std::size_t count) const = 0;
  // How encoded vectors add up to the encoded sum, if they do: all-reduce encoded_bytes() / element_bytes
  // elements of it. f16's sums above 65504 are infinite: scale contributions first.
  virtual std::optional<Arithmetic> arithmetic() const { return std::nullopt; }

  // Encodes gradient + residual into `out` of encoded_bytes(), and leaves in `residual` what that lost. An
  // empty residual: no feedback. What is not finite is sent so that it or one beside it decodes to NaN or
  // infinity in this round, and leaves no residual; f16 leaves at most 65504, which is what a round can send.
  void encode(std::span<const float> gradient, std::span<float> residual, CodecRound round,
              std::span<std::byte> out) const;
  // sum[i] += factor * value i. On an error, that the bytes are no encoding, nothing has changed.
  virtual Status decode_add(std::span<const std::byte> bytes, CodecRound round, float factor,
                            std::span<float> sum) const = 0;

 private:
  // A multiple of every block of elements, small enough that a piece stays in the caches while it is encoded.
  static constexpr std::size_t kPiece = 16384;
  // Whether a vector's encoding is those of its pieces of kPiece elements, one after the other.
  virtual bool piecewise() const { return false; }
  // An element's in one round; with more than that left, one that overflowed would go on for ever.
  virtual float greatest_sent() const { return std::numeric_limits<float>::max(); }
  void encode_piece(std::span<const float> gradient, std::span<float> residual, CodecRound round,
                    std::span<std::byte> out) const;
  virtual void encode_values(std::span<const float> values, CodecRound round,
                             std::span<std::byte> out) const = 0;
};

std::unique_ptr<Codec> make_codec(const CodecSpec& spec);

}  // namespace thalweg
