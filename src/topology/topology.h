// A machine room with the way from every rank to every other: what the network simulation and the planner
// read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/status.h"
#include "topology/room.h"

namespace thalweg {

struct DirectedLink {
  NodeIndex from = 0;
  NodeIndex to = 0;
  double bytes_per_second = 0;
  std::uint64_t latency_ns = 0;
  LinkIndex queue =
      0;  // Links with the same queue share one capacity (a half-duplex cable); else its own index.
};

// A link between two ranks' own nodes, with nothing in between (NVLink).
struct DirectLink {
  std::uint32_t from = 0;  // Ranks.
  std::uint32_t to = 0;
  double bytes_per_second = 0;
  LinkIndex link = 0;
};

// Immutable. Endpoints are numbered: ranks 0 to rank_count()-1, after them the spare ones, such as the hosts
// that "cpu" or "servers:N" use as servers.
class Topology {
 public:
  // kConfig when the room is not one network: an endpoint without a way to another (devices pass nothing on),
  // two cables between the same nodes, a speed that is not positive, or over kCoreNodesMax nodes in cycles.
  static Result<Topology> make(Room room);
  static constexpr std::uint32_t kCoreNodesMax = 1024;

  const std::string& name() const { return room_.name; }
  const Room& room() const { return room_; }

  std::uint32_t rank_count() const { return static_cast<std::uint32_t>(room_.ranks.size()); }
  std::uint32_t endpoint_count() const { return static_cast<std::uint32_t>(endpoints_.size()); }
  NodeIndex endpoint_node(std::uint32_t endpoint) const { return endpoints_[endpoint]; }
  const RoomNode& node(NodeIndex index) const { return room_.nodes[index]; }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(room_.nodes.size()); }

  // Cable c is links 2c (a to b) and 2c+1 (b to a).
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  const DirectedLink& link(LinkIndex index) const { return links_[index]; }
  std::string link_name(LinkIndex index) const;  // "gpu0 -> switch"

  // Replaces `out` by the links from one endpoint to another: the fewest, then those of least latency, then
  // of the lowest numbers. Takes time and memory of the path's length whatever the size of the room. Empty
  // when equal.
  void path(std::uint32_t from, std::uint32_t to, std::vector<LinkIndex>& out) const;
  std::uint64_t latency_ns(const std::vector<LinkIndex>& path) const;

  // Which machine, rack or site an endpoint is in, and how many there are.
  std::uint32_t place(Level level, std::uint32_t endpoint) const {
    return room_.nodes[endpoints_[endpoint]].place[static_cast<std::size_t>(level)];
  }
  std::uint32_t place_count(Level level) const { return places_[static_cast<std::size_t>(level)]; }
  // Ranks per machine, machines per rack, racks per site, sites, without the ones; their product is
  // rank_count(). {rank_count()} where ranks are not spread evenly or not numbered place by place.
  std::vector<std::uint32_t> even_levels() const;

  // Both directions of each direct cable, by (from, to).
  std::vector<DirectLink> direct_links() const;

 private:
  // Where a node that passes bytes on hangs: in a tree under a node of the core, or in the core itself.
  struct Forwarder {
    LinkIndex up = kNowhere;  // Towards the core; kNowhere in it.
    NodeIndex parent = 0;
    std::uint32_t depth = 0;
    std::uint32_t component = kNowhere;
    std::uint32_t core_index = 0;
  };
  struct Core {
    std::vector<NodeIndex> nodes;
    std::vector<LinkIndex> next;  // [from * nodes + to]: the first link of the way.
  };

  Status check_room() const;
  void index_links();
  void peel();
  void number_components();
  Status route_cores();
  void route_core(Core& core);
  Status check_reachable() const;
  LinkIndex only_door_of(NodeIndex node) const;
  bool forwards(NodeIndex node) const { return room_.nodes[node].kind != NodeKind::kDevice; }
  LinkIndex link_between(NodeIndex from, NodeIndex to) const;
  bool common_component(NodeIndex a, NodeIndex b) const;
  void append_path(NodeIndex from, NodeIndex to, std::vector<LinkIndex>& out) const;

  Room room_;
  std::vector<NodeIndex> endpoints_;
  std::vector<DirectedLink> links_;
  std::vector<std::uint32_t> out_begin_;  // Of each node in out_.
  std::vector<LinkIndex> out_;            // Links by node they leave.
  std::vector<Forwarder> forwarders_;     // By node; unused for devices.
  std::vector<Core> cores_;               // By component.
  std::vector<LinkIndex> only_door_;  // By node: the one link of a device that has no other, if it forwards.
  std::uint32_t places_[kLevels] = {};
};

}  // namespace thalweg
