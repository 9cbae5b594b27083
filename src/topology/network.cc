#include "topology/network.h"

namespace thalweg {

Network::Network(const Topology& topology) : topology_(topology), wires_(topology.link_count()) {
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    const auto& link = topology.link(i);
    wires_[i].picoseconds_per_byte = 1e12 / link.bytes_per_second;
    wires_[i].latency = link.latency_ns * 1000;
    wires_[i].queue = link.queue;
  }
}

Network::Flow Network::open(std::uint32_t from, std::uint32_t to) {
  topology_.path(from, to, scratch_);
  flows_.push_back(
      {static_cast<std::uint32_t>(path_links_.size()), static_cast<std::uint32_t>(scratch_.size()), 0});
  path_links_.insert(path_links_.end(), scratch_.begin(), scratch_.end());
  return static_cast<Flow>(flows_.size() - 1);
}

std::vector<std::uint64_t> Network::link_bytes() const {
  std::vector<std::uint64_t> bytes(wires_.size());
  for (const Path& flow : flows_) {
    for (std::uint32_t hop = 0; hop < flow.hops; ++hop) bytes[path_links_[flow.begin + hop]] += flow.bytes;
  }
  return bytes;
}

Picoseconds Network::busy(LinkIndex link, std::uint64_t bytes) const { return time_of(wires_[link], bytes); }

}  // namespace thalweg
