#include "net/shm/shm_ring.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "net/socket/file_descriptor.h"

namespace thalweg {
namespace {

struct Ring {
  explicit Ring(std::size_t capacity) : data(capacity) {}
  ShmRingPositions positions;
  std::vector<std::byte> data;
  std::atomic<std::uint32_t> writer_asleep{0}, reader_asleep{0};
  FileDescriptor bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  ShmDoorbell to_reader{reader_asleep, bell.get()}, to_writer{writer_asleep, bell.get()};
  ShmRingWriter writer{positions, data.data(), data.size(), to_reader};
  ShmRingReader reader{positions, data.data(), data.size(), to_writer};

  bool rang() {
    std::uint64_t count = 0;
    return ::read(bell.get(), &count, sizeof count) == sizeof count;
  }
};

std::vector<std::byte> ring_numbers(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
  return bytes;
}

// As it comes, in pieces of random sizes, some as messages, taken by random means.
void move_stream(std::size_t capacity, std::size_t total, std::uint32_t seed, std::size_t most) {
  Ring ring(capacity);
  const std::vector<std::byte> sent = ring_numbers(total);
  std::thread writing([&] {
    std::minstd_rand random(seed);
    for (std::size_t done = 0; done < total;) {
      const std::size_t first = std::min<std::size_t>(random() % most, total - done);
      const std::size_t second = std::min<std::size_t>(random() % 100, total - done - first);
      const Piece pieces[] = {{sent.data() + done, first}, {sent.data() + done + first, second}};
      if (random() % 4 > 0) (void)ring.writer.begin_message(first + second);
      const std::size_t taken = ring.writer.write(pieces);
      if (taken == 0) std::this_thread::yield();
      done += taken;
    }
  });
  std::minstd_rand random(seed + 1);
  std::vector<std::byte> received;
  received.reserve(total);
  while (received.size() < total) {
    const std::size_t want = random() % most + 1;
    const std::size_t before = received.size();
    if (random() % 2 == 0) {
      const Piece piece = ring.reader.peek(want);
      const std::size_t taken = piece.size > 0 ? random() % piece.size + 1 : 0;
      received.insert(received.end(), piece.data, piece.data + taken);
      ring.reader.consume(taken);
    } else {
      received.resize(std::min(total, before + want));
      received.resize(before + ring.reader.read(received.data() + before, received.size() - before));
    }
    if (received.size() == before) std::this_thread::yield();
  }
  writing.join();
  EXPECT_TRUE(received == sent) << "capacity " << capacity << " seed " << seed;
  EXPECT_FALSE(ring.reader.damaged() || ring.writer.damaged());
}

TEST(ShmRing, MovesAnyPiecesInOrder) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) move_stream(4096, 100'000, seed, 8192);
  for (std::uint32_t seed = 1; seed <= 3; ++seed) move_stream(262144, 1'000'000, seed, 524288);
  for (std::uint32_t seed = 1; seed <= 3; ++seed)
    move_stream(kShmSlottedRingBytes, 20'000'000, seed, 2 * kShmSlotBytes);
}

TEST(ShmRing, TakesNoMoreThanThereIsRoomFor) {
  Ring ring(4096);
  const auto sent = ring_numbers(5000);
  const Piece piece{sent.data(), sent.size()};
  EXPECT_EQ(ring.writer.write({&piece, 1}), 4096u);
  EXPECT_TRUE(ring.writer.came_up_short());
  EXPECT_FALSE(ring.writer.changed());
  std::vector<std::byte> got(10);
  EXPECT_EQ(ring.reader.read(got.data(), 10), 10u);
  EXPECT_TRUE(ring.writer.changed());
  EXPECT_EQ(ring.writer.write({&piece, 1}), 10u);
}

TEST(ShmRing, SaysWhetherThereIsRoom) {
  Ring ring(4096);
  const auto sent = ring_numbers(4000);
  const Piece piece{sent.data(), sent.size()};
  EXPECT_TRUE(ring.writer.has_room(4096));
  ASSERT_EQ(ring.writer.write({&piece, 1}), 4000u);
  EXPECT_TRUE(ring.writer.has_room(96));
  EXPECT_FALSE(ring.writer.has_room(97));
  std::vector<std::byte> got(10);
  ASSERT_EQ(ring.reader.read(got.data(), 10), 10u);
  EXPECT_TRUE(ring.writer.has_room(106));
  EXPECT_FALSE(ring.writer.has_room(107));
}

TEST(ShmRing, ShowsPiecesThatEndAtTheirBoundaryOnly) {
  Ring ring(131072);
  const auto sent = ring_numbers(100'000);
  const Piece first{sent.data(), 64}, rest{sent.data() + 64, sent.size() - 64};
  const Piece both[] = {first, rest};
  ASSERT_EQ(ring.writer.write(both), sent.size());
  std::uint64_t at = 0;
  while (at < sent.size()) {
    const Piece shown = ring.reader.peek(sent.size() - at);
    ASSERT_GT(shown.size, 0u);
    ASSERT_TRUE(std::equal(shown.data, shown.data + shown.size, sent.data() + at));
    at += shown.size;
    EXPECT_TRUE(at % 64 == 0 || at == sent.size()) << at;
    ring.reader.consume(shown.size);
  }
  EXPECT_EQ(ring.reader.peek(1).size, 0u);
  EXPECT_TRUE(ring.reader.came_up_short());
}

// Messages that begin in slots of their own, bytes without, and looks of any size, in any order.
void move_messages(std::uint32_t seed) {
  constexpr std::size_t kTotal = std::size_t{24} << 20;
  Ring ring(kShmSlottedRingBytes);
  const std::vector<std::byte> sent = ring_numbers(kTotal);
  std::minstd_rand random(seed);
  std::vector<std::byte> received;
  received.reserve(kTotal);
  for (std::size_t done = 0; received.size() < kTotal;) {
    for (auto messages = random() % 12; messages > 0 && done < kTotal; --messages) {
      const std::size_t size = std::min<std::size_t>(random() % (2 * kShmSlotBytes) + 1, kTotal - done);
      const Piece message{sent.data() + done, size};
      if (random() % 4 > 0 && !ring.writer.begin_message(size)) break;
      done += ring.writer.write({&message, 1});
    }
    for (auto looks = random() % 24; looks > 0; --looks) {
      const std::size_t before = received.size(), want = random() % (3 * kShmSlotBytes) + 1;
      if (random() % 2 == 0) {
        const Piece piece = ring.reader.peek(want);
        received.insert(received.end(), piece.data, piece.data + piece.size);
        ring.reader.consume(piece.size);
      } else {
        received.resize(before + std::min(want, kTotal - before));
        received.resize(before + ring.reader.read(received.data() + before, received.size() - before));
      }
      if (received.size() == before) {
        EXPECT_EQ(received.size(), done) << "all that was sent can be read";
      }
    }
  }
  EXPECT_TRUE(received == sent) << "seed " << seed;
  EXPECT_FALSE(ring.reader.damaged() || ring.writer.damaged());
}

TEST(ShmRing, MovesMessagesInSlotsOfTheirOwnInOrder) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) move_messages(seed);
}

TEST(ShmRing, ShowsAMessageInItsSlotWhole) {
  Ring ring(kShmSlottedRingBytes);
  const auto sent = ring_numbers(4160);
  const Piece message{sent.data(), sent.size()}, word{sent.data(), 8};
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(ring.writer.write({&word, 1}), word.size);
    ASSERT_TRUE(ring.writer.begin_message(message.size));
    ASSERT_EQ(ring.writer.write({&message, 1}), message.size);
    ASSERT_EQ(ring.reader.peek(word.size + message.size).size, word.size);
    EXPECT_FALSE(ring.reader.came_up_short()) << "there is more behind the gap";
    ring.reader.consume(word.size);
    const Piece shown = ring.reader.peek(message.size);
    ASSERT_EQ(shown.size, message.size);
    EXPECT_EQ(static_cast<std::size_t>(shown.data - ring.data.data()) % kShmSlotBytes, 0u);
    ring.reader.consume(message.size);
  }
}

// A peer may say of gaps what it likes.
TEST(ShmRing, ReaderDoesNotFollowAGapPastWhatIsWritten) {
  Ring ring(4096);
  const auto sent = ring_numbers(100);
  const Piece piece{sent.data(), sent.size()};
  ring.writer.write({&piece, 1});
  ring.positions.gaps[0] = 40;
  EXPECT_EQ(ring.reader.peek(100).size, 40u);
  ring.reader.consume(40);
  EXPECT_EQ(ring.reader.peek(60).size, 0u);
  EXPECT_TRUE(ring.reader.damaged());
}

TEST(ShmRing, RingsOnlyForWhatTheSleeperWants) {
  Ring ring(4096);
  const auto sent = ring_numbers(4096);
  const Piece line{sent.data(), 64};
  ring.writer.write({&line, 1});
  EXPECT_FALSE(ring.rang()) << "nobody sleeps";
  ring.reader_asleep = kWantsRoom;
  ring.writer.write({&line, 1});
  EXPECT_FALSE(ring.rang()) << "it sleeps for something else";
  ring.reader_asleep = kWantsBytes;
  ring.writer.write({&line, 1});
  EXPECT_TRUE(ring.rang());
  ring.writer.write({&line, 1});
  EXPECT_FALSE(ring.rang()) << "once is enough";
}

TEST(ShmRing, WakesAWriterForHalfOfTheRoom) {
  Ring ring(4096);
  const auto sent = ring_numbers(4096);
  const Piece all{sent.data(), sent.size()};
  ring.writer.write({&all, 1});
  ring.writer_asleep = kWantsRoom;
  ring.reader.peek(2047);
  ring.reader.consume(2047);
  EXPECT_FALSE(ring.rang());
  ring.reader.peek(1);
  ring.reader.consume(1);
  EXPECT_TRUE(ring.rang());
}

TEST(ShmRing, ReaderDoesNotFollowImpossiblePositions) {
  for (const std::uint64_t garbage :
       {std::uint64_t{4097}, std::uint64_t{99}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Ring ring(4096);
    const auto sent = ring_numbers(100);
    const Piece piece{sent.data(), sent.size()};
    ring.writer.write({&piece, 1});
    ASSERT_EQ(ring.reader.peek(100).size, 100u);
    ring.positions.written = garbage;
    std::vector<std::byte> into(8192);
    EXPECT_EQ(ring.reader.read(into.data(), into.size()), 0u) << garbage;
    EXPECT_TRUE(ring.reader.damaged()) << garbage;
    EXPECT_EQ(ring.reader.peer_position(), garbage);
    ring.positions.written = 200;
    EXPECT_EQ(ring.reader.peek(10).size, 0u) << "it is over for good";
  }
}

TEST(ShmRing, WriterDoesNotFollowImpossiblePositions) {
  for (const std::uint64_t garbage : {std::uint64_t{4097}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Ring ring(4096);
    const auto sent = ring_numbers(4096);
    const Piece piece{sent.data(), sent.size()};
    ring.writer.write({&piece, 1});
    ring.positions.consumed = garbage;
    EXPECT_EQ(ring.writer.write({&piece, 1}), 0u) << garbage;
    EXPECT_TRUE(ring.writer.damaged()) << garbage;
  }
}

}  // namespace
}  // namespace thalweg
