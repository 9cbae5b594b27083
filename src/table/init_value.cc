#include "table/init_value.h"

#include <algorithm>
#include <cstdint>

#include "base/random.h"

namespace thalweg {
namespace {

float uniform_signed(std::uint64_t bits) {
  const auto signed24 = static_cast<std::int32_t>(bits >> 40) - (1 << 23);
  return static_cast<float>(signed24) * 0x1.0p-23f;
}

float unit_normal(std::uint64_t stream) {
  std::int32_t sum = 0;
  for (std::uint64_t word = 0; word < 3; ++word) {
    const std::uint64_t bits = splitmix(stream + word);
    for (int shift = 0; shift < 64; shift += 16) sum += static_cast<std::int32_t>((bits >> shift) & 0xffff);
  }
  return (static_cast<float>(sum - 6 * 65536) + 6.0f) * 0x1.0p-16f;
}

}  // namespace

void fill_initial(const InitSpec& init, Key key, std::span<float> row) {
  if (init.kind == InitSpec::Kind::kZero || init.kind == InitSpec::Kind::kConstant) {
    std::fill(row.begin(), row.end(), init.kind == InitSpec::Kind::kZero ? 0.0f : init.scale);
    return;
  }
  const std::uint64_t of_key = splitmix(key ^ splitmix(init.seed));
  for (std::size_t column = 0; column < row.size(); ++column) {
    const std::uint64_t bits = splitmix(of_key + 0x632be59bd9b4e019ULL * (column + 1));
    row[column] =
        init.scale * (init.kind == InitSpec::Kind::kUniform ? uniform_signed(bits) : unit_normal(bits));
  }
}

}  // namespace thalweg
