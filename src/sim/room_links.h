// The links of a machine room under frames between processes that have a seat in it: at each link the frames
// that come first are sent first, and what has begun to arrive goes on at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "sim/network.h"
#include "topology/topology.h"

namespace thalweg::sim {

class RoomLinks {
 public:
  // `seats`: the endpoint of each process, kNowhere where it has none.
  RoomLinks(std::shared_ptr<const Topology> room, std::vector<std::uint32_t> seats);

  // Whether frames from one to the other take the room's links.
  bool join(Link link) const { return seat(link.from) != kNowhere && seat(link.to) != kNowhere; }

  // A frame on its way.
  struct Passage {
    const std::vector<LinkIndex>* path = nullptr;
    std::uint64_t bytes = 0;
    std::size_t hop = 0;  // Of the link that its first byte is at.
    Instant tail{0};      // When its last byte gets where the first one is.
  };
  // Precondition: join(link).
  Passage begin(Instant now, Link link, std::uint64_t bytes);
  // To be called when the first byte is at the next link. Returns when to call it again, or, once arrived(),
  // when the whole frame has arrived.
  Instant go_on(Instant now, Passage& passage);
  static bool arrived(const Passage& passage) { return passage.hop == passage.path->size(); }

 private:
  std::uint32_t seat(std::uint32_t process) const {
    return process < seats_.size() ? seats_[process] : kNowhere;
  }

  const std::shared_ptr<const Topology> room_;
  const std::vector<std::uint32_t> seats_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LinkIndex>> paths_;  // By seats.
  std::vector<Instant> free_;  // By queue: when all that has come has been sent.
};

// Where the nodes of a job sit.
struct Seats {
  std::vector<std::uint32_t> servers, workers;  // Endpoints.
};
// Workers at the first ranks; servers at hosts, evenly spread, or where there are fewer hosts than servers at
// the ranks behind those of workers. kUsage: the room is too small.
Result<Seats> take_seats(const Topology& room, std::uint32_t servers, std::uint32_t workers);

}  // namespace thalweg::sim
