#include "topology/network/fair_network.h"

#include <algorithm>

namespace thalweg {

FairNetwork::FairNetwork(const Topology& topology) : Network(topology), queues_(topology.link_count()) {}

void FairNetwork::opened(Flow flow) {
  fluids_.emplace_back();
  positions_.resize(path_links_.size());
  for (const LinkIndex link : links(paths_[flow])) {
    fluids_[flow].latency += topology_.link(link).latency_ns * 1000;
  }
}

void FairNetwork::send(Flow flow, std::uint64_t bytes) {
  paths_[flow].bytes += bytes;
  if (paths_[flow].hops == 0) {
    events_.push(now_, {bytes, flow, kArrived});
    return;
  }
  fluids_[flow].messages.push_back(bytes);
  if (fluids_[flow].messages.size() > 1) return;
  join(flow);
  begin_message(flow);
}

bool FairNetwork::next(Arrival& arrival) {
  while (!events_.empty()) {
    arrival = pop();
    if (arrival.message == kArrived || arrival.message == kAlarm) return true;
    if (arrival.message == kSettle) {
      settle();
    } else if (arrival.message == kDeparts) {
      send(arrival.flow, arrival.bytes);
    } else if (arrival.bytes == fluids_[arrival.flow].changes) {
      end_message(arrival.flow);
    }
  }
  return false;
}

void FairNetwork::mark(LinkIndex queue) {
  if (queues_[queue].changed) return;
  queues_[queue].changed = true;
  if (changed_.empty()) events_.push(now_, {0, 0, kSettle});
  changed_.push_back(queue);
}

void FairNetwork::join(Flow flow) {
  const Path& path = paths_[flow];
  for (std::uint32_t i = path.begin; i < path.begin + path.hops; ++i) {
    const LinkIndex queue = topology_.link(path_links_[i]).queue;
    positions_[i] = static_cast<std::uint32_t>(queues_[queue].flows.size());
    queues_[queue].flows.push_back(flow);
    mark(queue);
  }
  fluids_[flow].pace = 0;
}

void FairNetwork::leave(Flow flow) {
  const Path& path = paths_[flow];
  for (std::uint32_t i = path.begin; i < path.begin + path.hops; ++i) {
    const LinkIndex queue = topology_.link(path_links_[i]).queue;
    std::vector<Flow>& flows = queues_[queue].flows;
    const Flow last = flows.back();
    flows[positions_[i]] = last;
    flows.pop_back();
    const Path& moved = paths_[last];
    for (std::uint32_t j = moved.begin; j < moved.begin + moved.hops; ++j) {
      if (topology_.link(path_links_[j]).queue == queue) positions_[j] = positions_[i];
    }
    mark(queue);
  }
}

void FairNetwork::begin_message(Flow flow) {
  Fluid& fluid = fluids_[flow];
  fluid.left = static_cast<double>(fluid.messages.front());
  fluid.since = fluid.begun = now_;
  if (fluid.pace > 0) expect_end(flow);
}

void FairNetwork::expect_end(Flow flow) {
  Fluid& fluid = fluids_[flow];
  events_.push(now_ + picoseconds(fluid.left * fluid.pace), {++fluid.changes, flow, kGone});
}

void FairNetwork::end_message(Flow flow) {
  Fluid& fluid = fluids_[flow];
  const std::uint64_t bytes = fluid.messages.front();
  if (transfers_) {
    Picoseconds ahead = 0;
    for (const LinkIndex link : links(paths_[flow])) {
      transfers_->push_back({link, flow, bytes, fluid.begun + ahead, now_ + ahead});
      ahead += topology_.link(link).latency_ns * 1000;
    }
  }
  events_.push(now_ + fluid.latency, {bytes, flow, kArrived});
  fluid.messages.erase(fluid.messages.begin());
  fluid.messages.empty() ? leave(flow) : begin_message(flow);
}

// The flows whose rates may have changed: those at queues that have changed, those that share a queue with
// one of them, and so on.
void FairNetwork::gather() {
  affected_.clear();
  reached_.clear();
  const auto reach = [this](LinkIndex queue) {
    if (queues_[queue].seen) return;
    queues_[queue].seen = true;
    reached_.push_back(queue);
  };
  for (const LinkIndex queue : changed_) {
    queues_[queue].changed = false;
    reach(queue);
  }
  changed_.clear();
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    for (const Flow flow : queues_[reached_[i]].flows) {
      if (fluids_[flow].seen) continue;
      fluids_[flow].seen = true;
      affected_.push_back(flow);
      for (const LinkIndex link : links(paths_[flow])) reach(topology_.link(link).queue);
    }
  }
  for (const LinkIndex queue : reached_) queues_[queue].seen = false;
  for (const Flow flow : affected_) fluids_[flow].seen = false;
}

MaxMin::Use FairNetwork::use_of(LinkIndex link) const {
  return {topology_.link(link).queue, picoseconds_per_byte(topology_.link(link))};
}

void FairNetwork::settle() {
  gather();
  max_min_.clear();
  for (const Flow flow : affected_) {
    uses_.clear();
    for (const LinkIndex link : links(paths_[flow])) uses_.push_back(use_of(link));
    max_min_.add(uses_);
  }
  const std::vector<double>& paces = max_min_.solve();
  for (std::size_t i = 0; i < affected_.size(); ++i) {
    Fluid& fluid = fluids_[affected_[i]];
    if (paces[i] == fluid.pace) continue;
    if (fluid.pace > 0) {
      const double gone = static_cast<double>(now_ - fluid.since) / fluid.pace;
      fluid.left = std::max(0.0, fluid.left - gone);
    }
    fluid.since = now_;
    fluid.pace = paces[i];
    expect_end(affected_[i]);
  }
}

}  // namespace thalweg
