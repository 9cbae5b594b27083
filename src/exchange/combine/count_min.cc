#include "thalweg/count_min.h"

#include "base/check.h"
#include "base/random.h"

namespace thalweg {

CountMin::CountMin(std::uint32_t depth, std::uint32_t width, std::uint64_t seed)
    : depth_(depth), width_(width), seed_(seed), counters_(std::size_t{depth} * width) {
  THALWEG_CHECK(depth > 0 && width > 0, "a sketch of at least one row and one column");
}

std::size_t CountMin::place(std::uint32_t row, std::uint64_t key) const {
  const std::uint64_t hash = splitmix(key ^ splitmix(seed_ + row));
  return std::size_t{row} * width_ + ((hash >> 32) * width_ >> 32);
}

}  // namespace thalweg
