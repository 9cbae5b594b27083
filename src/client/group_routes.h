// The plans behind a route's name, and which one an operation takes when its caller names none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "exchange/plan.h"
#include "thalweg/group.h"

namespace thalweg {

// One plan for each element size, since pieces are given in bytes and plans count elements.
struct RouteChoice::Plans {
  static constexpr std::size_t kSizes = 13;
  Plans(const Plan& plan, std::size_t piece_bytes);
  const Plan& of(std::size_t element_bytes) const;
  std::array<Plan, kSizes> by_log2_size;
};

// Channels that an operation by this plan uses at most.
std::uint32_t channels_of(const Plan& plan);

// The choices of one group: small vectors take few steps, large ones send few bytes.
class GroupRoutes {
 public:
  GroupRoutes();
  // `shared`: all ranks see each other's group memory. The plan lives as long as this does.
  const Plan& choose(Operation operation, std::size_t bytes, std::size_t element_bytes, bool shared) const;

 private:
  struct Choice {
    RouteChoice::Plans small;
    RouteChoice::Plans large;
    std::size_t large_from_bytes;
  };
  std::vector<Choice> by_operation_;
  const RouteChoice::Plans shared_;
};

}  // namespace thalweg
