// Whatever strangers and peers send, only their own connection ends: an honest pair goes on all the while.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/hash/hash.h"
#include "net/tcp/honest_pair_for_test.h"
#include "net/tcp/raw_peer_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

using Input = std::pair<std::string, std::vector<std::byte>>;

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kOpAt = 6;
constexpr std::size_t kFlagsAt = 7;
constexpr std::size_t kRangesAt = 26;
constexpr std::size_t kFirstBytesAt = 48;
constexpr std::size_t kSecondBytesAt = 52;
constexpr std::size_t kReservedAt = 57;
constexpr std::size_t kHeaderChecksumAt = 72;

std::vector<std::byte> as_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<std::byte> damaged(std::vector<std::byte> frame, std::size_t at_byte, T value) {
  std::memcpy(frame.data() + at_byte, &value, sizeof value);
  return frame;
}

// As a peer would send it on purpose: its header's checksum is right.
template <class T>
std::vector<std::byte> patched(const std::vector<std::byte>& frame, std::size_t at_byte, T value) {
  const auto bytes = damaged(frame, at_byte, value);
  return damaged(bytes, kHeaderChecksumAt, hash64(bytes.data(), kHeaderChecksumAt));
}

// Each is to be answered by closing the connection at once. `frame` is a good one.
std::vector<Input> bad_inputs(const std::vector<std::byte>& frame) {
  std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  tls.resize(517, 'r');
  return {
      {"first length 2^32-1", patched(frame, kFirstBytesAt, ~std::uint32_t{0})},
      {"second length 2^32-1", patched(frame, kSecondBytesAt, ~std::uint32_t{0})},
      {"length over the limit", patched(frame, kFirstBytesAt, std::uint32_t{64U << 20})},
      {"length 0",
       patched(patched(frame, kFirstBytesAt, std::uint32_t{0}), kSecondBytesAt, std::uint32_t{0})},
      {"HTTP", as_bytes("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a-browser-with-a-long-name/1.0 "
                        "(X11; Linux x86_64)\r\nAccept: */*\r\n\r\n")},
      {"TLS", as_bytes(tls)},
      {"wrong checksum of the payload", patched(frame, kHeaderChecksumAt - 8, std::uint64_t{12345})},
      {"wrong checksum of the header", damaged(frame, kHeaderChecksumAt, std::uint64_t{12345})},
      {"damaged payload", damaged(frame, frame.size() - 1, ~frame.back())},
      {"operation 0", patched(frame, kOpAt, std::uint8_t{0})},
      {"operation 255", patched(frame, kOpAt, std::uint8_t{255})},
      {"version 0", patched(frame, kVersionAt, std::uint16_t{0})},
      {"version 65535", patched(frame, kVersionAt, std::uint16_t{65535})},
      {"unknown flags", patched(frame, kFlagsAt, std::uint8_t{0x80})},
      {"ranges backwards", patched(frame, kRangesAt, std::uint32_t{0x00010002})},
      {"reserved bytes", patched(frame, kReservedAt, std::uint8_t{1})},
      {"zeros", std::vector<std::byte>(4096)},
  };
}

TcpOptions options_for(Duration hello_timeout, bool local_way) {
  TcpOptions options;
  options.hello_timeout = hello_timeout;
  options.local_way = local_way;
  return options;
}

// Each refusal is logged. By TCP, or by the way of one machine, which is as open to all its processes.
class TcpBadInput : public HonestPair, public testing::WithParamInterface<bool> {
 protected:
  explicit TcpBadInput(Duration hello_timeout = 60s)
      : HonestPair(options_for(hello_timeout, GetParam()), {}, 0xc1, 0) {}
  RawPeer connected() const {
    return GetParam() ? RawPeer::connected_locally(port()) : RawPeer::connected(port());
  }
  RawPeer greeted(NodeId as = worker_node(100)) const { return RawPeer::greeted(connected(), kEcho, as); }
  std::vector<RawPeer> strangers(std::size_t count) const {
    std::vector<RawPeer> crowd;
    for (std::size_t i = 0; i < count; ++i) crowd.push_back(connected());
    return crowd;
  }
  void TearDown() override {
    HonestPair::TearDown();
    server_->end();
    EXPECT_EQ(server_->stats.refused, lines_.count("connection ")) << lines_.all();
  }
};

// Strangers have half a second.
struct TcpHurried : TcpBadInput {
  TcpHurried() : TcpBadInput(500ms) {}
};

std::string way_of(const testing::TestParamInfo<bool>& info) { return info.param ? "Locally" : "ByTcp"; }
INSTANTIATE_TEST_SUITE_P(Ways, TcpBadInput, testing::Bool(), way_of);
INSTANTIATE_TEST_SUITE_P(Ways, TcpHurried, testing::Bool(), way_of);

TEST_P(TcpBadInput, BeforeTheHandshake) {
  const auto hello = hello_bytes({worker_node(9), kEcho, 0, 3});
  auto inputs = bad_inputs(hello);
  inputs.emplace_back("a push without a hello", encode_frame(with_payload(1, 1)));
  inputs.emplace_back("a hello without a handshake", hello);
  for (const auto& [name, bytes] : inputs) {
    SCOPED_TRACE(name);
    const std::size_t before = lines_.count("closed: ");
    const RawPeer peer = connected();
    peer.send(bytes);
    peer.await_close();
    EXPECT_EQ(lines_.count("closed: "), before + 1);
  }
}

// By one who knows the secret.
TEST_P(TcpBadInput, InTheHandshake) {
  const std::pair<std::string, Bytes> inputs[] = {
      {"hello for nobody here", encode_hello({worker_node(9), server_node(77), 0, 3})},
      {"hello of another cluster", encode_hello({worker_node(9), kEcho, 0xc2, 3})},
      {"hello in the name of a node that is here", encode_hello({kEcho, kEcho, 0, 3})},
      {"hello of an odd size", Bytes::of("not a hello")},
      {"hello of no size", Bytes()},
      {"hello of the largest size", Bytes::of(std::vector<std::byte>(Handshake::kHelloBytesMax))},
  };
  for (const auto& [name, hello] : inputs) {
    SCOPED_TRACE(name);
    const std::size_t before = lines_.count("closed: ");
    const RawPeer peer = connected();
    peer.greet(hello.span());
    peer.await_close();
    EXPECT_EQ(lines_.count("closed: "), before + 1);
  }
}

// Nobody waits for the bytes of a length that was not sent.
TEST_P(TcpBadInput, AFlippedBitOfALength) {
  Frame push = with_payload(2, 3);
  push.head.op = Op::kPush;
  const auto frame = encode_frame(push);
  for (std::size_t bit = kFirstBytesAt * 8; bit < (kSecondBytesAt + 4) * 8; ++bit) {
    const std::byte flipped = frame[bit / 8] ^ static_cast<std::byte>(1u << (bit % 8));
    const RawPeer peer = greeted();
    peer.send(damaged(frame, bit / 8, flipped));
    peer.await_close();
  }
  EXPECT_EQ(lines_.count("checksum of its header does not match"), 64U) << lines_.all();
}

TEST_P(TcpBadInput, AfterTheHandshake) {
  Frame push = with_payload(2, 3, Op::kHeartbeat);
  auto inputs = bad_inputs(encode_frame(push));
  std::erase_if(inputs, [](const Input& input) { return input.first == "length 0"; });
  push.head.cluster = 0xc2;
  inputs.emplace_back("a frame of another cluster", encode_frame(push));
  inputs.emplace_back("a hello of another process", hello_bytes({worker_node(100), kEcho, 0, 78}));
  inputs.emplace_back("the name of a node that is here", hello_bytes({kEcho, kEcho, 0, 77}));
  for (const auto& [name, bytes] : inputs) {
    SCOPED_TRACE(name);
    const std::size_t before = lines_.count("closed: ");
    const RawPeer peer = greeted();
    peer.send(bytes);
    peer.await_close();
    EXPECT_EQ(lines_.count("closed: "), before + 1);
    EXPECT_EQ(lines_.count("another worker-100"), 0U);
  }
}

// A node tells everybody who knows the secret which process it is of.
TEST_P(TcpBadInput, TheNameOfANodeThatIsHereInTheNameOfItsProcess) {
  const RawPeer curious = connected();
  const auto answer = curious.greet(encode_hello({worker_node(9), kEcho, 0, 3}).span());
  ASSERT_TRUE(answer);
  const auto told = decode_hello(*answer);
  ASSERT_TRUE(told.ok());
  const RawPeer liar = connected();
  liar.greet(encode_hello({kEcho, kEcho, 0, told->incarnation}).span());
  liar.await_close();
  EXPECT_EQ(lines_.count("server-0 is of this process"), 1U) << lines_.all();
}

TEST_P(TcpBadInput, CutAtEachByte) {
  Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kFrames, {}, draw_nonce());
  const std::vector<std::byte> greeting = handshake.take_output();
  for (std::size_t size = 0; size < greeting.size(); ++size) {
    const RawPeer peer = connected();
    peer.send(std::span(greeting).first(size));
  }
  const auto bytes = encode_frame(with_payload(2, 3));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const RawPeer peer = greeted(worker_node(1000 + static_cast<std::uint32_t>(size)));
    peer.send(std::span(bytes).first(size));
  }
}

// Takes the name worker-50 when it is told anything.
struct RenamedNode : TestNode {
  void on_frame(Instant, NodeId from, Frame, Transport& out) override {
    heard.push_back(from);
    out.rename_self(worker_node(50), 0);
  }
  std::vector<NodeId> heard;
};

TEST(Tcp, AStrangerDoesNotKeepTheNameThatANodeHereIsGiven) {
  RenamedNode node;
  TcpOptions options;
  LogLines lines;
  options.tell = lines.sink();
  options.peer_grace = 10ms;
  TcpProcess process(kEcho, node, options);
  process.start();
  const RawPeer namesake = RawPeer::greeted(process.port, kEcho, worker_node(50));
  const RawPeer other = RawPeer::greeted(process.port, kEcho, worker_node(9));
  const auto word = encode_frame(with_payload(1, 1));
  other.send(word);
  namesake.await_close();
  EXPECT_EQ(lines.count("worker-50 is of this process"), 1U) << lines.all();
  other.send(word);
  std::this_thread::sleep_for(50ms);
  process.end();
  EXPECT_TRUE(node.lost.empty());
  for (const NodeId from : node.heard) EXPECT_EQ(from, worker_node(9));
}

TEST_P(TcpHurried, IdleAndSlowStrangers) {
  std::vector<RawPeer> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(connected());
  std::vector<RawPeer> slow;
  for (int i = 0; i < 20; ++i) slow.push_back(connected());
  Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kFrames, {}, draw_nonce());
  const std::vector<std::byte> greeting = handshake.take_output();
  // The last byte is never sent.
  for (std::size_t i = 0; i + 1 < greeting.size(); ++i) {
    bool open = false;
    for (const RawPeer& peer : slow) open = peer.send(std::span(greeting).subspan(i, 1)) || open;
    if (!open) break;
    std::this_thread::sleep_for(10ms);
  }
  for (const RawPeer& peer : idle) peer.await_close();
  for (const RawPeer& peer : slow) peer.await_close();
  EXPECT_EQ(lines_.count("has not said who it is in time"), 220U) << lines_.all();
}

struct CountingNode : TestNode {
  void on_peer_lost(Instant, NodeId, Transport&) override { ++losses; }
  std::atomic<int> losses{0};
};

TEST(Tcp, WhatStrangersCauseIsCountedAfterItsFirstLines) {
  CountingNode node;
  TcpOptions options;
  LogLines lines;
  options.tell = lines.sink();
  options.events_max = 3;
  options.peer_grace = 1ms;
  TcpProcess process(kEcho, node, options);
  process.start();
  for (std::uint32_t i = 0; i < 50; ++i) {
    const RawPeer peer = RawPeer::connected(process.port);
    peer.send(std::string(kHeaderBytes, '?'));
    peer.await_close();
    const RawPeer guest = RawPeer::greeted(process.port, kEcho, worker_node(i));
  }
  while (node.losses < 50) std::this_thread::sleep_for(1ms);
  process.end();
  EXPECT_EQ(process.stats.refused, 50U);
  EXPECT_EQ(lines.count("connection with "), 3U) << lines.all();
  EXPECT_EQ(lines.count("lost worker-"), 3U) << lines.all();
  EXPECT_EQ(lines.count("47 more connections refused"), 1U) << lines.all();
  EXPECT_EQ(lines.count("47 more peers lost"), 1U) << lines.all();
}

// The name of a node that has not been given one.
NodeId nameless(std::uint32_t number) { return worker_node(number | 1u << 31); }

std::vector<std::byte> large_frame() {
  Frame frame = with_payload(2, 3);
  frame.second = Bytes::of(std::vector<float>(limits::kFrameBytesBeforeHello));
  return encode_frame(frame);
}

// Whether the echo server takes a frame of this peer.
bool is_heard(const RawPeer& peer, const std::vector<std::byte>& frame) {
  return peer.send(frame) && peer.receive(frame.size());
}

TEST_P(TcpBadInput, StrangersKeepNobodyOut) {
  const auto crowd = strangers(limits::kConnectionsBeforeHelloMax + 20);
  for (std::uint32_t i = 0; i < 30; ++i)
    EXPECT_TRUE(is_heard(greeted(worker_node(100 + i)), encode_frame(with_payload(1, 1))));
  for (std::size_t i = 0; i < 21; ++i) crowd[i].await_close();
  EXPECT_EQ(lines_.count("others came before it had joined"), 21U) << lines_.all();
}

TEST_P(TcpBadInput, ANameThatNobodyGaveIsAStrangers) {
  std::vector<RawPeer> crowd;
  for (std::uint32_t i = 0; i < limits::kConnectionsBeforeHelloMax; ++i)
    crowd.push_back(greeted(nameless(i)));
  EXPECT_TRUE(is_heard(greeted(), large_frame()));
  crowd.front().await_close();
  EXPECT_FALSE(is_heard(crowd.back(), large_frame()));
  EXPECT_EQ(lines_.count("closed: "), 2U) << lines_.all();
}

TEST_P(TcpBadInput, ANodeThatHasBeenNamedIsAStrangerNoMore) {
  const RawPeer node = greeted(nameless(1));
  EXPECT_TRUE(node.send(hello_bytes({worker_node(70), kEcho, 0, 77})));
  EXPECT_TRUE(is_heard(node, large_frame()));
  const auto crowd = strangers(limits::kConnectionsBeforeHelloMax + 20);
  crowd[19].await_close();
  EXPECT_TRUE(is_heard(node, large_frame()));
}

}  // namespace
}  // namespace thalweg
