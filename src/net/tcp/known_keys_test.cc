#include "net/tcp/known_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "net/tcp/frame_reader.h"
#include "net/tcp/send_queue.h"
#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""s;

constexpr std::size_t kReference = KnownKeys::kReferenceBytes;

Frame pull_of(std::size_t keys, std::uint32_t request = 0) {
  Frame frame = with_payload(keys, 0, Op::kPull);
  frame.head.request = request;
  return frame;
}

// A push of what `pull` asked for.
Frame push_after(const Frame& pull, std::size_t floats) {
  Frame frame = with_payload(0, floats, Op::kPush);
  frame.first = pull.first;
  return frame;
}

std::vector<std::byte> stream_of(SendQueue& queue) {
  std::vector<std::byte> out;
  while (!queue.empty()) {
    iovec parts[16];
    const std::size_t count = queue.fill(parts, 1U << 16);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* bytes = static_cast<const std::byte*>(parts[i].iov_base);
      out.insert(out.end(), bytes, bytes + parts[i].iov_len);
      taken += parts[i].iov_len;
    }
    queue.sent(taken);
  }
  return out;
}

std::vector<std::byte> stream_of(SendQueue& queue, const std::vector<Frame>& frames) {
  for (const Frame& frame : frames) queue.push(frame);
  return stream_of(queue);
}

struct ReceivedFrames {
  std::vector<Frame> frames;
  Status status = ok_status();
};

// Takes what comes of `stream`, at most `piece` bytes at a time.
ReceivedFrames received_of(FrameReader& reader, std::span<const std::byte> stream, std::size_t piece) {
  reader.set_frame_bytes_max(limits::kFrameBytesMax);
  ReceivedFrames received;
  while (!stream.empty()) {
    iovec parts[2];
    const std::size_t count = reader.space(parts);
    std::size_t filled = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = std::min({piece - filled, parts[i].iov_len, stream.size()});
      std::memcpy(parts[i].iov_base, stream.data(), size);
      stream = stream.subspan(size);
      filled += size;
    }
    reader.filled(filled);
    for (;;) {
      auto next = reader.next();
      if (!next) {
        received.status = next.status();
        return received;
      }
      if (!next->has_value()) break;
      received.frames.push_back(**std::move(next));
    }
  }
  return received;
}

std::size_t sizes_of(const std::vector<Frame>& frames) {
  std::size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.size_bytes();
  return bytes;
}

void expect_same_frames(const std::vector<Frame>& a, const std::vector<Frame>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(encode_frame(a[i]), encode_frame(b[i])) << i;
}

TEST(KnownKeys, APushSendsItsValuesAlone) {
  const Frame pull = pull_of(1000);
  const std::vector<Frame> frames{pull, push_after(pull, 1000), push_after(pull, 1000)};  // One is a repeat.
  SendQueue queue;
  const auto stream = stream_of(queue, frames);
  EXPECT_EQ(stream.size(), sizes_of(frames) - 2 * (8000 - kReference));
  EXPECT_EQ(queue.bytes(), 0U);
  FrameReader reader;
  const ReceivedFrames received = received_of(reader, stream, 1U << 20);
  expect_same_frames(received.frames, frames);
  EXPECT_FALSE(reader.inside_frame());
  // The very memory of the pull's, so that whoever compares the two need not look.
  EXPECT_EQ(received.frames[1].first.span().data(), received.frames[0].first.span().data());
}

TEST(KnownKeys, WhatIsShortOrLiesElsewhereIsSent) {
  const Frame pull = pull_of(1000), few = pull_of(KnownKeys::kSegmentBytesMin / sizeof(Key) - 1);
  Frame copy = push_after(pull, 10);
  copy.first = pull_of(1000).first;
  const std::vector<Frame> frames{pull, few, copy, push_after(few, 10)};
  SendQueue queue;
  EXPECT_EQ(stream_of(queue, frames).size(), sizes_of(frames));
}

TEST(KnownKeys, AnyFramesInAnyPiecesComeAsTheyWere) {
  Random random(11);
  std::vector<Frame> frames, pulls;
  for (std::uint32_t i = 0; i < 300; ++i) {
    if (pulls.empty() || random.chance(0.4)) {
      pulls.push_back(pull_of(random.below(3000), i));
      frames.push_back(pulls.back());
    } else if (random.chance(0.2)) {
      frames.push_back(with_payload(random.below(2000), random.below(100)));
    } else {
      // Some of pulls that are forgotten by now.
      const std::size_t back = random.below(std::min<std::size_t>(pulls.size(), 50));
      frames.push_back(push_after(pulls[pulls.size() - 1 - back], random.below(3000)));
    }
  }
  SendQueue queue;
  const auto stream = stream_of(queue, frames);
  EXPECT_LT(stream.size(), sizes_of(frames) * 4 / 5);
  for (const std::size_t piece : {1U, 15U, 16U, 17U, 96U, 5000U, 1U << 24}) {
    SCOPED_TRACE(piece);
    FrameReader reader;
    expect_same_frames(received_of(reader, stream, piece).frames, frames);
    EXPECT_LE(reader.known().size(), KnownKeys::kCountMax);
  }
}

TEST(KnownKeys, ANewConnectionKnowsNothing) {
  const Frame pull = pull_of(1000), push = push_after(pull, 10);
  SendQueue queue;
  stream_of(queue, {pull});
  queue.push(push);
  iovec parts[16];
  ASSERT_GT(queue.fill(parts, 1U << 16), 0U);
  queue.sent(kReference + 3);  // Of a reference that the former connection would have understood.
  queue.restart();
  FrameReader reader;
  const auto stream = stream_of(queue);
  EXPECT_EQ(stream, encode_frame(push));
  expect_same_frames(received_of(reader, stream, 1U << 20).frames, {push});
}

TEST(KnownKeys, FramesThatAreAppendedAreMadeAnew) {
  const Frame pull = pull_of(1000), push = push_after(pull, 10);
  SendQueue queue, other;
  stream_of(other, {pull});
  other.push(push);
  queue.append(other);
  EXPECT_EQ(stream_of(queue), encode_frame(push));
}

TEST(KnownKeys, BothEndsForgetTheOldest) {
  KnownKeys known;
  std::vector<Frame> pulls;
  for (std::size_t i = 0; i <= KnownKeys::kCountMax; ++i) known.on_frame(pulls.emplace_back(pull_of(512)));
  EXPECT_EQ(known.size(), KnownKeys::kCountMax);
  EXPECT_FALSE(known.find(pulls[0].first));
  EXPECT_TRUE(known.find(pulls[1].first));
  const std::size_t large = KnownKeys::kBytesMax / sizeof(Key);
  known.on_frame(pulls.emplace_back(pull_of(large)));
  EXPECT_EQ(known.size(), 1U);
  EXPECT_EQ(known.bytes(), KnownKeys::kBytesMax);
  known.on_frame(pull_of(large + 1));
  EXPECT_TRUE(known.find(pulls.back().first))
      << "what is larger than all that may be kept pushes nothing out";
}

TEST(KnownKeys, ADamagedReferenceIsRefused) {
  const Frame pull = pull_of(512);
  SendQueue queue;
  const auto before = stream_of(queue, {pull}), stream = stream_of(queue, {push_after(pull, 3)});
  ASSERT_EQ(stream.size(), kReference + kHeaderBytes + 16);
  for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
    FrameReader reader;
    ASSERT_EQ(received_of(reader, before, before.size()).frames.size(), 1U);
    auto flipped = stream;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const ReceivedFrames received = received_of(reader, flipped, flipped.size());
    EXPECT_EQ(received.status.code(), Code::kRefused) << "bit " << bit;
    EXPECT_TRUE(received.frames.empty()) << "bit " << bit;
  }
}

TEST(KnownKeys, AReferenceToNothingOrBesideKeysIsRefused) {
  const Frame pull = pull_of(512);
  SendQueue queue;
  const auto before = stream_of(queue, {pull}), stream = stream_of(queue, {push_after(pull, 3)});
  FrameReader stranger;
  const ReceivedFrames unknown = received_of(stranger, stream, stream.size());
  EXPECT_EQ(unknown.status.code(), Code::kRefused);
  EXPECT_EQ(unknown.status.message(),
            "frame refused: names keys of 4096 bytes 0 pulls ago, of which 0 are known here");

  auto both = stream;
  both.resize(kReference);
  const auto whole = encode_frame(push_after(pull, 3));
  both.insert(both.end(), whole.begin(), whole.end());
  FrameReader reader;
  received_of(reader, before, before.size());
  EXPECT_EQ(received_of(reader, both, both.size()).status.message(),
            "frame refused: it names keys and has some of its own");
}

// A server that keeps the frames it gets and answers each.
class FrameKeeper final : public TestNode {
 public:
  void on_frame(Instant, NodeId from, Frame frame, Transport& out) override {
    Frame answer;
    answer.head = frame.head;
    answer.head.op = frame.head.op == Op::kPull ? Op::kPullReply : Op::kPushReply;
    frames.push_back(std::move(frame));
    out.send(from, std::move(answer));
  }
  std::vector<Frame> frames;
};

class AnswerCounter final : public TestNode {
 public:
  void on_frame(Instant, NodeId, Frame, Transport&) override { ++answers; }
  std::size_t answers = 0;
};

TEST(KnownKeys, GoOverAConnectionOnce) {
  FrameKeeper server;
  TcpProcess process(kEcho, server);
  const std::uint16_t port = process.port;
  process.start();
  AnswerCounter worker;
  Tcp net(kClock, {});
  net.add(kAsker, worker);
  ASSERT_TRUE(net.introduce(kEcho, at(port)).ok());
  std::size_t answers = 0;
  const auto ask = [&](const Frame& frame) {
    const std::uint64_t before = net.stats().sent_bytes;
    net.turn(kAsker, [&](Instant, Transport& out) { out.send(kEcho, frame); });
    EXPECT_TRUE(net.run_until([&] { return worker.answers > answers; }, kClock.now() + 60s));
    ++answers;
    return net.stats().sent_bytes - before;
  };
  const Frame pull = pull_of(50'000), push = push_after(pull, 50'000);
  EXPECT_GE(ask(pull), pull.size_bytes()) << "the handshake as well";
  EXPECT_EQ(ask(push), kReference + kHeaderBytes + 50'000 * sizeof(float));
  EXPECT_EQ(ask(push), kReference + kHeaderBytes + 50'000 * sizeof(float));
  process.end();
  expect_same_frames(server.frames, {pull, push, push});
}

}  // namespace
}  // namespace thalweg
