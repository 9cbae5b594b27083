// Groups of processes, stood in for by threads, and streams of bytes between all of their pairs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "net/group/form_group.h"
#include "net/socket/reserved_port_for_test.h"
#include "net/tcp/raw_peer_for_test.h"

namespace thalweg {

using namespace std::chrono_literals;

inline GroupOptions options_for(std::uint32_t rank, std::uint32_t size, std::uint16_t port) {
  GroupOptions options;
  options.rank = rank;
  options.size = size;
  options.master_port = port;
  options.timeout = 20s;
  options.transport = GroupTransport::kTcp;
  return options;
}

using Formed = Result<std::unique_ptr<ProcessGroup>>;

// Forms a group of threads, and calls `act` on each one's outcome while all still have theirs. `costs`: of
// each rank.
inline void with_groups(const std::vector<GroupOptions>& all,
                        const std::function<void(std::uint32_t, Formed&)>& act,
                        const std::vector<MachineCosts>& costs = {}) {
  std::vector<std::thread> threads;
  std::atomic<std::size_t> done = 0;
  for (const GroupOptions& options : all) {
    threads.emplace_back([&all, &options, &act, &costs, &done] {
      Formed formed = form_group(options, costs.empty() ? MachineCosts{} : costs[options.rank]);
      act(options.rank, formed);
      ++done;
      while (done < all.size()) std::this_thread::sleep_for(1ms);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<GroupOptions> all_of(std::uint32_t size) {
  const std::uint16_t port = port_for_this_test();
  std::vector<GroupOptions> all;
  for (std::uint32_t rank = 0; rank < size; ++rank) all.push_back(options_for(rank, size, port));
  return all;
}

inline std::byte nth(std::uint32_t from, std::uint32_t to, std::uint16_t channel, std::size_t i) {
  return static_cast<std::byte>(i * 131 + i / 251 + from * 7 + to * 13 + channel * 29);
}

// One direction of one link, as far as it has come.
struct Stream {
  Link link;
  std::vector<std::byte> bytes, expected;  // There and back.
  std::size_t sent = 0;
  std::size_t received = 0;
};

// All that one rank sends another on a channel: nth() has a period.
inline std::vector<std::byte> all_of_stream(std::uint32_t from, std::uint32_t to, std::uint16_t channel,
                                            std::size_t size) {
  constexpr std::size_t kPeriod = std::size_t{251} * 256;
  std::vector<std::byte> all(size);
  for (std::size_t i = 0; i < std::min(size, kPeriod); ++i) all[i] = nth(from, to, channel, i);
  for (std::size_t i = kPeriod; i < size; i += kPeriod)
    std::memcpy(all.data() + i, all.data(), std::min(kPeriod, size - i));
  return all;
}

// Sends `size` bytes to every other rank on each channel, and expects theirs.
inline void exchange_bytes(LiveFabric& fabric, std::uint32_t rank, std::uint32_t ranks,
                           std::uint16_t channels, std::size_t size) {
  std::vector<Stream> streams;
  for (std::uint32_t peer = 0; peer < ranks; ++peer) {
    for (std::uint16_t channel = 0; channel < channels && peer != rank; ++channel) {
      streams.push_back(Stream{{peer, channel},
                               all_of_stream(rank, peer, channel, size),
                               all_of_stream(peer, rank, channel, size)});
    }
  }
  std::vector<std::byte> into(size);
  std::size_t left = streams.size() * 2 * size;
  const Instant deadline = live_now() + 120s;
  while (left > 0 && live_now() < deadline) {
    const std::size_t before = left;
    for (Stream& stream : streams) {
      const std::vector<std::byte>& bytes = stream.bytes;
      const std::size_t half = (size - stream.sent) / 2;
      const Piece pieces[] = {{bytes.data() + stream.sent, half},
                              {bytes.data() + stream.sent + half, size - stream.sent - half}};
      const std::size_t sent = fabric.write(stream.link, pieces);
      stream.sent += sent;
      const std::size_t wanted = size - stream.received;
      std::size_t got = 0;
      if (stream.received % 2 == 0) {
        got = fabric.read(stream.link, into.data(), wanted);
      } else {
        const Piece piece = fabric.peek(stream.link, wanted);
        std::copy(piece.data, piece.data + piece.size, into.data());
        got = piece.size;
        fabric.consume(stream.link, got);
      }
      ASSERT_EQ(std::memcmp(into.data(), stream.expected.data() + stream.received, got), 0)
          << "after " << stream.received << " bytes from rank " << stream.link.peer;
      stream.received += got;
      left -= sent + got;
    }
    if (left > 0 && left == before) fabric.wait(deadline);
  }
  EXPECT_EQ(left, 0U);
}

}  // namespace thalweg
