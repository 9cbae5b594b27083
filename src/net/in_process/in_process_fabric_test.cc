#include "net/in_process/in_process_fabric.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace thalweg {
namespace {

std::vector<std::byte> numbers(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 256);
  return bytes;
}

TEST(InProcessFabric, MovesAStreamThatIsLongerThanItsStorage) {
  const auto fabrics = make_in_process_fabrics(2);
  const std::vector<std::byte> sent = numbers(5'000'001);
  std::thread writer([&] {
    LiveFabric& fabric = *fabrics[0];
    std::size_t done = 0;
    while (done < sent.size()) {
      const std::size_t half = (sent.size() - done) / 2;
      const Piece pieces[] = {{sent.data() + done, half},
                              {sent.data() + done + half, sent.size() - done - half}};
      const std::size_t took = fabric.write({1, 7}, pieces);
      done += took;
      if (took == 0) fabric.wait(kNever);
    }
  });
  std::vector<std::byte> received(sent.size());
  std::size_t at = 0;
  while (at < received.size()) {
    LiveFabric& fabric = *fabrics[1];
    const Piece piece = fabric.peek({0, 7}, 1000);
    if (piece.size > 0) {
      std::memcpy(received.data() + at, piece.data, piece.size);
      fabric.consume({0, 7}, piece.size);
      at += piece.size;
      continue;
    }
    fabric.wait(kNever);
  }
  writer.join();
  EXPECT_EQ(received, sent);
}

TEST(InProcessFabric, KeepsChannelsAndDirectionsApart) {
  const auto fabrics = make_in_process_fabrics(3);
  const auto put = [&](std::uint32_t from, Link to, char letter) {
    const auto byte = static_cast<std::byte>(letter);
    const Piece piece{&byte, 1};
    EXPECT_EQ(fabrics[from]->write(to, {&piece, 1}), 1u);
  };
  const auto get = [&](std::uint32_t at, Link from) {
    std::byte byte{};
    return fabrics[at]->read(from, &byte, 1) == 1 ? static_cast<char>(byte) : '-';
  };
  put(0, {1, 0}, 'a');
  put(0, {1, 1}, 'b');
  put(1, {0, 0}, 'c');
  put(2, {1, 0}, 'd');
  EXPECT_EQ(get(1, {2, 0}), 'd');
  EXPECT_EQ(get(1, {0, 1}), 'b');
  EXPECT_EQ(get(1, {0, 0}), 'a');
  EXPECT_EQ(get(0, {1, 0}), 'c');
  EXPECT_EQ(get(1, {0, 0}), '-');
  EXPECT_EQ(get(2, {0, 5}), '-');
}

TEST(InProcessFabric, TakesNoMoreThanThereIsRoomFor) {
  const auto fabrics = make_in_process_fabrics(2);
  const std::vector<std::byte> much = numbers(4 << 20);
  const Piece piece{much.data(), much.size()};
  const std::size_t took = fabrics[0]->write({1, 0}, {&piece, 1});
  EXPECT_GT(took, 0u);
  EXPECT_LT(took, much.size());
  EXPECT_EQ(fabrics[0]->write({1, 0}, {&piece, 1}), 0u);
  std::vector<std::byte> out(much.size());
  EXPECT_EQ(fabrics[1]->read({0, 0}, out.data(), 64), 64u);
  EXPECT_EQ(fabrics[0]->write({1, 0}, {&piece, 1}), 64u);
}

TEST(InProcessFabric, EndsAWaitWhenWokenAndAtItsTime) {
  const auto fabrics = make_in_process_fabrics(1);
  fabrics[0]->wait(live_now() + std::chrono::milliseconds(1));
  std::thread waker([&] { fabrics[0]->wake(); });
  fabrics[0]->wait(kNever);
  waker.join();
}

TEST(InProcessFabric, TellsWhoHasLeftAndKeepsWhatTheySent) {
  auto fabrics = make_in_process_fabrics(2);
  const std::byte byte{42};
  const Piece piece{&byte, 1};
  fabrics[1]->write({0, 0}, {&piece, 1});
  EXPECT_TRUE(fabrics[0]->peer_status(1).ok());
  std::thread leaver([&] { fabrics[1].reset(); });
  while (fabrics[0]->peer_status(1).ok()) fabrics[0]->wait(kNever);
  leaver.join();
  EXPECT_EQ(fabrics[0]->peer_status(1).code(), Code::kPeerLost);
  std::byte got{};
  EXPECT_EQ(fabrics[0]->read({1, 0}, &got, 1), 1u);
  EXPECT_EQ(got, byte);
}

TEST(InProcessFabric, SharesItsMemory) {
  const auto fabrics = make_in_process_fabrics(2);
  const Result<std::byte*> memory = fabrics[0]->allocate(1000);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*memory) % 64, 0u);
  EXPECT_EQ((*memory)[999], std::byte{0});
  const std::uint64_t offset = fabrics[0]->shared_offset(*memory + 8, 16);
  EXPECT_EQ(fabrics[1]->shared_by(0, offset, 16), *memory + 8);
  fabrics[0]->deallocate(*memory);
}

TEST(InProcessFabric, HoldsMemoryOfOperationsThatAreNotGivenUp) {
  const auto fabrics = make_in_process_fabrics(2);
  EXPECT_FALSE(fabrics[1]->hold({0, 3}, 0)) << "nothing was said";
  const std::byte byte{1};
  const Piece piece{&byte, 1};
  fabrics[0]->write({1, 3}, {&piece, 1});
  fabrics[0]->write({1, 4}, {&piece, 1});
  fabrics[0]->give_up({1, 3}, 5);
  fabrics[0]->give_up({1, 3}, 7);
  for (const auto& [sequence, holds] : {std::pair(4, true), {5, false}, {6, false}}) {
    const bool held = fabrics[1]->hold({0, 3}, static_cast<std::uint64_t>(sequence));
    EXPECT_EQ(held, holds) << sequence;
    if (held) fabrics[1]->let_go({0, 3});
  }
  EXPECT_TRUE(fabrics[1]->hold({0, 4}, 6)) << "another channel";
  fabrics[1]->let_go({0, 4});
}

// Which a sanitizer sees as well.
TEST(InProcessFabric, GivesUpWhenMemoryIsHeldNoMore) {
  const auto fabrics = make_in_process_fabrics(2);
  auto memory = std::make_unique<int>(42);
  const std::byte byte{1};
  const Piece piece{&byte, 1};
  fabrics[0]->write({1, 0}, {&piece, 1});
  ASSERT_TRUE(fabrics[1]->hold({0, 0}, 0));
  const int* const seen = memory.get();
  std::thread giver([&] {
    fabrics[0]->give_up({1, 0}, 0);
    memory.reset();
  });
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(*seen, 42);
    std::this_thread::yield();
  }
  fabrics[1]->let_go({0, 0});
  giver.join();
  EXPECT_FALSE(fabrics[1]->hold({0, 0}, 0));
}

// On each channel one operation that both give up, perhaps while the other works on their memory.
void give_up_to_the_other(LiveFabric& fabric, std::uint32_t other) {
  for (std::uint16_t channel = 0; channel < 64; ++channel) {
    const Link link{other, channel};
    auto memory = std::make_unique<int>(42);
    const int* own = memory.get();
    const void* const said = &own;
    const Piece piece{static_cast<const std::byte*>(said), sizeof own};
    EXPECT_EQ(fabric.write(link, {&piece, 1}), sizeof own);
    const int* theirs = nullptr;
    void* const heard = &theirs;
    while (fabric.read(link, static_cast<std::byte*>(heard), sizeof theirs) == 0) std::this_thread::yield();
    if (fabric.hold(link, 0)) {
      EXPECT_EQ(*theirs, 42);
      fabric.let_go(link);
    }
    fabric.give_up(link, 0);
    memory.reset();
  }
}

// Neither waits for one that waits for it; a sanitizer sees memory that is taken back too early.
TEST(InProcessFabric, RanksGiveUpToEachOther) {
  const auto fabrics = make_in_process_fabrics(2);
  std::thread other([&] { give_up_to_the_other(*fabrics[1], 0); });
  give_up_to_the_other(*fabrics[0], 1);
  other.join();
}

}  // namespace
}  // namespace thalweg
