// Barriers at which data shards wait for the job's observer and not for each other.
#pragma once

#include <cstdint>

#include "thalweg/ids.h"

namespace thalweg {

inline constexpr std::uint32_t kObserversIndex = ~1u;

// Behind a pass: opens once the observer has looked at what the pass has left.
constexpr BarrierId observers_barrier(std::uint32_t epoch) { return {epoch, kObserversIndex}; }
constexpr bool opens_by_observer(BarrierId id) { return id == kLoadedBarrier || id.index == kObserversIndex; }

}  // namespace thalweg
