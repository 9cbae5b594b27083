// Machine rooms as TOML text; docs/topology.md describes the format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "thalweg/status.h"
#include "topology/topology.h"

namespace thalweg {

inline constexpr std::size_t kRoomBytesMax = std::size_t{1} << 24;
inline constexpr std::uint32_t kRoomNodesMax = 1u << 18;
inline constexpr std::uint32_t kRoomLinksMax = 1u << 19;

// `source` names the text in errors, which are kConfig: "room.toml:12:5: what is wrong; what was expected".
Result<Topology> parse_room(std::string_view text, const std::string& source);

}  // namespace thalweg
