// The network of a machine room in virtual time: messages of flows go along paths of directed links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/network/radix_heap.h"
#include "topology/topology.h"

namespace thalweg {

// Of virtual time: fine enough for one byte at 100 GB/s, and 106 days long.
using Picoseconds = std::uint64_t;
constexpr double seconds(Picoseconds time) { return static_cast<double>(time) * 1e-12; }

class Network {
 public:
  using Flow = std::uint32_t;
  // The topology outlives the network.
  explicit Network(const Topology& topology) : topology_(topology) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // Messages of one flow take one path and arrive in order.
  Flow open(std::uint32_t from, std::uint32_t to);  // Endpoints.
  // Bytes that are on their way at once where nothing makes them wait but so long at the ends.
  std::uint64_t pipe_bytes(Flow flow, Picoseconds at_ends = 0) const;
  std::uint32_t hops(Flow flow) const { return paths_[flow].hops; }

  virtual void send(Flow flow, std::uint64_t bytes) = 0;
  // The same at that moment, or now where it is past.
  void send_at(Flow flow, std::uint64_t bytes, Picoseconds when) {
    events_.push(when > now_ ? when : now_, {bytes, flow, kDeparts});
  }
  // Has next() give an arrival that is an alarm at that moment, or now where it is past.
  void alarm(Flow flow, Picoseconds when, std::uint64_t bytes = 0) {
    events_.push(when > now_ ? when : now_, {bytes, flow, kAlarm});
  }

  struct Arrival {
    std::uint64_t bytes = 0;
    Flow flow = 0;
    std::uint32_t message = kArrived;  // Private: else the network's own business.
    bool is_alarm() const { return message == kAlarm; }
  };
  // Goes on to the next arrival; false when nothing is under way.
  virtual bool next(Arrival& arrival) = 0;
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

 protected:
  // What an event is about; smaller numbers are a network's own.
  static constexpr std::uint32_t kArrived = ~0u;
  static constexpr std::uint32_t kAlarm = ~0u - 1;
  static constexpr std::uint32_t kDeparts = ~0u - 2;
  static constexpr std::uint32_t kOwnEvents = ~0u - 2;  // Below this.
  static constexpr std::uint32_t kNone = ~0u;
  struct Path {
    std::uint32_t begin = 0;  // In path_links_.
    std::uint32_t hops = 0;
    std::uint64_t bytes = 0;
  };
  static double picoseconds_per_byte(const DirectedLink& link) { return 1e12 / link.bytes_per_second; }
  static Picoseconds picoseconds(double time) { return static_cast<Picoseconds>(time + 0.5); }
  std::span<const LinkIndex> links(const Path& path) const {
    return {path_links_.data() + path.begin, path.hops};
  }
  // The flow has just been opened.
  virtual void opened(Flow flow) = 0;
  // The next event, which is now; the queue is not empty.
  Arrival pop() {
    const auto entry = events_.pop();
    ++events_taken_;
    now_ = entry.key;
    return entry.value;
  }

  const Topology& topology_;
  std::vector<Path> paths_;  // By flow.
  std::vector<LinkIndex> path_links_;
  RadixHeap<Arrival> events_;
  Picoseconds now_ = 0;
  std::vector<Transfer>* transfers_ = nullptr;

 private:
  std::uint64_t events_taken_ = 0;
  std::vector<LinkIndex> scratch_;
};

}  // namespace thalweg
