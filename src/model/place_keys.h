// place() of many keys at once.
#pragma once

#include <cstddef>
#include <span>

#include "base/mix.h"

namespace thalweg {

// Precondition: `placed` has room for as many.
void place_keys(std::span<const Key> keys, PlacedKey* placed);

}  // namespace thalweg
