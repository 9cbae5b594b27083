// What a machine room consists of: a plain description, as presets and files write it down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thalweg {

using NodeIndex = std::uint32_t;
using LinkIndex = std::uint32_t;

enum class NodeKind : std::uint8_t {
  kDevice,  // Computes; passes nothing on for others.
  kHost,    // A CPU with its root complex; passes bytes on.
  kNic,
  kSwitch,
};
const char* kind_name(NodeKind kind);  // "device"

// What ranks have in common, smallest first.
enum class Level : std::uint8_t { kMachine, kRack, kSite };
inline constexpr std::size_t kLevels = 3;
const char* level_name(Level level);  // "machine"

inline constexpr std::uint32_t kNowhere = ~0u;

struct RoomNode {
  std::string name;
  NodeKind kind = NodeKind::kSwitch;
  // Its machine, rack and site, numbered from 0 over the whole room; kNowhere for a node of none.
  std::uint32_t place[kLevels] = {kNowhere, kNowhere, kNowhere};
};

struct LinkSpeed {
  double bytes_per_second = 0;
  std::uint64_t latency_ns = 0;
  bool operator==(const LinkSpeed&) const = default;
};

// Between two nodes, both ways. `shared`: the two directions take turns on one capacity.
struct Cable {
  NodeIndex a = 0;
  NodeIndex b = 0;
  LinkSpeed forward;  // From a to b.
  LinkSpeed back;
  bool shared = false;
};

struct Room {
  std::string name;
  std::vector<RoomNode> nodes;
  std::vector<Cable> cables;
  std::vector<NodeIndex> ranks;   // The node of each rank.
  std::vector<NodeIndex> spares;  // Nodes that may serve but contribute nothing, such as hosts.

  NodeIndex add(NodeKind kind, std::string node_name, const std::uint32_t (&place)[kLevels]) {
    nodes.push_back({std::move(node_name), kind, {place[0], place[1], place[2]}});
    return static_cast<NodeIndex>(nodes.size() - 1);
  }
  void connect(NodeIndex a, NodeIndex b, LinkSpeed each_way) { cables.push_back({a, b, each_way, each_way}); }
};

}  // namespace thalweg
