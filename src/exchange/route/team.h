// The ranks that a lane runs among, in its order.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg {

// Members 0 to size-1, of which this rank is `me`. Small whatever the size: `order` belongs to the plan.
struct Team {
  std::uint32_t size = 1;
  std::uint32_t me = 0;
  std::uint32_t first = 0;
  std::uint32_t stride = 1;
  const std::uint32_t* order = nullptr;  // Null: first, first + stride, ...

  constexpr std::uint32_t rank(std::uint32_t member) const {
    return order ? order[member] : first + member * stride;
  }
  constexpr std::uint32_t after(std::uint32_t member, std::uint32_t steps = 1) const {
    return (member + steps) % size;
  }
  constexpr std::uint32_t before(std::uint32_t member, std::uint32_t steps = 1) const {
    return (member + size - steps % size) % size;
  }
};

// By member of a team: the ranks whose parts are its own.
using PartLists = std::vector<std::vector<std::uint32_t>>;

}  // namespace thalweg
