#include "topology/topology.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

bool usable(const LinkSpeed& speed) {
  return std::isfinite(speed.bytes_per_second) && speed.bytes_per_second > 0;
}

// How many members each group has, when groups are numbered in the order of their members and all are equal;
// else 0.
std::uint32_t even_size(const std::vector<std::uint32_t>& group_of) {
  if (group_of.empty() || group_of.front() == kNowhere) return 0;
  std::size_t size = 0;
  for (std::size_t begin = 0; begin < group_of.size();) {
    std::size_t end = begin;
    while (end < group_of.size() && group_of[end] == group_of[begin]) ++end;
    if (size == 0) size = end;
    const bool next = begin == 0 || group_of[begin] > group_of[begin - 1];
    if (end - begin != size || !next) return 0;
    begin = end;
  }
  return static_cast<std::uint32_t>(size);
}

}  // namespace

Result<Topology> Topology::make(Room room) {
  Topology topology;
  topology.room_ = std::move(room);
  topology.endpoints_ = topology.room_.ranks;
  topology.endpoints_.insert(topology.endpoints_.end(), topology.room_.spares.begin(),
                             topology.room_.spares.end());
  if (Status status = topology.check_room(); !status.ok()) return status;
  topology.index_links();
  topology.peel();
  if (Status status = topology.route_cores(); !status.ok()) return status;
  if (Status status = topology.check_reachable(); !status.ok()) return status;
  return topology;
}

Status Topology::check_room() const {
  const auto wrong = [&](const std::string& what) { return Status(Code::kConfig, room_.name + ": " + what); };
  if (room_.ranks.empty()) return wrong("no rank; expected at least one device");
  for (const NodeIndex node : endpoints_) {
    if (node >= node_count())
      return wrong("a rank is at node " + std::to_string(node) + ", which is not there");
  }
  std::vector<NodeIndex> used = endpoints_;
  std::sort(used.begin(), used.end());
  if (const auto twice = std::adjacent_find(used.begin(), used.end()); twice != used.end()) {
    return wrong("node '" + room_.nodes[*twice].name + "' is two ranks; expected one");
  }
  for (const Cable& cable : room_.cables) {
    if (cable.a >= node_count() || cable.b >= node_count())
      return wrong("a link ends at a node that is not there");
    const std::string between =
        "link '" + room_.nodes[cable.a].name + "' - '" + room_.nodes[cable.b].name + "'";
    if (cable.a == cable.b) return wrong(between + " joins a node to itself; expected two nodes");
    if (!usable(cable.forward) || !usable(cable.back)) {
      return wrong(between + " has no bandwidth; expected a positive one");
    }
  }
  return ok_status();
}

void Topology::index_links() {
  links_.reserve(2 * room_.cables.size());
  for (const Cable& cable : room_.cables) {
    const auto there = static_cast<LinkIndex>(links_.size());
    links_.push_back({cable.a, cable.b, cable.forward.bytes_per_second, cable.forward.latency_ns, there});
    links_.push_back({cable.b, cable.a, cable.back.bytes_per_second, cable.back.latency_ns,
                      cable.shared ? there : there + 1});
  }
  out_begin_.assign(node_count() + 1, 0);
  for (const DirectedLink& link : links_) ++out_begin_[link.from + 1];
  for (std::size_t i = 1; i < out_begin_.size(); ++i) out_begin_[i] += out_begin_[i - 1];
  out_.resize(links_.size());
  for (LinkIndex i = 0; i < links_.size(); ++i) out_[i] = i;
  std::sort(out_.begin(), out_.end(), [&](LinkIndex x, LinkIndex y) {
    const DirectedLink &a = links_[x], &b = links_[y];
    return a.from != b.from ? a.from < b.from : a.to != b.to ? a.to < b.to : x < y;
  });
  for (NodeIndex node = 0; node < node_count(); ++node) only_door_.push_back(only_door_of(node));
  for (std::size_t level = 0; level < kLevels; ++level) {
    for (const RoomNode& node : room_.nodes) {
      if (node.place[level] != kNowhere) places_[level] = std::max(places_[level], node.place[level] + 1);
    }
  }
}

LinkIndex Topology::only_door_of(NodeIndex node) const {
  const bool has_one = out_begin_[node + 1] - out_begin_[node] == 1;
  if (forwards(node) || !has_one) return kNowhere;
  const LinkIndex door = out_[out_begin_[node]];
  return forwards(links_[door].to) ? door : kNowhere;
}

bool Topology::common_component(NodeIndex a, NodeIndex b) const {
  const auto reaches = [&](NodeIndex node, std::uint32_t component) {
    if (forwards(node)) return forwarders_[node].component == component;
    for (std::uint32_t i = out_begin_[node]; i < out_begin_[node + 1]; ++i) {
      const NodeIndex other = links_[out_[i]].to;
      if (forwards(other) && forwarders_[other].component == component) return true;
    }
    return false;
  };
  if (forwards(a)) return reaches(b, forwarders_[a].component);
  for (std::uint32_t i = out_begin_[a]; i < out_begin_[a + 1]; ++i) {
    const NodeIndex other = links_[out_[i]].to;
    if (forwards(other) && reaches(b, forwarders_[other].component)) return true;
  }
  return false;
}

Status Topology::check_reachable() const {
  for (std::size_t i = 1; i < out_.size(); ++i) {
    const DirectedLink &a = links_[out_[i - 1]], &b = links_[out_[i]];
    if (a.from == b.from && a.to == b.to) {
      return {Code::kConfig, room_.name + ": two links between '" + room_.nodes[a.from].name + "' and '" +
                                 room_.nodes[a.to].name + "'; expected one, with the bandwidth of both"};
    }
  }
  const auto refuse = [&](NodeIndex a, NodeIndex b) {
    return Status(Code::kConfig, room_.name + ": no way from '" + room_.nodes[a].name + "' to '" +
                                     room_.nodes[b].name + "'; expected links over switches, hosts or NICs");
  };
  // Mostly one component reaches them all, which one pass finds out.
  for (std::uint32_t component = 0; component < cores_.size(); ++component) {
    const NodeIndex node = cores_[component].nodes.front();
    if (std::all_of(endpoints_.begin(), endpoints_.end(),
                    [&](NodeIndex e) { return common_component(node, e); })) {
      return ok_status();
    }
    if (component == 16) break;
  }
  if (endpoints_.size() > kCoreNodesMax) {
    return {Code::kConfig, room_.name + ": no switch, host or NIC leads to all endpoints; expected one"};
  }
  for (std::size_t a = 0; a < endpoints_.size(); ++a) {
    for (std::size_t b = a + 1; b < endpoints_.size(); ++b) {
      const NodeIndex x = endpoints_[a], y = endpoints_[b];
      if (!common_component(x, y) && link_between(x, y) == kNowhere) return refuse(x, y);
    }
  }
  return ok_status();
}

std::string Topology::link_name(LinkIndex index) const {
  return room_.nodes[links_[index].from].name + " -> " + room_.nodes[links_[index].to].name;
}

std::uint64_t Topology::latency_ns(const std::vector<LinkIndex>& path) const {
  std::uint64_t sum = 0;
  for (const LinkIndex link : path) sum += links_[link].latency_ns;
  return sum;
}

std::vector<std::uint32_t> Topology::even_levels() const {
  std::vector<std::uint32_t> sizes;
  std::uint32_t covered = 1;  // Ranks in one group of the level below.
  for (const Level level : {Level::kMachine, Level::kRack, Level::kSite}) {
    std::vector<std::uint32_t> group_of(rank_count());
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) group_of[rank] = place(level, rank);
    const std::uint32_t ranks = even_size(group_of);
    if (ranks == 0 && group_of.front() == kNowhere) continue;  // A level that the room does not have.
    if (ranks == 0 || ranks % covered != 0) return {rank_count()};
    if (ranks > covered) sizes.push_back(ranks / covered);
    covered = ranks;
  }
  if (rank_count() > covered || sizes.empty()) sizes.push_back(rank_count() / covered);
  return sizes;
}

std::vector<DirectLink> Topology::direct_links() const {
  std::vector<std::uint32_t> rank_of(node_count(), kNowhere);
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) rank_of[room_.ranks[rank]] = rank;
  std::vector<DirectLink> direct;
  for (LinkIndex i = 0; i < link_count(); ++i) {
    const std::uint32_t from = rank_of[links_[i].from], to = rank_of[links_[i].to];
    if (from != kNowhere && to != kNowhere) direct.push_back({from, to, links_[i].bytes_per_second, i});
  }
  std::sort(direct.begin(), direct.end(), [](const DirectLink& a, const DirectLink& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  return direct;
}

}  // namespace thalweg
