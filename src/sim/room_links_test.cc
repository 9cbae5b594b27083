// Frames on the links of rooms: their times alone, behind each other, and beside those that take longer.
#include "sim/room_links.h"

#include <gtest/gtest.h>

#include "sim/event_queue.h"
#include "topology/presets.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const Topology> room_of(const char* name, std::uint32_t ranks) {
  auto room = preset(name, ranks);
  EXPECT_TRUE(room) << room.status().message();
  return room ? std::make_shared<const Topology>(*std::move(room)) : nullptr;
}

struct Sent {
  Duration at;
  Link link;
  std::uint64_t bytes;
};

// When each has arrived; processes sit at the endpoints of their numbers.
std::vector<Duration> arrivals(const std::shared_ptr<const Topology>& room, const std::vector<Sent>& all) {
  std::vector<std::uint32_t> seats(room->endpoint_count());
  for (std::uint32_t e = 0; e < seats.size(); ++e) seats[e] = e;
  RoomLinks links(room, seats);
  std::vector<RoomLinks::Passage> passages(all.size());
  std::vector<Duration> arrived(all.size());
  EventQueue queue;
  for (std::uint32_t i = 0; i < all.size(); ++i) queue.push(Instant{} + all[i].at, {Event::Kind::kLink, i});
  while (!queue.empty()) {
    const Instant now = queue.next_at();
    const Event event = queue.pop();
    RoomLinks::Passage& passage = passages[event.place];
    if (passage.path == nullptr) passage = links.begin(now, all[event.place].link, all[event.place].bytes);
    const Instant next = links.go_on(now, passage);
    if (RoomLinks::arrived(passage)) {
      arrived[event.place] = next - Instant{};
    } else {
      queue.push(next, {Event::Kind::kLink, event.place});
    }
  }
  return arrived;
}

TEST(RoomLinks, AFrameAloneTakesItsBytesOnceAndEachLatency) {
  const auto room = room_of("uniform:2,1MB/s,1ms", 0);
  EXPECT_EQ(arrivals(room, {{0ms, {0, 1}, 5000}})[0], 5ms + 1ms);
  EXPECT_EQ(arrivals(room, {{3ms, {1, 0}, 0}})[0], 3ms + 1ms);
}

// Two machines of four devices; endpoint 8 is the first one's host, behind another machine's card.
TEST(RoomLinks, RanksOfAMachineShareItsCard) {
  const auto room = room_of("rack-1g", 8);
  const Sent one{0ms, {4, 8}, 1'000'000};
  const Duration alone = arrivals(room, {one})[0];
  EXPECT_NEAR(static_cast<double>(alone.count()), 10e6, 0.1e6) << "at 100 MB/s";
  const auto both = arrivals(room, {one, {0ms, {5, 8}, 1'000'000}});
  EXPECT_EQ(both[0], alone);
  EXPECT_NEAR(static_cast<double>((both[1] - both[0]).count()), 10e6, 1);
  const auto apart = arrivals(room, {one, {0ms, {0, 8}, 1'000'000}});
  EXPECT_EQ(apart[0], alone);
  EXPECT_LT(apart[1], 100us) << "its card is not in the way";
}

// A link is not kept for what is still on its way to it.
TEST(RoomLinks, WhatComesFirstGoesFirst) {
  const auto room = room_of("two-sites", 2);
  const std::uint32_t host = 2;
  const Sent near{1ms, {0, host}, 1'000'000}, far{0ms, {1, host}, 1'000'000};
  const auto both = arrivals(room, {far, near});
  EXPECT_EQ(both[1], arrivals(room, {near})[0]);
  EXPECT_GT(both[0], 10ms);
}

TEST(RoomLinks, ServersSitAtHostsOrBehindTheWorkers) {
  const auto rack = room_of("rack-10g", 8);
  const auto one = take_seats(*rack, 1, 8), two = take_seats(*rack, 2, 5), three = take_seats(*rack, 3, 5);
  ASSERT_TRUE(one && two && three);
  EXPECT_EQ(one->servers, std::vector<std::uint32_t>{8});
  EXPECT_EQ(two->servers, (std::vector<std::uint32_t>{8, 9}));
  EXPECT_EQ(two->workers, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(three->servers, (std::vector<std::uint32_t>{5, 6, 7}));
  EXPECT_EQ(take_seats(*rack, 3, 6).status().code(), Code::kUsage);
  EXPECT_EQ(take_seats(*rack, 1, 9).status().code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg::sim
