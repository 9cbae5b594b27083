#include "sim/room_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thalweg::sim {
namespace {

// So long ahead of time a link may be given to a frame whose first byte is on its way there.
constexpr Duration kAheadMax = std::chrono::microseconds(1);

Duration time_of(const DirectedLink& link, std::uint64_t bytes) {
  return Duration{std::llround(static_cast<double>(bytes) * 1e9 / link.bytes_per_second)};
}

}  // namespace

RoomLinks::RoomLinks(std::shared_ptr<const Topology> room, std::vector<std::uint32_t> seats)
    : room_(std::move(room)), seats_(std::move(seats)), free_(room_->link_count()) {}

RoomLinks::Passage RoomLinks::begin(Instant now, Link link, std::uint64_t bytes) {
  const auto [found, fresh] = paths_.try_emplace({seat(link.from), seat(link.to)});
  if (fresh) room_->path(found->first.first, found->first.second, found->second);
  return {&found->second, bytes, 0, now};
}

Instant RoomLinks::go_on(Instant now, Passage& passage) {
  Instant head = now;
  while (!arrived(passage)) {
    const DirectedLink& link = room_->link((*passage.path)[passage.hop]);
    Instant& free = free_[link.queue];
    const Instant begin = std::max(head, free);
    if (begin > head && head > now) return head;  // Whoever comes before it may go first.
    free = begin + time_of(link, passage.bytes);
    const Duration latency{static_cast<std::int64_t>(link.latency_ns)};
    passage.tail = std::max(passage.tail, free) + latency;
    head = begin + latency;
    ++passage.hop;
    if (head - now > kAheadMax && !arrived(passage)) return head;
  }
  return passage.tail;
}

Result<Seats> take_seats(const Topology& room, std::uint32_t servers, std::uint32_t workers) {
  const std::uint32_t ranks = room.rank_count(), hosts = room.endpoint_count() - ranks;
  const bool at_hosts = servers <= hosts;
  if (workers > ranks || (!at_hosts && servers > ranks - workers)) {
    return Status(
        Code::kUsage,
        fmt::format("room {} has {} ranks and {} hosts; expected a rank for each of {} workers, and for "
                    "{} servers as many hosts or further ranks",
                    room.name(), ranks, hosts, workers, servers));
  }
  Seats seats;
  for (std::uint32_t w = 0; w < workers; ++w) seats.workers.push_back(w);
  for (std::uint32_t s = 0; s < servers; ++s) {
    const auto spread = static_cast<std::uint32_t>(std::uint64_t{s} * hosts / servers);
    seats.servers.push_back(at_hosts ? ranks + spread : workers + s);
  }
  return seats;
}

}  // namespace thalweg::sim
