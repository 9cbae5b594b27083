// Consistent hashing: servers own arcs of a ring of hashes, so that one that comes takes keys from the others
// and moves none between them.
//
// Each server has many points on the ring, its virtual ranges, at hashes of its number and theirs (Karger et
// al., STOC 1997; Dynamo, SOSP 2007, section 4.2). A key belongs to the first point at or after its own
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mix.h"

namespace thalweg {

class HashRing {
 public:
  static constexpr std::uint32_t kVirtualRanges = 100;  // Of each server.

  HashRing() = default;  // Of no server.
  // Servers' numbers, in any order, each once.
  explicit HashRing(std::span<const std::uint32_t> servers, std::uint32_t virtual_ranges = kVirtualRanges);

  void add(std::uint32_t server);                                         // Precondition: it is not there.
  void remove(std::uint32_t server);                                      // Precondition: it is there.
  const std::vector<std::uint32_t>& servers() const { return servers_; }  // Ascending.
  bool has(std::uint32_t server) const;

  // Precondition of both: there is a server.
  std::uint32_t owner(PlacedKey place) const;
  // The owner and those whose points follow, each once: the first `count` servers, or all. Who stands in for
  // one of them comes next in the list of all.
  std::vector<std::uint32_t> preference(PlacedKey place, std::size_t count) const;
  bool operator==(const HashRing&) const = default;

 private:
  struct Point {
    std::uint64_t at = 0;
    std::uint32_t server = 0;
    constexpr auto operator<=>(const Point&) const = default;
  };
  std::vector<Point>::const_iterator first_at(PlacedKey place) const;

  std::uint32_t virtual_ranges_ = kVirtualRanges;
  std::vector<std::uint32_t> servers_;
  std::vector<Point> points_;  // Ascending.
};

}  // namespace thalweg
