#include "net/tcp/frame_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace thalweg {
namespace {

Frame frame_of(std::size_t first_bytes, std::size_t second_bytes, std::uint32_t request) {
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.request = request;
  std::vector<std::byte> first(first_bytes, std::byte{7});
  std::vector<std::byte> second(second_bytes, std::byte{9});
  frame.first = Bytes::of(std::move(first));
  frame.second = Bytes::of(std::move(second));
  return frame;
}

// Feeds `stream` in pieces of at most `piece` bytes and checks that `frames` come out.
void expect_frames(const std::vector<Frame>& frames, const std::vector<std::byte>& stream,
                   std::size_t piece) {
  FrameReader reader;
  reader.set_frame_bytes_max(limits::kFrameBytesMax);
  std::size_t read = 0;
  std::size_t found = 0;
  while (found < frames.size()) {
    iovec parts[2];
    const std::size_t count = reader.space(parts);
    std::size_t left = std::min(piece, stream.size() - read);
    ASSERT_GT(left, 0U);
    std::size_t filled = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = std::min(left, parts[i].iov_len);
      std::memcpy(parts[i].iov_base, stream.data() + read, size);
      read += size;
      left -= size;
      filled += size;
    }
    reader.filled(filled);
    for (;;) {
      auto next = reader.next();
      ASSERT_TRUE(next.ok()) << next.status().message();
      if (!next->has_value()) break;
      ASSERT_LT(found, frames.size());
      EXPECT_EQ(encode_frame(**next), encode_frame(frames[found]));
      ++found;
    }
  }
  EXPECT_EQ(read, stream.size());
  EXPECT_FALSE(reader.inside_frame());
}

TEST(FrameReader, AnyCutOfTheStreamGivesTheSameFrames) {
  std::vector<Frame> frames;
  std::vector<std::byte> stream;
  Random random(3);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::size_t scale = std::size_t{1} << random.below(19);
    frames.push_back(frame_of(random.below(scale), random.below(scale), i));
    const auto bytes = encode_frame(frames.back());
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  for (const std::size_t piece : {1U, 79U, 80U, 81U, 4096U, 100000U, 1U << 24}) {
    SCOPED_TRACE(piece);
    expect_frames(frames, stream, piece);
  }
}

void feed(FrameReader& reader, std::span<const std::byte> bytes) {
  iovec parts[2];
  reader.space(parts);
  ASSERT_LE(bytes.size(), parts[0].iov_len);
  std::memcpy(parts[0].iov_base, bytes.data(), bytes.size());
  reader.filled(bytes.size());
}

std::vector<std::byte> with_flip(std::vector<std::byte> bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  return bytes;
}

Frame small_push() {
  Frame frame;
  frame.head.op = Op::kPush;
  frame.head.ranges = {3, 9};
  frame.first = Bytes::of(std::vector<std::uint64_t>{5, 700, 1u << 20});
  frame.second = Bytes::of(std::vector<float>{0.5f, -1, 3});
  return frame;
}

TEST(FrameReader, GivesNoFrameOfWhichABitWasFlipped) {
  const auto bytes = encode_frame(small_push());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    FrameReader reader;
    reader.set_frame_bytes_max(limits::kFrameBytesMax);
    feed(reader, with_flip(bytes, bit));
    EXPECT_EQ(reader.next().status().code(), Code::kRefused) << "bit " << bit;
  }
}

// Else a longer frame would swallow those behind it, heartbeats too, for as long as they come.
TEST(FrameReader, RefusesAFlippedHeaderBeforeAnythingBehindItComes) {
  const auto bytes = encode_frame(small_push());
  for (std::size_t bit = 0; bit < kHeaderBytes * 8; ++bit) {
    FrameReader reader;
    reader.set_frame_bytes_max(limits::kFrameBytesMax);
    feed(reader, encode_frame(frame_of(8, 8, 1)));
    ASSERT_TRUE(reader.next()->has_value());
    const auto flipped = with_flip(bytes, bit);
    feed(reader, std::span(flipped).first(kHeaderBytes));
    EXPECT_EQ(reader.next().status().code(), Code::kRefused) << "bit " << bit;
  }
}

TEST(FrameReader, SegmentsAreAligned) {
  for (const std::size_t first_bytes : {0U, 3U, 8U, 61U, 64U, 1000U}) {
    const auto stream = encode_frame(frame_of(first_bytes, 5, 0));
    FrameReader reader;
    iovec parts[2];
    ASSERT_EQ(reader.space(parts), 1U);
    std::memcpy(parts[0].iov_base, stream.data(), stream.size());
    reader.filled(stream.size());
    const auto next = reader.next();
    ASSERT_TRUE(next.ok() && next->has_value());
    const auto address = [](const Bytes& segment) {
      return reinterpret_cast<std::uintptr_t>(segment.span().data());
    };
    EXPECT_EQ(address((*next)->first) % 8, 0U);
    EXPECT_EQ(address((*next)->second) % 64, 0U);
  }
}

TEST(FrameReader, StrangersMaySendLittle) {
  FrameReader reader;
  const auto stream = encode_frame(frame_of(limits::kFrameBytesBeforeHello, 0, 0));
  iovec parts[2];
  reader.space(parts);
  ASSERT_GE(parts[0].iov_len, kHeaderBytes);
  EXPECT_LE(parts[0].iov_len, limits::kFrameBytesBeforeHello);
  std::memcpy(parts[0].iov_base, stream.data(), kHeaderBytes);
  reader.filled(kHeaderBytes);
  EXPECT_EQ(reader.next().status().code(), Code::kRefused);
}

}  // namespace
}  // namespace thalweg
