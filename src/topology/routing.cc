// Paths: nodes in no cycle hang in trees and need one link each; the rest, the core, has a table per
// component.
#include <algorithm>

#include "base/check.h"
#include "topology/topology.h"

namespace thalweg {

// Leaves of the graph of forwarders, one after another, until every node left is in a cycle or is alone.
void Topology::peel() {
  const auto count = node_count();
  forwarders_.assign(count, {});
  std::vector<std::uint32_t> degree(count, 0);
  std::vector<char> gone(count, 0);
  for (const DirectedLink& link : links_) degree[link.from] += forwards(link.from) && forwards(link.to);
  std::vector<NodeIndex> leaves;
  for (NodeIndex node = 0; node < count; ++node) {
    if (forwards(node) && degree[node] == 1) leaves.push_back(node);
  }
  std::vector<NodeIndex> order;  // Parents come after their children.
  for (std::size_t next = 0; next < leaves.size(); ++next) {
    const NodeIndex node = leaves[next];
    if (degree[node] == 0) continue;  // The last one of its tree.
    gone[node] = 1;
    order.push_back(node);
    for (std::uint32_t i = out_begin_[node]; i < out_begin_[node + 1]; ++i) {
      const NodeIndex other = links_[out_[i]].to;
      if (!forwards(other) || gone[other]) continue;
      forwarders_[node].up = out_[i];
      forwarders_[node].parent = other;
      if (--degree[other] == 1) leaves.push_back(other);
    }
    degree[node] = 0;
  }
  std::reverse(order.begin(), order.end());
  for (const NodeIndex node : order)
    forwarders_[node].depth = forwarders_[forwarders_[node].parent].depth + 1;
  number_components();
  for (const NodeIndex node : order) {
    forwarders_[node].component = forwarders_[forwarders_[node].parent].component;
  }
}

void Topology::number_components() {
  for (NodeIndex start = 0; start < node_count(); ++start) {
    if (!forwards(start) || forwarders_[start].up != kNowhere || forwarders_[start].component != kNowhere)
      continue;
    Core core;
    const auto add = [&](NodeIndex node) {
      forwarders_[node].component = static_cast<std::uint32_t>(cores_.size());
      forwarders_[node].core_index = static_cast<std::uint32_t>(core.nodes.size());
      core.nodes.push_back(node);
    };
    add(start);
    for (std::size_t next = 0; next < core.nodes.size(); ++next) {
      const NodeIndex node = core.nodes[next];
      for (std::uint32_t i = out_begin_[node]; i < out_begin_[node + 1]; ++i) {
        const NodeIndex other = links_[out_[i]].to;
        const Forwarder& there = forwarders_[other];
        if (forwards(other) && there.up == kNowhere && there.component == kNowhere) add(other);
      }
    }
    cores_.push_back(std::move(core));
  }
}

Status Topology::route_cores() {
  constexpr std::size_t kTableEntriesMax = std::size_t{16} * kCoreNodesMax * kCoreNodesMax;  // 64 MiB.
  std::size_t entries = 0, nodes = 0;
  for (Core& core : cores_) {
    const std::size_t size = core.nodes.size();
    if (size > 1) nodes += size;
    entries += size * size;
    if (size > kCoreNodesMax || entries > kTableEntriesMax) {
      return {Code::kConfig, room_.name + ": " + std::to_string(nodes) +
                                 " switches, hosts and NICs lie on cycles; expected at most " +
                                 std::to_string(kCoreNodesMax)};
    }
    route_core(core);
  }
  return ok_status();
}

// Breadth first from each target, against the links' direction: level by level, the least latency in each.
void Topology::route_core(Core& core) {
  const std::size_t size = core.nodes.size();
  core.next.assign(size * size, kNowhere);
  std::vector<std::uint32_t> hops(size);
  std::vector<std::uint64_t> latency(size);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t target = 0; target < size; ++target) {
    std::fill(hops.begin(), hops.end(), kNowhere);
    queue.assign(1, target);
    hops[target] = 0;
    latency[target] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t at = queue[next];
      const NodeIndex node = core.nodes[at];
      for (std::uint32_t i = out_begin_[node]; i < out_begin_[node + 1]; ++i) {
        const LinkIndex towards = out_[i] ^ 1u;
        const NodeIndex other = links_[out_[i]].to;
        if (!forwards(other) || forwarders_[other].up != kNowhere) continue;
        const std::uint32_t there = forwarders_[other].core_index;
        const std::uint64_t sum = latency[at] + links_[towards].latency_ns;
        LinkIndex& best = core.next[there * size + target];
        if (hops[there] == kNowhere) {
          hops[there] = hops[at] + 1;
          queue.push_back(there);
        } else if (hops[there] != hops[at] + 1 || sum > latency[there] ||
                   (sum == latency[there] && towards > best)) {
          continue;
        }
        latency[there] = sum;
        best = towards;
      }
    }
  }
}

// Between two nodes that pass bytes on, of one component.
void Topology::append_path(NodeIndex from, NodeIndex to, std::vector<LinkIndex>& out) const {
  const std::size_t begin = out.size();
  const auto depth = [&](NodeIndex node) { return forwarders_[node].depth; };
  const auto climb = [&](NodeIndex& node) {
    out.push_back(forwarders_[node].up);
    node = forwarders_[node].parent;
  };
  NodeIndex low = from, high = to;  // Where the way up ends and the way down begins.
  while (low != high && (depth(low) > 0 || depth(high) > 0)) {
    if (depth(low) >= depth(high)) {
      climb(low);
    }
    if (low != high && depth(high) > depth(low)) high = forwarders_[high].parent;
  }
  if (low != high) {
    const Core& core = cores_[forwarders_[low].component];
    const std::size_t size = core.nodes.size();
    for (NodeIndex node = low; node != high; node = links_[out.back()].to) {
      const LinkIndex next = core.next[forwarders_[node].core_index * size + forwarders_[high].core_index];
      THALWEG_CHECK(next != kNowhere, "a component is connected");
      out.push_back(next);
    }
  }
  const std::size_t down = out.size();
  for (NodeIndex node = to; node != high; node = forwarders_[node].parent) {
    out.push_back(forwarders_[node].up ^ 1u);
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(down), out.end());
  THALWEG_CHECK(out.size() == begin || links_[out.back()].to == to, "a path ends where it leads");
}

LinkIndex Topology::link_between(NodeIndex from, NodeIndex to) const {
  const auto begin = out_.begin() + out_begin_[from], end = out_.begin() + out_begin_[from + 1];
  const auto found = std::lower_bound(begin, end, to,
                                      [&](LinkIndex link, NodeIndex node) { return links_[link].to < node; });
  return found != end && links_[*found].to == to ? *found : kNowhere;
}

void Topology::path(std::uint32_t from, std::uint32_t to, std::vector<LinkIndex>& out) const {
  out.clear();
  const NodeIndex source = endpoints_[from], target = endpoints_[to];
  if (source == target) return;
  const LinkIndex leaves_by = only_door_[source], comes_by = only_door_[target];
  if (leaves_by != kNowhere && comes_by != kNowhere) {
    out.push_back(leaves_by);
    append_path(links_[leaves_by].to, links_[comes_by].to, out);
    out.push_back(comes_by ^ 1u);
    return;
  }
  if (const LinkIndex direct = link_between(source, target); direct != kNowhere) {
    out.push_back(direct);
    return;
  }
  // Calls each with the links by which a device enters the graph of forwarders; with none for a forwarder,
  // which is in it.
  const auto each_door = [&](NodeIndex node, const auto& each) {
    if (forwards(node)) return each(kNowhere);
    for (std::uint32_t i = out_begin_[node]; i < out_begin_[node + 1]; ++i) {
      if (forwards(links_[out_[i]].to)) each(out_[i]);
    }
  };
  std::vector<LinkIndex> best;  // Where there are several ways; most often there is one, in `out`.
  each_door(source, [&](LinkIndex first) {
    each_door(target, [&](LinkIndex last) {
      const NodeIndex enter = first == kNowhere ? source : links_[first].to;
      const NodeIndex leave = last == kNowhere ? target : links_[last].to;
      if (forwarders_[enter].component != forwarders_[leave].component) return;
      if (!out.empty()) best.swap(out);
      out.clear();
      if (first != kNowhere) out.push_back(first);
      append_path(enter, leave, out);
      if (last != kNowhere) out.push_back(last ^ 1u);
      const auto better = [&] {
        if (best.empty() || out.size() != best.size()) return best.empty() || out.size() < best.size();
        const std::uint64_t a = latency_ns(out), b = latency_ns(best);
        return a != b ? a < b : out < best;
      };
      if (!better()) best.swap(out);
    });
  });
  THALWEG_CHECK(!out.empty(), "every two endpoints of a topology are connected");
}

}  // namespace thalweg
