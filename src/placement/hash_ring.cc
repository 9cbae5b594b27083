#include "placement/hash_ring.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace thalweg {

HashRing::HashRing(std::span<const std::uint32_t> servers, std::uint32_t virtual_ranges)
    : virtual_ranges_(virtual_ranges) {
  THALWEG_CHECK(virtual_ranges > 0, "a server without a point owns nothing");
  for (const std::uint32_t server : servers) add(server);
}

bool HashRing::has(std::uint32_t server) const { return std::ranges::binary_search(servers_, server); }

void HashRing::add(std::uint32_t server) {
  THALWEG_CHECK(!has(server), "a server is on a ring once");
  servers_.insert(std::ranges::lower_bound(servers_, server), server);
  for (std::uint32_t range = 0; range < virtual_ranges_; ++range)
    points_.push_back({splitmix(splitmix((std::uint64_t{server} << 32) | range)), server});
  std::ranges::sort(points_);
}

void HashRing::remove(std::uint32_t server) {
  THALWEG_CHECK(has(server), "only who is on a ring leaves it");
  std::erase(servers_, server);
  std::erase_if(points_, [&](const Point& point) { return point.server == server; });
}

std::vector<HashRing::Point>::const_iterator HashRing::first_at(PlacedKey place) const {
  THALWEG_CHECK(!points_.empty(), "a ring without servers places no key");
  const auto found = std::ranges::lower_bound(points_, place, {}, &Point::at);
  return found == points_.end() ? points_.begin() : found;
}

std::uint32_t HashRing::owner(PlacedKey place) const { return first_at(place)->server; }

std::vector<std::uint32_t> HashRing::preference(PlacedKey place, std::size_t count) const {
  std::vector<std::uint32_t> out;
  const std::size_t wanted = std::min(count, servers_.size());
  for (auto point = first_at(place); out.size() < wanted;) {
    if (std::ranges::find(out, point->server) == out.end()) out.push_back(point->server);
    if (++point == points_.end()) point = points_.begin();
  }
  return out;
}

}  // namespace thalweg
