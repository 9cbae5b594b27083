#include "topology/network/fifo_network.h"

namespace thalweg {

FifoNetwork::FifoNetwork(const Topology& topology) : Network(topology), wires_(topology.link_count()) {
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    const auto& link = topology.link(i);
    wires_[i].picoseconds_per_byte = picoseconds_per_byte(link);
    wires_[i].latency = link.latency_ns * 1000;
    wires_[i].queue = link.queue;
  }
}

void FifoNetwork::opened(Flow flow) {
  turns_.emplace_back();
  for (const LinkIndex link : links(paths_[flow])) ++wires_[wires_[link].queue].flows;
}

std::uint32_t FifoNetwork::keep(const Message& message) {
  if (free_slots_.empty()) {
    waiting_.push_back(message);
    return static_cast<std::uint32_t>(waiting_.size() - 1);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  waiting_[slot] = message;
  return slot;
}

void FifoNetwork::wait_for_turn(Flow flow, std::uint64_t bytes) {
  const std::uint32_t slot = keep({bytes, 0, flow, 0});
  Turns& turns = turns_[flow];
  if (turns.first != kNone) {
    waiting_[turns.last].after = slot;
    turns.last = slot;
    return;
  }
  turns.first = turns.last = slot;
  const LinkIndex link = path_links_[paths_[flow].begin];
  Wire& wire = wires_[link];
  if (wire.last_waiting == kNone) {
    turns.after = flow;
    events_.push(wires_[wire.queue].free, {0, link, kFree});
  } else {
    turns.after = turns_[wire.last_waiting].after;
    turns_[wire.last_waiting].after = flow;
  }
  wire.last_waiting = flow;
}

// The link is free: one message of the flow whose turn it is starts.
void FifoNetwork::take_turn(LinkIndex link) {
  Wire& wire = wires_[link];
  const Flow flow = turns_[wire.last_waiting].after;
  Turns& turns = turns_[flow];
  const std::uint32_t slot = turns.first;
  Message message = waiting_[slot];
  free_slots_.push_back(slot);
  turns.first = message.after;
  if (turns.first != kNone) {
    wire.last_waiting = flow;  // Its next turn is after all others.
  } else if (wire.last_waiting == flow) {
    wire.last_waiting = kNone;
  } else {
    turns_[wire.last_waiting].after = turns.after;
  }
  message.tail = now_;
  message.after = kNone;
  carry(message);
  if (wire.last_waiting != kNone) events_.push(wires_[wire.queue].free, {0, link, kFree});
}

// The message is at the beginning of its next link now.
void FifoNetwork::carry(Message message) {
  const Path& path = paths_[message.flow];
  const LinkIndex* links = path_links_.data() + path.begin;
  Picoseconds head = now_;
  while (message.hop < path.hops) {
    const Wire& wire = wires_[links[message.hop]];
    Picoseconds& free = wires_[wire.queue].free;
    const Picoseconds begin = head > free ? head : free, end = begin + time_of(wire, message.bytes);
    free = end;
    if (transfers_) transfers_->push_back({links[message.hop], message.flow, message.bytes, begin, end});
    message.tail = (message.tail > end ? message.tail : end) + wire.latency;
    if (++message.hop == path.hops) break;
    const bool waited = begin > head;
    head = begin + wire.latency;
    const Wire& next = wires_[links[message.hop]];
    // A link that others may want is given away ahead of time by no more than the message's own time there.
    if (wires_[next.queue].flows == 1) continue;
    if (!waited && wires_[next.queue].free <= head && head - now_ <= time_of(next, message.bytes)) continue;
    events_.push(head, {message.bytes, message.flow, keep(message)});
    return;
  }
  events_.push(message.tail, {message.bytes, message.flow, kArrived});
}

void FifoNetwork::send(Flow flow, std::uint64_t bytes) {
  Path& path = paths_[flow];
  path.bytes += bytes;
  starts_at_once(path) ? carry({bytes, now_, flow, 0}) : wait_for_turn(flow, bytes);
}

bool FifoNetwork::next(Arrival& arrival) {
  while (!events_.empty()) {
    arrival = pop();
    if (arrival.message == kArrived || arrival.message == kAlarm) return true;
    if (arrival.message == kFree) {
      take_turn(arrival.flow);
    } else if (arrival.message == kDeparts) {
      send(arrival.flow, arrival.bytes);
    } else {
      free_slots_.push_back(arrival.message);
      carry(waiting_[arrival.message]);
    }
  }
  return false;
}

}  // namespace thalweg
