#include "thalweg/count_min.h"

#include "base/random.h"

namespace thalweg {

std::size_t CountMin::place(std::uint32_t row, std::uint64_t key) const {
  const std::uint64_t hash = splitmix(key ^ splitmix(seed_ + row));
  return std::size_t{row} * width_ + ((hash >> 32) * width_ >> 32);
}

}  // namespace thalweg
