#include "topology/network.h"

#include <algorithm>

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
  for (const LinkIndex link : scratch_) ++wires_[wires_[link].queue].flows;
  return static_cast<Flow>(flows_.size() - 1);
}

std::uint64_t Network::pipe_bytes(Flow flow) const {
  Picoseconds latency = 0;
  double slowest = 0;  // Picoseconds per byte.
  for (std::uint32_t hop = 0; hop < flows_[flow].hops; ++hop) {
    const Wire& wire = wires_[path_links_[flows_[flow].begin + hop]];
    latency += wire.latency;
    slowest = std::max(slowest, wire.picoseconds_per_byte);
  }
  return slowest > 0 ? static_cast<std::uint64_t>(static_cast<double>(latency) / slowest) : 0;
}

std::uint32_t Network::keep(const Message& message) {
  if (free_slots_.empty()) {
    waiting_.push_back(message);
    return static_cast<std::uint32_t>(waiting_.size() - 1);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  waiting_[slot] = message;
  return slot;
}

void Network::wait_for_turn(Flow flow, std::uint64_t bytes) {
  const std::uint32_t slot = keep({bytes, 0, flow, 0});
  Path& path = flows_[flow];
  if (path.first != kNone) {
    waiting_[path.last].after = slot;
    path.last = slot;
    return;
  }
  path.first = path.last = slot;
  const LinkIndex link = path_links_[path.begin];
  Wire& wire = wires_[link];
  if (wire.last_waiting == kNone) {
    path.after = flow;
    events_.push(wires_[wire.queue].free, {0, link, kFree});
  } else {
    path.after = flows_[wire.last_waiting].after;
    flows_[wire.last_waiting].after = flow;
  }
  wire.last_waiting = flow;
}

// The link is free: one message of the flow whose turn it is starts.
void Network::take_turn(LinkIndex link) {
  Wire& wire = wires_[link];
  const Flow flow = flows_[wire.last_waiting].after;
  Path& path = flows_[flow];
  const std::uint32_t slot = path.first;
  Message message = waiting_[slot];
  free_slots_.push_back(slot);
  path.first = message.after;
  if (path.first != kNone) {
    wire.last_waiting = flow;  // Its next turn is after all others.
  } else if (wire.last_waiting == flow) {
    wire.last_waiting = kNone;
  } else {
    flows_[wire.last_waiting].after = path.after;
  }
  message.tail = now_;
  message.after = kNone;
  carry(message);
  if (wire.last_waiting != kNone) events_.push(wires_[wire.queue].free, {0, link, kFree});
}

std::vector<std::uint64_t> Network::link_bytes() const {
  std::vector<std::uint64_t> bytes(wires_.size());
  for (const Path& flow : flows_) {
    for (std::uint32_t hop = 0; hop < flow.hops; ++hop) bytes[path_links_[flow.begin + hop]] += flow.bytes;
  }
  return bytes;
}

}  // namespace thalweg
