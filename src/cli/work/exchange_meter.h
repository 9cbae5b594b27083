// Times one operation of a group at one size, and checks what came out.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/group.h"

namespace thalweg {

struct ExchangeTask {
  Operation operation = Operation::kAllReduce;
  DataType type = DataType::kF32;  // No 16-bit one.
  Reduction reduction = Reduction::kSum;
  RouteChoice route;
  std::uint64_t count = 0;  // Elements of the whole vector.
  std::uint32_t iterations = 1;
  bool in_place = false;
  bool checks = true;  // Else it tells the time alone.
};

struct ExchangeTiming {
  double seconds = 0;                     // Of one call, on the slowest rank.
  std::uint64_t wrong = 0;                // Elements, on all ranks.
  std::vector<std::uint64_t> bytes_sent;  // Of one call, by rank.
};

// All ranks call it, with memory of at least 2 * count elements each.
Result<ExchangeTiming> measure(Group& group, const ExchangeTask& task, std::byte* memory);

// What a rank's link must carry, in vectors: bus bandwidth is this times the vector's bytes by time.
double bus_factor(Operation operation, std::uint32_t ranks);

}  // namespace thalweg
