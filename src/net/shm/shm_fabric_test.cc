#include "net/shm/shm_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "net/shm/shm_ranks_for_test.h"

namespace thalweg {
namespace {

// Every rank streams to every other on two channels at once, in random pieces, and checks what comes.
class Chatter {
 public:
  Chatter(LiveFabric& fabric, std::uint32_t rank, std::uint32_t ranks, std::uint64_t total)
      : fabric_(fabric), rank_(rank), ranks_(ranks), total_(total), random_(rank + 1) {
    sent_.resize(ranks * std::size_t{2});
    got_.resize(sent_.size());
  }
  std::string run() {
    std::uint64_t left = total_ * 4 * (ranks_ - 1);
    while (left > 0) {
      const std::string lost = lost_early();
      std::uint64_t moved = 0;
      for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
        for (std::uint16_t channel = 0; peer != rank_ && channel < 2; ++channel) {
          moved += send(peer, channel) + receive(peer, channel);
        }
        if (!wrong_.empty()) return wrong_;
      }
      left -= moved;
      if (moved == 0 && !lost.empty()) return lost;
      if (moved == 0) fabric_.wait(live_now() + kLong);
    }
    return "";
  }

 private:
  // How a peer was lost from which something is missing.
  std::string lost_early() {
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      const Status there = fabric_.peer_status(peer);
      if (!there.ok() && got_[peer * 2] + got_[peer * 2 + 1] < 2 * total_) return there.message();
    }
    return "";
  }
  std::uint64_t send(std::uint32_t peer, std::uint16_t channel) {
    std::uint64_t& at = sent_[peer * 2 + channel];
    bytes_.resize(std::min<std::uint64_t>(random_() % 100'000 + 1, total_ - at));
    if (bytes_.empty()) return 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = stream_byte(rank_, channel, at + i);
    const std::size_t half = bytes_.size() / 2;
    const Piece pieces[] = {{bytes_.data(), half}, {bytes_.data() + half, bytes_.size() - half}};
    const std::size_t taken = fabric_.write({peer, channel}, pieces);
    at += taken;
    return taken;
  }
  std::uint64_t receive(std::uint32_t peer, std::uint16_t channel) {
    std::uint64_t& at = got_[peer * 2 + channel];
    if (at == total_) return 0;
    const std::size_t want = std::min<std::uint64_t>(random_() % 50'000 + 1, total_ - at);
    const Piece piece = fabric_.peek({peer, channel}, want);
    for (std::size_t i = 0; i < piece.size; ++i) {
      if (piece.data[i] == stream_byte(peer, channel, at + i)) continue;
      wrong_ = "byte " + std::to_string(at + i) + " of rank " + std::to_string(peer) + " is wrong";
      return 0;
    }
    if (piece.size > 0) fabric_.consume({peer, channel}, piece.size);
    at += piece.size;
    return piece.size;
  }

  LiveFabric& fabric_;
  std::uint32_t rank_, ranks_;
  std::uint64_t total_;
  std::minstd_rand random_;
  std::vector<std::uint64_t> sent_, got_;
  std::vector<std::byte> bytes_;
  std::string wrong_;
};

std::string chat(ShmOptions options, std::vector<FileDescriptor> sockets, std::uint64_t total, bool crowded) {
  const std::uint32_t rank = options.rank, ranks = options.ranks;
  auto fabric = ShmFabric::create(std::move(options), std::move(sockets), kLong, crowded);
  if (!fabric) return fabric.status().message();
  return Chatter(**fabric, rank, ranks, total).run();
}

TEST(ShmFabric, ProcessesStreamToEachOther) {
  for (const std::uint32_t ranks : {2u, 5u}) {
    for (const bool crowded : {false, true}) {
      ShmRanks group(ranks, [&](std::uint32_t rank, std::vector<FileDescriptor> sockets) {
        return chat(small_options(rank, ranks), std::move(sockets), 300'000, crowded);
      });
      EXPECT_EQ(group.join(), static_cast<int>(ranks)) << ranks << (crowded ? " crowded" : "");
    }
  }
}

TEST(ShmFabric, ThreadsStreamToEachOther) {
  constexpr std::uint32_t kRanks = 3;
  SocketMesh mesh = make_socket_mesh(kRanks);
  std::vector<std::string> wrong(kRanks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back(
        [&, rank] { wrong[rank] = chat(small_options(rank, kRanks), std::move(mesh[rank]), 200'000, true); });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
}

// Waits that end early or never are what a doorbell gets wrong: each side sleeps before each message.
TEST(ShmFabric, NoWakeUpIsLost) {
  constexpr int kRounds = 5000;
  const auto play = [](std::uint32_t rank, std::vector<FileDescriptor> sockets) -> std::string {
    auto made = ShmFabric::create(small_options(rank, 2), std::move(sockets), kLong, true);
    if (!made) return made.status().message();
    ShmFabric& fabric = **made;
    const std::uint32_t peer = 1 - rank;
    for (int round = 0; round < kRounds; ++round) {
      std::uint64_t value = static_cast<std::uint64_t>(round);
      const Piece piece{static_cast<const std::byte*>(static_cast<const void*>(&value)), sizeof value};
      if (rank == 0) fabric.write({peer, 0}, {&piece, 1});
      std::uint64_t got = 0;
      while (fabric.read({peer, 0}, static_cast<std::byte*>(static_cast<void*>(&got)), sizeof got) == 0) {
        const Instant until = live_now() + kLong;
        fabric.wait(until);
        if (live_now() >= until) return "a wake-up was lost in round " + std::to_string(round);
      }
      if (got != value) return "round " + std::to_string(round) + " brought " + std::to_string(got);
      if (rank == 1) fabric.write({peer, 0}, {&piece, 1});
    }
    return "";
  };
  ShmRanks group(2, play);
  EXPECT_EQ(group.join(), 2);
}

// Less than half of a ring is little room, but it may be all that its writer needs to let the reader go on.
TEST(ShmFabric, ASleeperHasToldOfTheRoomItMade) {
  const auto play = [](std::uint32_t rank, std::vector<FileDescriptor> sockets) -> std::string {
    const ShmOptions options = small_options(rank, 2);
    const std::size_t little = options.ring_bytes / 4;
    auto made = ShmFabric::create(options, std::move(sockets), kLong, true);
    if (!made) return made.status().message();
    ShmFabric& fabric = **made;
    std::vector<std::byte> bytes(options.ring_bytes + little);
    const Instant until = live_now() + Duration(5'000'000'000);
    if (rank == 0) {
      for (std::size_t sent = 0; sent < bytes.size() && live_now() < until;) {
        const Piece piece{bytes.data() + sent, bytes.size() - sent};
        sent += fabric.write({1, 0}, {&piece, 1});
        if (sent < bytes.size()) fabric.wait(until);
      }
      const Piece word{bytes.data(), 1};
      fabric.write({1, 1}, {&word, 1});
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // Rank 0 sleeps on a full ring.
      fabric.read({0, 0}, bytes.data(), little);
      while (fabric.read({0, 1}, bytes.data(), 1) == 0) fabric.wait(until + Duration(5'000'000'000));
    }
    return live_now() < until ? "" : "nobody told of the room";
  };
  ShmRanks group(2, play);
  EXPECT_EQ(group.join(), 2);
}

// Whoever looks for bytes that are there in two pieces, or is called away, gets what there is.
TEST(ShmFabric, LooksForBytesOnlyWhereTheyCanCome) {
  const auto play = [](std::uint32_t rank, std::vector<FileDescriptor> sockets) -> std::string {
    const ShmOptions options = small_options(rank, 2);
    auto made = ShmFabric::create(options, std::move(sockets), kLong, false);
    if (!made) return made.status().message();
    ShmFabric& fabric = **made;
    const std::size_t first = options.ring_bytes - 64;
    std::vector<std::byte> bytes(options.ring_bytes);
    const auto send = [&](std::size_t size) {
      const Piece piece{bytes.data(), size};
      return fabric.write_whole({1 - rank, 0}, {&piece, 1});
    };
    const auto receive = [&](std::size_t size) {
      for (std::size_t got = 0; got < size;) {
        if (fabric.read({1 - rank, 0}, bytes.data(), 1) == 1)
          ++got;
        else
          fabric.wait(live_now() + kLong);
      }
    };
    if (rank == 0) {
      if (!send(first)) return "no room";
      receive(1);
      if (!send(128)) return "no room";
      receive(1);
      return "";
    }
    receive(first);
    send(1);
    Piece seen;
    while (seen.size == 0) seen = fabric.peek_soon({0, 0}, 128);
    if (seen.size != 64) return "it saw " + std::to_string(seen.size) + " bytes before the ring's end";
    fabric.consume({0, 0}, 64);
    seen = fabric.peek_soon({0, 0}, 64);
    if (seen.size != 64) return "it saw " + std::to_string(seen.size) + " bytes behind it";
    fabric.consume({0, 0}, 64);
    fabric.wake();
    if (fabric.peek_soon({0, 0}, 64).size != 0) return "it saw what nobody wrote";
    send(1);
    return "";
  };
  ShmRanks group(2, play);
  EXPECT_EQ(group.join(), 2);
}

TEST(ShmFabric, SeesPeersMemoryWithinItsBounds) {
  constexpr std::size_t kSize = 3'000'000;
  const auto main = [](std::uint32_t rank, std::vector<FileDescriptor> sockets) -> std::string {
    auto made = ShmFabric::create(small_options(rank, 2), std::move(sockets), kLong, false);
    if (!made) return made.status().message();
    ShmFabric& fabric = **made;
    auto data = fabric.allocate(kSize);
    if (!data) return data.status().message();
    for (std::size_t i = 0; i < kSize; ++i) (*data)[i] = stream_byte(rank, 0, i);
    const std::uint64_t offset = fabric.shared_offset(*data, kSize);
    const Piece piece{static_cast<const std::byte*>(static_cast<const void*>(&offset)), sizeof offset};
    fabric.write({1 - rank, 0}, {&piece, 1});
    std::uint64_t theirs = 0;
    while (fabric.read({1 - rank, 0}, static_cast<std::byte*>(static_cast<void*>(&theirs)), 8) == 0) {
      fabric.wait(live_now() + kLong);
    }
    const std::byte* const seen = fabric.shared_by(1 - rank, theirs, kSize);
    for (std::size_t i = 0; seen && i < kSize; ++i) {
      if (seen[i] != stream_byte(1 - rank, 0, i)) return "it sees something else at " + std::to_string(i);
    }
    if (fabric.shared_by(rank, offset, kSize) != *data) return "its own memory is elsewhere";
    const std::size_t end = std::size_t{64} << 20;
    const bool bounded = !fabric.shared_by(1 - rank, end, 1) && fabric.shared_by(1 - rank, end - 1, 1) &&
                         !fabric.shared_by(1 - rank, 1, end) &&
                         !fabric.shared_by(1 - rank, ~std::uint64_t{0}, 2) &&
                         !fabric.shared_by(1 - rank, 0, ~std::size_t{0});
    return seen && bounded ? "" : "bounds are not kept";
  };
  ShmRanks group(2, main);
  EXPECT_EQ(group.join(), 2);
}

TEST(ShmFabric, AWaitEndsWhenItIsWokenOrOver) {
  auto alone = ShmFabric::create(small_options(0, 1), std::vector<FileDescriptor>(1), kLong, false);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  std::thread waker([&] { (*alone)->wake(); });
  (*alone)->wait(kNever);
  waker.join();
  const Instant until = live_now() + Duration(2'000'000);
  int waits = 0;
  for (; live_now() < until; ++waits) (*alone)->wait(until);
  EXPECT_LE(waits, 3);  // The bell of the earlier wake may still ring once.
}

}  // namespace
}  // namespace thalweg
