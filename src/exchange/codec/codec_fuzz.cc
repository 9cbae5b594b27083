// Arbitrary bytes as each codec's encoding: refused and the sum untouched, or added.
#include <vector>

#include "base/check.h"
#include "exchange/codec/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  if (size < 3) return 0;
  CodecSpec spec;
  spec.kind = static_cast<CodecKind>(data[0] % kCodecs);
  spec.kept = (data[1] % 100 + 1) / 100.0;
  const std::size_t count = std::size_t{data[2]} * 5;
  const auto bytes = std::as_bytes(std::span(data + 3, size - 3));
  std::vector<float> sum(count, 1.0f);
  if (!make_codec(spec)->decode_add(bytes, {size, data[2]}, 0.5f, sum).ok()) {
    THALWEG_CHECK(sum == std::vector<float>(count, 1.0f), "a refused encoding changes nothing");
  }
  return 0;
}
