// What a node of a ring says of connections: of nodes that were told another ring it says so once and then
// rarely, with both rings, however often they call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "net/tcp/tcp_event.h"
#include "thalweg/quorum.h"

namespace thalweg {

// What a node was told, for others to see and for people.
std::string ring_words(const QuorumRing& ring, std::uint32_t replicas, std::uint32_t read,
                       std::uint32_t write, bool sloppy);

// Nodes of which any was told something else are of different clusters, so that none hears the other.
std::uint64_t ring_cluster(const QuorumRing& ring, std::uint32_t replicas, std::uint32_t read,
                           std::uint32_t write, bool sloppy);

class OtherRings {
 public:
  static constexpr Duration kSaidEvery = std::chrono::minutes(10);

  OtherRings(std::vector<std::string> nodes, std::string told)
      : nodes_(std::move(nodes)), told_(std::move(told)) {}

  // The line about it; empty: it has been said of late.
  std::string line_of(Instant now, const TcpEvent& event);

 private:
  struct Said {
    std::string news;
    Instant at;
  };
  const std::vector<std::string> nodes_;
  const std::string told_;
  std::map<std::pair<std::uint32_t, TcpEvent::Kind>, Said> said_;  // By node.
};

}  // namespace thalweg
