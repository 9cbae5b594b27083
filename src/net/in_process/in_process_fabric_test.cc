#include "net/in_process/in_process_fabric.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

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

}  // namespace
}  // namespace thalweg
