// Keys in the store's own order, for those who have mixed and sorted them already.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/store.h"

namespace thalweg {

// Precondition: `placed` is strictly ascending.
Keys placed_keys(std::vector<std::uint64_t> placed);

}  // namespace thalweg
