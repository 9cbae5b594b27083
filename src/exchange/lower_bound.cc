#include "exchange/lower_bound.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

// Ranks behind one set of links: a rank alone, a machine, a rack, a site.
struct Part {
  double members = 0;  // Contributing ranks.
  bool has_root = false, has_peer = false;
  double out = 0, in = 0;  // Bytes per second.
};

// Nodes that belong to the part with a number; kNowhere for those of none.
template <class PartOf>
std::vector<Part> parts_of(const Topology& topology, const Demand& demand, const Layout& layout,
                           const PartOf& part_of_node) {
  std::map<std::uint32_t, Part> parts;
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
    const std::uint32_t number = part_of_node(topology.endpoint_node(layout.endpoints[rank]));
    if (number == kNowhere) return {};
    Part& part = parts[number];
    if (rank < demand.ranks) ++part.members;
    part.has_root = part.has_root || rank == demand.root;
    part.has_peer = part.has_peer || rank == demand.peer;
  }
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    const DirectedLink& link = topology.link(i);
    const std::uint32_t from = part_of_node(link.from), to = part_of_node(link.to);
    if (from == to) continue;
    if (const auto found = parts.find(from); found != parts.end()) found->second.out += link.bytes_per_second;
    if (const auto found = parts.find(to); found != parts.end()) found->second.in += link.bytes_per_second;
  }
  std::vector<Part> list;
  for (const auto& [number, part] : parts) list.push_back(part);
  return list;
}

// In vectors of the operation: what must leave and what must enter the part.
struct Must {
  double leave = 0;
  double enter = 0;
};
Must must(const Part& part, const Demand& demand) {
  const double n = demand.ranks, others = (n - part.members) / n, own = part.members / n;
  if (part.members == 0 || others == 0) return {};
  switch (demand.operation) {
    case Operation::kAllReduce:
      return {1, 1};
    case Operation::kReduce:
      return {part.has_root ? 0.0 : 1.0, part.has_root ? 1.0 : 0.0};
    case Operation::kBroadcast:
      return {part.has_root ? 1.0 : 0.0, part.has_root ? 0.0 : 1.0};
    case Operation::kReduceScatter:
      return {others, own};
    case Operation::kAllGather:
      return {own, others};
    case Operation::kGather:
      return {part.has_root ? 0 : own, part.has_root ? others : 0};
    case Operation::kScatter:
      return {part.has_root ? others : 0, part.has_root ? 0 : own};
    case Operation::kAllToAll:
      return {part.members * others, part.members * others};
    case Operation::kPointToPoint:
      return {part.has_root && !part.has_peer ? 1.0 : 0.0, part.has_peer && !part.has_root ? 1.0 : 0.0};
    case Operation::kBarrier:
      break;
  }
  return {};
}

double bound_of(const std::vector<Part>& parts, const Demand& demand) {
  const bool by_parts = demand.operation != Operation::kAllReduce && demand.operation != Operation::kReduce &&
                        demand.operation != Operation::kBroadcast &&
                        demand.operation != Operation::kPointToPoint;
  // Parts have a whole number of elements, so the smallest may be less than its share.
  const std::uint64_t parts_bytes = demand.elements() / demand.ranks * demand.ranks * Demand::kElementBytes;
  const double bytes = static_cast<double>(by_parts ? std::min(parts_bytes, demand.bytes) : demand.bytes);
  double bound = 0, out = 0, groups = 0;
  for (const Part& part : parts) {
    const Must least = must(part, demand);
    if (least.leave > 0) bound = std::max(bound, least.leave * bytes / part.out);
    if (least.enter > 0) bound = std::max(bound, least.enter * bytes / part.in);
    out += part.out;
    groups += part.members > 0 ? 1 : 0;
  }
  // A sum of g vectors takes g - 1 transfers of one, and g - 1 more bring it everywhere.
  double total = 0;
  if (demand.operation == Operation::kAllReduce) total = 2 * (groups - 1);
  if (demand.operation == Operation::kReduceScatter || demand.operation == Operation::kAllGather)
    total = groups - 1;
  return out > 0 ? std::max(bound, total * bytes / out) : bound;
}

// Nanoseconds from a node to every other, or the other way, if each node passed bytes on: ranks may relay.
std::vector<std::uint64_t> latencies(const Topology& topology, NodeIndex start, bool backwards) {
  std::vector<std::vector<LinkIndex>> links(topology.node_count());
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    links[backwards ? topology.link(i).to : topology.link(i).from].push_back(i);
  }
  std::vector<std::uint64_t> best(topology.node_count(), ~std::uint64_t{0});
  using Entry = std::pair<std::uint64_t, NodeIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  best[start] = 0;
  open.emplace(0, start);
  while (!open.empty()) {
    const auto [latency, node] = open.top();
    open.pop();
    if (latency > best[node]) continue;
    for (const LinkIndex i : links[node]) {
      const DirectedLink& link = topology.link(i);
      const NodeIndex next = backwards ? link.from : link.to;
      if (latency + link.latency_ns >= best[next]) continue;
      best[next] = latency + link.latency_ns;
      open.emplace(best[next], next);
    }
  }
  return best;
}

// Between the root, or rank 0, and whoever depends on it or it on.
double longest_latency(const Topology& topology, const Demand& demand, const Layout& layout) {
  std::uint64_t longest = 0;
  const bool one_pair = demand.operation == Operation::kPointToPoint;
  const bool to_root =
      demand.operation != Operation::kBroadcast && demand.operation != Operation::kScatter && !one_pair;
  const bool from_root = demand.operation != Operation::kReduce && demand.operation != Operation::kGather;
  const NodeIndex root = topology.endpoint_node(layout.endpoints[demand.root]);
  for (const bool backwards : {false, true}) {
    if (backwards ? !to_root : !from_root) continue;
    const auto best = latencies(topology, root, backwards);
    for (std::uint32_t rank = 0; rank < demand.ranks; ++rank) {
      if (one_pair && rank != demand.peer) continue;
      longest = std::max(longest, best[topology.endpoint_node(layout.endpoints[rank])]);
    }
  }
  return static_cast<double>(longest) * 1e-9;
}

}  // namespace

double lower_bound_seconds(const Topology& topology, const Demand& demand, const Layout& layout) {
  if (demand.ranks <= 1) return 0;
  double bound = longest_latency(topology, demand, layout);
  bound = std::max(bound,
                   bound_of(parts_of(topology, demand, layout, [](NodeIndex node) { return node; }), demand));
  for (std::size_t level = 0; level < kLevels; ++level) {
    const auto parts =
        parts_of(topology, demand, layout, [&](NodeIndex node) { return topology.node(node).place[level]; });
    if (parts.size() > 1) bound = std::max(bound, bound_of(parts, demand));
  }
  return bound;
}

}  // namespace thalweg
