#include "exchange/codec/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "exchange/codec/codecs.h"

namespace thalweg {
namespace {

constexpr const char* kNames[kCodecs] = {"f16", "bf16", "int8", "top-k", "random-k", "sign"};

bool keeps_a_share(CodecKind kind) { return kind == CodecKind::kTopK || kind == CodecKind::kRandomK; }

}  // namespace

Result<CodecSpec> parse_codec(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view base = name.substr(0, colon);
  const auto* const known = std::find(std::begin(kNames), std::end(kNames), base);
  if (known == std::end(kNames)) {
    return Status(Code::kUsage, fmt::format("no codec is called '{}': expected f16, bf16, int8, top-k:SHARE, "
                                            "random-k:SHARE or sign",
                                            name));
  }
  CodecSpec spec;
  spec.kind = static_cast<CodecKind>(known - std::begin(kNames));
  if (colon == name.npos) return spec;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, spec.kept);
  const bool is_share = error == std::errc() && stop == end && spec.kept > 0 && spec.kept <= 1;
  if (!keeps_a_share(spec.kind) || !is_share) {
    return Status(Code::kUsage, fmt::format("codec '{}': expected {}", name,
                                            keeps_a_share(spec.kind) ? "a share in (0, 1] after the colon"
                                                                     : "no share after its name"));
  }
  return spec;
}

std::unique_ptr<Codec> make_codec(const CodecSpec& spec) {
  THALWEG_CHECK(spec.kept > 0 && spec.kept <= 1, "a share of the elements");
  switch (spec.kind) {
    case CodecKind::kF16:
      return codecs::make_half(DataType::kF16);
    case CodecKind::kBf16:
      return codecs::make_half(DataType::kBf16);
    case CodecKind::kInt8:
      return codecs::make_int8();
    case CodecKind::kTopK:
      return codecs::make_top_k(spec.kept);
    case CodecKind::kRandomK:
      return codecs::make_random_k(spec.kept);
    case CodecKind::kSign:
      break;
  }
  return codecs::make_sign();
}

void Codec::encode(std::span<const float> gradient, std::span<float> residual, CodecRound round,
                   std::span<std::byte> out) const {
  THALWEG_CHECK(out.size() == encoded_bytes(gradient.size()), "room for the encoding");
  if (residual.empty()) return encode_values(gradient, round, out);
  THALWEG_CHECK(residual.size() == gradient.size(), "a residual an element");
  const std::size_t step = piecewise() ? kPiece : gradient.size();
  for (std::size_t begin = 0; begin < gradient.size(); begin += step) {
    const std::size_t some = std::min(step, gradient.size() - begin);
    const auto piece = out.subspan(encoded_bytes(begin), encoded_bytes(begin + some) - encoded_bytes(begin));
    encode_piece(gradient.subspan(begin, some), residual.subspan(begin, some), round, piece);
  }
}

void Codec::encode_piece(std::span<const float> gradient, std::span<float> residual, CodecRound round,
                         std::span<std::byte> out) const {
  for (std::size_t i = 0; i < gradient.size(); ++i) residual[i] += gradient[i];
  encode_values(residual, round, out);
  const Status own = decode_add(out, round, -1.0f, residual);
  THALWEG_CHECK(own.ok(), "an encoding of our own");
  constexpr float kGreatest = std::numeric_limits<float>::max();
  const float most = greatest_sent();
  for (float& lost : residual) lost = std::abs(lost) <= kGreatest ? std::clamp(lost, -most, most) : 0.0f;
}

namespace codecs {

std::size_t kept_of(double kept, std::size_t count) {
  const auto most = static_cast<double>(count);
  return static_cast<std::size_t>(std::min(most, std::ceil(kept * most)));
}

Status check_size(const char* codec, std::size_t bytes, std::size_t wanted) {
  if (bytes == wanted) return {};
  return {Code::kData, fmt::format("{} gradient: {} bytes, expected {}", codec, bytes, wanted)};
}

bool is_scale(float scale) {
  return std::isnan(scale) || (scale == 0.0f && !std::signbit(scale)) ||
         (std::isnormal(scale) && scale > 0.0f);
}

}  // namespace codecs
}  // namespace thalweg
