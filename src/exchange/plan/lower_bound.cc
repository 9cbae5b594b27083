#include "exchange/plan/lower_bound.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "exchange/block.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kNoWay = ~std::uint64_t{0};

// Bytes of the elements that belong to a rank where each has a part.
double part_bytes(const Demand& demand, std::uint32_t rank) {
  return static_cast<double>(part_of({0, demand.elements()}, demand.ranks, rank).count *
                             Demand::kElementBytes);
}

// Ranks behind one set of links: a rank alone, a machine, a rack, a site.
struct Part {
  double members = 0;  // Contributing ranks.
  double own = 0;      // Bytes of the vector that belong to them.
  bool has_root = false, has_peer = false;
  double out = 0, in = 0;  // Bytes per second.
  // From where the last byte leaves it to the nearest rank outside that may want it, and from the nearest
  // outside that may have the first byte to within it.
  std::uint64_t out_ns = kNoWay, in_ns = kNoWay;
};
using Parts = std::map<std::uint32_t, Part>;

// Of a node: the two nearest parts that have what is looked for, and how far they are.
struct Near {
  std::uint64_t ns[2] = {kNoWay, kNoWay};
  std::uint32_t part[2] = {kNowhere, kNowhere};
  std::uint64_t outside(std::uint32_t of) const { return ns[part[0] == of ? 1 : 0]; }
  bool wants(std::uint32_t from) const { return part[0] != from && part[1] != from && ns[1] == kNoWay; }
  bool take(std::uint64_t latency, std::uint32_t from) {
    if (!wants(from)) return false;
    const std::size_t place = ns[0] == kNoWay ? 0 : 1;
    ns[place] = latency;
    part[place] = from;
    return true;
  }
};

// Links by the node that they leave, or lead to.
class LinksByNode {
 public:
  LinksByNode(const Topology& topology, bool backwards) : begin_(topology.node_count() + 1) {
    const auto node_of = [&](LinkIndex i) { return backwards ? topology.link(i).to : topology.link(i).from; };
    for (LinkIndex i = 0; i < topology.link_count(); ++i) ++begin_[node_of(i) + 1];
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    links_.resize(topology.link_count());
    std::vector<std::uint32_t> next = begin_;
    for (LinkIndex i = 0; i < topology.link_count(); ++i) links_[next[node_of(i)]++] = i;
  }
  std::span<const LinkIndex> of(NodeIndex node) const {
    return {links_.data() + begin_[node], begin_[node + 1] - begin_[node]};
  }

 private:
  std::vector<std::uint32_t> begin_;  // Of each node in links_.
  std::vector<LinkIndex> links_;
};

struct Ways {
  explicit Ways(const Topology& all) : topology(all), there(all, false), back(all, true) {}
  const Topology& topology;
  const LinksByNode there, back;
};

struct Start {
  NodeIndex node = 0;
  std::uint32_t part = 0;
};
// Nanoseconds from the starts to every node, or the other way, if each node passed bytes on: ranks may relay.
std::vector<Near> nearest(const Ways& ways, const std::vector<Start>& starts, bool backwards) {
  const Topology& topology = ways.topology;
  const LinksByNode& links = backwards ? ways.back : ways.there;
  std::vector<Near> near(topology.node_count());
  using Entry = std::tuple<std::uint64_t, NodeIndex, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  for (const Start& start : starts) open.emplace(0, start.node, start.part);
  while (!open.empty()) {
    const auto [latency, node, part] = open.top();
    open.pop();
    if (!near[node].take(latency, part)) continue;
    for (const LinkIndex i : links.of(node)) {
      const DirectedLink& link = topology.link(i);
      const NodeIndex next = backwards ? link.from : link.to;
      if (near[next].wants(part)) open.emplace(latency + link.latency_ns, next, part);
    }
  }
  return near;
}

bool from_one(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kScatter ||
         operation == Operation::kPointToPoint;
}
bool to_one(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kGather ||
         operation == Operation::kPointToPoint;
}

// Ranks by the part that their node has a number of; none where a node has no number (kNowhere).
template <class PartOf>
Parts parts_of(const Ways& ways, const Demand& demand, const Layout& layout, const PartOf& part_of_node) {
  const Topology& topology = ways.topology;
  Parts parts;
  std::vector<Start> sources, sinks;
  const std::uint32_t one_sink = demand.operation == Operation::kPointToPoint ? demand.peer : demand.root;
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
    const NodeIndex node = topology.endpoint_node(layout.endpoints[rank]);
    const std::uint32_t number = part_of_node(node);
    if (number == kNowhere) return {};
    Part& part = parts[number];
    part.has_root = part.has_root || rank == demand.root;
    part.has_peer = part.has_peer || rank == demand.peer;
    if (rank >= demand.ranks) continue;
    ++part.members;
    part.own += part_bytes(demand, rank);
    if (!from_one(demand.operation) || rank == demand.root) sources.push_back({node, number});
    if (!to_one(demand.operation) || rank == one_sink) sinks.push_back({node, number});
  }
  const std::vector<Near> source = nearest(ways, sources, false), sink = nearest(ways, sinks, true);
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    const DirectedLink& link = topology.link(i);
    const std::uint32_t from = part_of_node(link.from), to = part_of_node(link.to);
    if (from == to) continue;
    if (const auto found = parts.find(from); found != parts.end()) {
      Part& part = found->second;
      part.out += link.bytes_per_second;
      const std::uint64_t beyond = sink[link.to].outside(from);
      if (beyond != kNoWay) part.out_ns = std::min(part.out_ns, link.latency_ns + beyond);
    }
    if (const auto found = parts.find(to); found != parts.end()) {
      Part& part = found->second;
      part.in += link.bytes_per_second;
      const std::uint64_t before = source[link.from].outside(to);
      if (before != kNoWay) part.in_ns = std::min(part.in_ns, before + link.latency_ns);
    }
  }
  return parts;
}

// Bytes that must leave and that must enter the part.
struct Must {
  double leave = 0;
  double enter = 0;
};
Must must(const Part& part, const Demand& demand) {
  const double others = demand.ranks - part.members;
  const double all = static_cast<double>(demand.elements() * Demand::kElementBytes);
  if (part.members == 0 || others == 0) return {};
  switch (demand.operation) {
    case Operation::kAllReduce:
      return {all, all};
    case Operation::kReduce:
      return {part.has_root ? 0 : all, part.has_root ? all : 0};
    case Operation::kBroadcast:
      return {part.has_root ? all : 0, part.has_root ? 0 : all};
    case Operation::kReduceScatter:
      return {all - part.own, part.own};
    case Operation::kAllGather:
      return {part.own, all - part.own};
    case Operation::kGather:
      return {part.has_root ? 0 : part.own, part.has_root ? all - part.own : 0};
    case Operation::kScatter:
      return {part.has_root ? all - part.own : 0, part.has_root ? 0 : part.own};
    case Operation::kAllToAll:
      return {part.members * others * all / demand.ranks, part.members * others * all / demand.ranks};
    case Operation::kPointToPoint:
      return {part.has_root && !part.has_peer ? all : 0, part.has_peer && !part.has_root ? all : 0};
    case Operation::kNeighbours: {
      const double edges = demand.ranks == 2 ? 1 : 2;  // Of a ring, that leave any part of it.
      return {edges * all, edges * all};
    }
    case Operation::kBarrier:
      break;
  }
  return {};
}

constexpr double seconds_of(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// The last byte has a latency before it when the links have carried what they must.
double bound_of(const Parts& parts, const Demand& demand) {
  double bound = 0, out = 0, groups = 0;
  std::uint64_t shortest = kNoWay;
  for (const auto& [number, part] : parts) {
    const Must least = must(part, demand);
    if (least.leave > 0) bound = std::max(bound, least.leave / part.out + seconds_of(part.out_ns));
    if (least.enter > 0) bound = std::max(bound, least.enter / part.in + seconds_of(part.in_ns));
    out += part.out;
    shortest = std::min(shortest, part.out_ns);
    groups += part.members > 0 ? 1 : 0;
  }
  // A sum of g vectors takes g - 1 transfers of one, and g - 1 more bring it everywhere.
  double total = 0;
  if (demand.operation == Operation::kAllReduce) total = 2 * (groups - 1);
  if (demand.operation == Operation::kReduceScatter || demand.operation == Operation::kAllGather)
    total = groups - 1;
  if (out <= 0 || total <= 0) return bound;
  const double bytes = static_cast<double>(demand.elements() * Demand::kElementBytes);
  return std::max(bound, total * bytes / out + seconds_of(shortest));
}

// Between the root, or rank 0, and whoever depends on it or it on; ranks whose part is empty have none that
// do.
double longest_latency(const Ways& ways, const Demand& demand, const Layout& layout) {
  const Topology& topology = ways.topology;
  const Operation operation = demand.operation;
  const auto has_part = [&](std::uint32_t rank) {
    const bool by_part = operation == Operation::kReduceScatter || operation == Operation::kAllGather ||
                         operation == Operation::kGather || operation == Operation::kScatter;
    return !by_part || part_bytes(demand, rank) > 0;
  };
  const auto depends = [&](std::uint32_t rank, bool on_root) {
    if (operation == Operation::kPointToPoint) return on_root && rank == demand.peer;
    if (operation == Operation::kNeighbours) {
      const std::uint32_t away = (rank + demand.ranks - demand.root) % demand.ranks;
      return away == 1 || away == demand.ranks - 1;
    }
    if (operation == Operation::kAllGather) return has_part(on_root ? demand.root : rank);
    if (operation == Operation::kReduceScatter) return has_part(on_root ? rank : demand.root);
    return has_part(rank) && !(on_root ? to_one(operation) : from_one(operation));
  };
  std::uint64_t longest = 0;
  const NodeIndex root = topology.endpoint_node(layout.endpoints[demand.root]);
  for (const bool on_root : {true, false}) {
    const std::vector<Near> near = nearest(ways, {{root, 0}}, !on_root);
    for (std::uint32_t rank = 0; rank < demand.ranks; ++rank) {
      if (rank == demand.root || !depends(rank, on_root)) continue;
      longest = std::max(longest, near[topology.endpoint_node(layout.endpoints[rank])].ns[0]);
    }
  }
  return seconds_of(longest);
}

}  // namespace

double lower_bound_seconds(const Topology& topology, const Demand& demand, const Layout& layout) {
  if (demand.ranks <= 1 || (demand.elements() == 0 && demand.operation != Operation::kBarrier)) return 0;
  const Ways ways(topology);
  double bound = longest_latency(ways, demand, layout);
  bound =
      std::max(bound, bound_of(parts_of(ways, demand, layout, [](NodeIndex node) { return node; }), demand));
  for (std::size_t level = 0; level < kLevels; ++level) {
    const auto parts =
        parts_of(ways, demand, layout, [&](NodeIndex node) { return topology.node(node).place[level]; });
    if (parts.size() > 1) bound = std::max(bound, bound_of(parts, demand));
  }
  return bound;
}

}  // namespace thalweg
