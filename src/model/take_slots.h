// Emptying a table of slots, many at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/mix.h"

namespace thalweg {

inline constexpr std::size_t kTakenAtOnce = 8;

// Of the slots that are not 0, in their order, keys[n] becomes the complement of what the n-th holds and
// slot_of[n] its number; all become 0. Returns how many they are. Precondition: there is room for
// kTakenAtOnce more.
std::size_t take_slots(std::span<std::uint64_t> slots, PlacedKey* keys, std::uint32_t* slot_of);

}  // namespace thalweg
