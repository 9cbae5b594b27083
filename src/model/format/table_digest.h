// What a model's digest is made of: sums of hashes of rows, whatever their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "thalweg/ids.h"

namespace thalweg {

// Sum mod 2^64 over rows of XXH3-64(key, dim floats), little-endian; independent of the rows' order. For a
// dense table the key is the row's number.
class TableDigest {
 public:
  explicit TableDigest(std::size_t dim) : dim_(dim) {}
  void add(Key key, std::span<const float> row) { add({&key, 1}, row); }
  // `rows` holds equally many floats for each key, of which the first dim count.
  void add(std::span<const Key> keys, std::span<const float> rows);
  std::uint64_t sum() const { return sum_; }

 private:
  std::size_t dim_;
  std::uint64_t sum_ = 0;
  std::vector<std::byte> rows_;  // As they are hashed.
};

// What one table adds to the model's digest; these add up mod 2^64.
std::uint64_t table_part_of_digest(std::string_view table_name, std::uint64_t sum);

}  // namespace thalweg
