// Machine rooms by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "thalweg/status.h"
#include "topology/topology.h"

namespace thalweg {

struct PresetInfo {
  std::string_view name;
  std::string_view summary;
  std::uint32_t ranks;  // How many it has unless another number is asked for; 0: its name says so.
};
std::span<const PresetInfo> presets();

inline constexpr std::uint32_t kPresetRanksMax = 65536;

// The preset of that name with `ranks` ranks, or its own number where `ranks` is 0. kUsage lists the presets
// when there is none of that name, and says what numbers of ranks fit.
Result<Topology> preset(std::string_view name, std::uint32_t ranks = 0);
// Whether the name is a preset's, if perhaps with wrong parameters.
bool is_preset(std::string_view name);

}  // namespace thalweg
