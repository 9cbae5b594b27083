// What may be set of Rudra's systems.
#pragma once

#include <string_view>

#include "base/limits.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {

inline constexpr AlgorithmNumber kRudraUpdates = {
    .placeholder = "N",
    .low = 1,
    .high = limits::kShardsMax,
    .fallback = 1,
    .summary = "updates that are made of as many pushes as there are shards"};

constexpr AlgorithmNumber rudra_tree(std::string_view summary) {
  return {.name = "tree", .placeholder = "K", .low = 1, .high = 4096, .fallback = 2, .summary = summary};
}

}  // namespace thalweg
