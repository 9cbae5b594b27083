#include "model/format/table_digest.h"

#define XXH_INLINE_ALL  // A hash of twelve bytes takes less than a call.
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/hash/hash.h"
#include "base/random.h"

namespace thalweg {
namespace {

// Are written before they are hashed: to read what was just written would wait for it.
constexpr std::size_t kBytesAtOnce = 1024;

// Of rows of one float.
std::uint64_t sum_of_narrow(std::span<const Key> keys, const float* rows, std::size_t width) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::byte row[sizeof(Key) + sizeof(float)];
    std::memcpy(row, &keys[i], sizeof(Key));
    std::memcpy(row + sizeof(Key), rows + i * width, sizeof(float));
    sum += XXH3_64bits(row, sizeof row);
  }
  return sum;
}

std::uint64_t sum_of_hashes(const std::byte* rows, std::size_t count, std::size_t row_bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const row = rows + i * row_bytes;
    sum += row_bytes <= kHashedWithoutVectors ? XXH3_64bits(row, row_bytes) : hash64(row, row_bytes);
  }
  return sum;
}

}  // namespace

void TableDigest::add(std::span<const Key> keys, std::span<const float> rows) {
  if (keys.empty()) return;
  const std::size_t width = rows.size() / keys.size();
  THALWEG_CHECK(width >= dim_, "a row of all its floats for each key");
  if (dim_ == 1) {
    sum_ += sum_of_narrow(keys, rows.data(), width);
    return;
  }
  const std::size_t row_bytes = sizeof(Key) + sizeof(float) * dim_;
  const std::size_t at_once = std::max<std::size_t>(1, kBytesAtOnce / row_bytes);
  rows_.resize(at_once * row_bytes);
  for (std::size_t begin = 0; begin < keys.size(); begin += at_once) {
    const std::size_t count = std::min(at_once, keys.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const to = rows_.data() + i * row_bytes;
      std::memcpy(to, &keys[begin + i], sizeof(Key));
      std::memcpy(to + sizeof(Key), rows.data() + (begin + i) * width, sizeof(float) * dim_);
    }
    sum_ += sum_of_hashes(rows_.data(), count, row_bytes);
  }
}

std::uint64_t table_part_of_digest(std::string_view table_name, std::uint64_t sum) {
  return splitmix(XXH3_64bits(table_name.data(), table_name.size()) ^ sum);
}

}  // namespace thalweg
