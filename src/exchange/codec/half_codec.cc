// f16 and bf16: elements of half the size, that add up as they are. Ratio 2.
#include <limits>

#include "exchange/codec/codecs.h"
#include "exchange/codec/convert.h"

namespace thalweg::codecs {
namespace {

class HalfCodec final : public Codec {
 public:
  explicit HalfCodec(DataType type) : type_(type) {}

  std::size_t encoded_bytes(std::size_t count) const override { return 2 * count; }
  std::optional<Arithmetic> arithmetic() const override { return Arithmetic::of(type_, Reduction::kSum); }
  Status decode_add(std::span<const std::byte> bytes, CodecRound, float factor,
                    std::span<float> sum) const override {
    if (Status size = check_size(data_type_name(type_), bytes.size(), encoded_bytes(sum.size())); !size.ok())
      return size;
    widen_add(type_, bytes.data(), sum.size(), factor, sum.data());
    return {};
  }

 private:
  bool piecewise() const override { return true; }
  float greatest_sent() const override {
    return type_ == DataType::kF16 ? 65504.0f : std::numeric_limits<float>::max();
  }
  void encode_values(std::span<const float> values, CodecRound, std::span<std::byte> out) const override {
    narrow(type_, values.data(), values.size(), out.data());
  }

  DataType type_;
};

}  // namespace

std::unique_ptr<Codec> make_half(DataType type) { return std::make_unique<HalfCodec>(type); }

}  // namespace thalweg::codecs
