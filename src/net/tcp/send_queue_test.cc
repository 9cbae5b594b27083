#include "net/tcp/send_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace thalweg {
namespace {

Frame push_of(std::size_t first_bytes, std::size_t second_bytes, Op op = Op::kPush) {
  Frame frame;
  frame.head.op = op;
  frame.first = Bytes::of(std::vector<std::byte>(first_bytes, std::byte{1}));
  frame.second = Bytes::of(std::vector<std::byte>(second_bytes, std::byte{2}));
  return frame;
}

// What a kernel that takes at most `most` bytes at a time would see.
std::vector<std::byte> drain(SendQueue& queue, std::size_t most) {
  std::vector<std::byte> out;
  while (!queue.empty()) {
    iovec parts[64];
    const std::size_t count = queue.fill(parts, 1U << 20);
    EXPECT_GT(count, 0U);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count && taken < most; ++i) {
      const std::size_t size = std::min(parts[i].iov_len, most - taken);
      const auto* bytes = static_cast<const std::byte*>(parts[i].iov_base);
      out.insert(out.end(), bytes, bytes + size);
      taken += size;
    }
    queue.sent(taken);
  }
  return out;
}

TEST(SendQueue, PartialWritesGiveTheSameBytes) {
  std::vector<std::byte> expected;
  std::vector<Frame> frames;
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    frames.push_back(push_of(random.below(50), random.below(3000)));
    const auto bytes = encode_frame(frames.back());
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  for (const std::size_t most : {1U, 7U, 80U, 1000U, 1U << 20}) {
    SendQueue queue;
    for (const Frame& frame : frames) queue.push(frame);
    EXPECT_EQ(queue.bytes(), expected.size());
    EXPECT_EQ(drain(queue, most), expected) << most;
    EXPECT_EQ(queue.bytes(), 0U);
  }
}

TEST(SendQueue, PayloadIsNotCopied) {
  const Frame frame = push_of(16, 1000);
  SendQueue queue;
  queue.push(frame);
  iovec parts[64];
  ASSERT_EQ(queue.fill(parts, 1U << 20), 3U);
  EXPECT_EQ(parts[1].iov_base, frame.first.span().data());
  EXPECT_EQ(parts[2].iov_base, frame.second.span().data());
}

TEST(SendQueue, RestartSendsTheCutFrameWhole) {
  const Frame frame = push_of(16, 1000);
  SendQueue queue;
  queue.push(frame);
  queue.sent(300);
  EXPECT_TRUE(queue.inside_frame());
  queue.restart();
  EXPECT_EQ(drain(queue, 128), encode_frame(frame));
}

TEST(SendQueue, CountsAnswersAndAppends) {
  SendQueue queue;
  queue.push(push_of(8, 8));
  SendQueue other;
  other.push(push_of(8, 8, Op::kPullReply));
  const std::size_t one = push_of(8, 8).size_bytes();
  queue.append(other);
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(queue.bytes(), 2 * one);
  EXPECT_EQ(queue.answer_bytes(), one);
  queue.sent(one);
  EXPECT_EQ(queue.answer_bytes(), one);
  EXPECT_EQ(drain(queue, 1000), encode_frame(push_of(8, 8, Op::kPullReply)));
  EXPECT_EQ(queue.answer_bytes(), 0U);
}

}  // namespace
}  // namespace thalweg
