// The network of a machine room in virtual time: messages queue at directed links, first come, first served.
// Where they start, the flows that have something to send take turns, message by message.
//
// A message occupies each link of its path for size/bandwidth from the moment its first byte gets there, or
// the link is free; the first byte goes on at once (cut-through). It has arrived when its last byte has left
// every link and all latencies have passed. Where it need not wait, all of that is known when it is sent: one
// event. Where it has to, an event at the moment it gets there lets the order of arrival decide.
#pragma once

#include <cstdint>
#include <vector>

#include "base/radix_heap.h"
#include "topology/topology.h"

namespace thalweg {

// Of virtual time: fine enough for one byte at 100 GB/s, and 106 days long.
using Picoseconds = std::uint64_t;
constexpr double seconds(Picoseconds time) { return static_cast<double>(time) * 1e-12; }

class Network {
 public:
  using Flow = std::uint32_t;
  explicit Network(const Topology& topology);

  // Messages of one flow take one path and arrive in order.
  Flow open(std::uint32_t from, std::uint32_t to);  // Endpoints.
  // Bytes that are on their way at once where nothing makes them wait.
  std::uint64_t pipe_bytes(Flow flow) const;
  void send(Flow flow, std::uint64_t bytes) {
    Path& path = flows_[flow];
    path.bytes += bytes;
    starts_at_once(path) ? carry({bytes, now_, flow, 0}) : wait_for_turn(flow, bytes);
  }

  // Has next() give an arrival of no bytes at that moment, or now where it is past.
  void alarm(Flow flow, Picoseconds when) { events_.push(when > now_ ? when : now_, {0, flow, kArrived}); }

  struct Arrival {
    std::uint64_t bytes = 0;
    Flow flow = 0;
    std::uint32_t message =
        kArrived;  // Private: else one that comes to a link, or a link that has become free.
  };
  // Goes on to the next arrival; false when nothing is under way.
  bool next(Arrival& arrival);
  // What arrives `ahead` arrivals from now, if that is known already and at this very moment; a hint.
  const Arrival* ahead(std::size_t ahead) const {
    const auto* entry = events_.ahead(ahead);
    return entry && entry->value.message == kArrived ? &entry->value : nullptr;
  }

  Picoseconds now() const { return now_; }
  std::uint64_t events() const { return events_taken_; }
  std::vector<std::uint64_t> link_bytes() const;  // By link.

  // One message's time on one link, for pictures and traces.
  struct Transfer {
    LinkIndex link;
    Flow flow;
    std::uint64_t bytes;
    Picoseconds begin;
    Picoseconds end;
  };
  void record(std::vector<Transfer>* transfers) { transfers_ = transfers; }  // Null: stop.

 private:
  static constexpr std::uint32_t kArrived = ~0u;
  static constexpr std::uint32_t kFree = ~0u - 1;
  static constexpr std::uint32_t kNone = ~0u;
  struct Message {
    std::uint64_t bytes;
    Picoseconds tail;  // When the last byte gets where the first one is now.
    Flow flow;
    std::uint32_t hop;
    std::uint32_t after = kNone;  // Of those that wait to start.
  };
  struct Wire {
    Picoseconds free = 0;  // Of the queue with this number.
    double picoseconds_per_byte = 0;
    Picoseconds latency = 0;
    LinkIndex queue = 0;
    std::uint32_t flows = 0;    // That pass the queue with this number.
    Flow last_waiting = kNone;  // Of the circle of flows that wait to start here, the one whose turn is last.
  };
  struct Path {
    std::uint32_t begin = 0;  // In path_links_.
    std::uint32_t hops = 0;
    std::uint64_t bytes = 0;
    std::uint32_t first = kNone;  // Messages that wait to start, in waiting_.
    std::uint32_t last = kNone;
    Flow after = kNone;  // In the circle of the first link.
  };

  // A link that has just become free is due to whoever waits for it.
  bool starts_at_once(const Path& path) const {
    if (path.hops == 0) return true;
    const Wire& first = wires_[path_links_[path.begin]];
    return first.last_waiting == kNone && wires_[first.queue].free <= now_;
  }
  void carry(Message message);
  std::uint32_t keep(const Message& message);
  void wait_for_turn(Flow flow, std::uint64_t bytes);
  void take_turn(LinkIndex link);
  static Picoseconds time_of(const Wire& wire, std::uint64_t bytes) {
    return static_cast<Picoseconds>(static_cast<double>(bytes) * wire.picoseconds_per_byte + 0.5);
  }

  const Topology& topology_;
  std::vector<Wire> wires_;
  std::vector<Path> flows_;
  std::vector<LinkIndex> path_links_;
  RadixHeap<Arrival> events_;
  std::vector<Message> waiting_;  // To start, or on their way to a link; slots are used again.
  std::vector<std::uint32_t> free_slots_;
  Picoseconds now_ = 0;
  std::uint64_t events_taken_ = 0;
  std::vector<Transfer>* transfers_ = nullptr;
  std::vector<LinkIndex> scratch_;
};

// The message is at the beginning of its next link now.
inline void Network::carry(Message message) {
  const Path& path = flows_[message.flow];
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

inline bool Network::next(Arrival& arrival) {
  while (!events_.empty()) {
    const auto entry = events_.pop();
    ++events_taken_;
    now_ = entry.key;
    arrival = entry.value;
    if (arrival.message == kArrived) return true;
    if (arrival.message == kFree) {
      take_turn(arrival.flow);
      continue;
    }
    free_slots_.push_back(arrival.message);
    carry(waiting_[arrival.message]);
  }
  return false;
}

}  // namespace thalweg
