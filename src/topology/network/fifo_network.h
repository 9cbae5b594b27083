// A network whose messages queue at links, first come, first served. Where they start, the flows that have
// something to send take turns, message by message.
//
// A message occupies each link of its path for size/bandwidth from the moment its first byte gets there, or
// the link is free; the first byte goes on at once (cut-through). It has arrived when its last byte has left
// every link and all latencies have passed. Where it need not wait, all of that is known when it is sent: one
// event. Where it has to, an event at the moment it gets there lets the order of arrival decide.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/network/network.h"

namespace thalweg {

class FifoNetwork final : public Network {
 public:
  explicit FifoNetwork(const Topology& topology);

  void send(Flow flow, std::uint64_t bytes) override;
  bool next(Arrival& arrival) override;

 private:
  static constexpr std::uint32_t kFree = kOwnEvents - 1;  // A link has become free; else one comes to a link.
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
  struct Turns {
    std::uint32_t first = kNone;  // Messages that wait to start, in waiting_.
    std::uint32_t last = kNone;
    Flow after = kNone;  // In the circle of the first link.
  };

  void opened(Flow flow) override;
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
    return picoseconds(static_cast<double>(bytes) * wire.picoseconds_per_byte);
  }

  std::vector<Wire> wires_;
  std::vector<Turns> turns_;      // By flow.
  std::vector<Message> waiting_;  // To start, or on their way to a link; slots are used again.
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace thalweg
