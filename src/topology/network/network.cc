#include "topology/network/network.h"

#include <algorithm>

namespace thalweg {

Network::Flow Network::open(std::uint32_t from, std::uint32_t to) {
  topology_.path(from, to, scratch_);
  paths_.push_back(
      {static_cast<std::uint32_t>(path_links_.size()), static_cast<std::uint32_t>(scratch_.size()), 0});
  path_links_.insert(path_links_.end(), scratch_.begin(), scratch_.end());
  const auto flow = static_cast<Flow>(paths_.size() - 1);
  opened(flow);
  return flow;
}

std::uint64_t Network::pipe_bytes(Flow flow, Picoseconds at_ends) const {
  Picoseconds latency = at_ends;
  double slowest = 0;  // Picoseconds per byte.
  for (const LinkIndex link : links(paths_[flow])) {
    latency += topology_.link(link).latency_ns * 1000;
    slowest = std::max(slowest, picoseconds_per_byte(topology_.link(link)));
  }
  return slowest > 0 ? static_cast<std::uint64_t>(static_cast<double>(latency) / slowest) : 0;
}

std::vector<std::uint64_t> Network::link_bytes() const {
  std::vector<std::uint64_t> bytes(topology_.link_count());
  for (const Path& path : paths_) {
    for (const LinkIndex link : links(path)) bytes[link] += path.bytes;
  }
  return bytes;
}

}  // namespace thalweg
