// What strangers try at a node's port, and learn: nothing but a challenge.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/tcp/honest_pair_for_test.h"
#include "net/tcp/raw_peer_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::uint64_t kCluster = 0xc1;
constexpr std::size_t kNonceBytes = sizeof(Handshake::Nonce);

TcpOptions knowing(const Secret& secret) {
  TcpOptions options;
  options.secret = secret;
  return options;
}

// A server of a job, its secret drawn, and a worker that goes on asking it all the while.
class TcpSecret : public HonestPair {
 protected:
  explicit TcpSecret(const Secret& secret = draw_secret())
      : HonestPair(knowing(secret), knowing(secret), kCluster, kCluster), secret_(secret) {}
  // All that the node says to `peer` until it closes.
  static std::vector<std::byte> told(const RawPeer& peer) {
    std::vector<std::byte> all, part(4096);
    for (;;) {
      const ssize_t got = ::recv(peer.fd(), part.data(), part.size(), 0);
      if (got <= 0) return all;
      all.insert(all.end(), part.begin(), part.begin() + got);
    }
  }

  const Secret secret_;
};

TEST_F(TcpSecret, AStrangerIsToldAChallengeAndNothingElse) {
  const Bytes hello = encode_hello({worker_node(9), kEcho, 0, 3});
  for (const Secret& guess : {Secret{}, draw_secret()}) {
    const std::size_t before = lines_.count("it does not know the secret");
    const RawPeer stranger = RawPeer::connected(port());
    Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kFrames, guess, draw_nonce());
    handshake.say(hello.span());
    ASSERT_TRUE(stranger.send(handshake.take_output()));
    std::vector<std::byte> challenge(kNonceBytes);
    ASSERT_EQ(::recv(stranger.fd(), challenge.data(), challenge.size(), MSG_WAITALL),
              static_cast<ssize_t>(challenge.size()));
    ASSERT_TRUE(handshake.take(challenge).ok());
    stranger.send(handshake.take_output());
    EXPECT_TRUE(told(stranger).empty());
    EXPECT_EQ(lines_.count("it does not know the secret"), before + 1) << lines_.all();
  }
}

// The worker's name, in use or not, and a gradient of 1e30: the frame is not even read.
TEST_F(TcpSecret, AStrangerPushesNothingUnderAWorkersName) {
  Frame push = with_payload(1, 1);
  push.second = Bytes::of(std::vector<float>{1e30F});
  push.head.cluster = kCluster;
  for (const NodeId name : {kAsker, worker_node(1), worker_node(1U << 31)}) {
    const RawPeer stranger = RawPeer::connected(port());
    EXPECT_FALSE(stranger.greet(encode_hello({name, kEcho, kCluster, 3}).span()));
    stranger.send(encode_frame(push));
    EXPECT_TRUE(told(stranger).empty());
  }
  EXPECT_EQ(lines_.count("it does not know the secret"), 3U) << lines_.all();
  EXPECT_EQ(lines_.count("another worker-0"), 0U) << "the name was looked at";
}

// Between a worker and its server, passing on what they say and keeping it.
struct Recording {
  Recording(std::uint16_t port, const Secret& secret) {
    Handshake worker(Handshake::Side::kDialler, Handshake::Use::kFrames, secret, draw_nonce());
    worker.say(encode_hello({worker_node(5), kEcho, 0, 3}).span());
    const RawPeer wire = RawPeer::connected(port);
    while (!worker.heard()) {
      const auto out = worker.take_output();
      said.insert(said.end(), out.begin(), out.end());
      wire.send(out);
      std::vector<std::byte> in(worker.wanted());
      const ssize_t got = ::recv(wire.fd(), in.data(), in.size(), 0);
      EXPECT_GT(got, 0);
      if (got <= 0) return;
      in.resize(static_cast<std::size_t>(got));
      heard.insert(heard.end(), in.begin(), in.end());
      EXPECT_TRUE(worker.take(in).ok());
    }
  }
  std::vector<std::byte> said, heard;
};

TEST_F(TcpSecret, AHandshakeThatWasRecordedOpensNothing) {
  const Recording recording(port(), secret_);
  const RawPeer stranger = RawPeer::connected(port());
  stranger.send(recording.said);
  EXPECT_EQ(told(stranger).size(), kNonceBytes);
  EXPECT_EQ(lines_.count("it does not know the secret"), 1U) << lines_.all();
}

// The node's own words, given back to it.
TEST_F(TcpSecret, AHandshakeThatIsReflectedOpensNothing) {
  const Recording recording(port(), secret_);
  const RawPeer stranger = RawPeer::connected(port());
  stranger.send(std::span(recording.said).first(24));
  std::vector<std::byte> challenge(kNonceBytes);
  ASSERT_EQ(::recv(stranger.fd(), challenge.data(), challenge.size(), MSG_WAITALL),
            static_cast<ssize_t>(challenge.size()));
  stranger.send(std::span(recording.heard).subspan(kNonceBytes, sizeof(Proof)));
  EXPECT_TRUE(told(stranger).empty());
  EXPECT_EQ(lines_.count("it does not know the secret"), 1U) << lines_.all();
}

TEST_F(TcpSecret, WhoKnowsTheSecretIsHeard) {
  const RawPeer peer = RawPeer::connected(port());
  ASSERT_TRUE(peer.greet(encode_hello({worker_node(7), kEcho, 0, 3}).span(), secret_));
  const auto push = encode_frame(with_payload(1, 1));
  EXPECT_TRUE(peer.send(push));
  EXPECT_TRUE(peer.receive(push.size()));
}

TEST_F(TcpSecret, ACrowdThatGreetsAndProvesNothingKeepsNobodyOut) {
  std::vector<RawPeer> crowd;
  Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kFrames, {}, draw_nonce());
  const auto greeting = handshake.take_output();
  for (std::size_t i = 0; i < limits::kConnectionsBeforeHelloMax + 20; ++i) {
    crowd.push_back(RawPeer::connected(port()));
    crowd.back().send(greeting);
  }
  const RawPeer peer = RawPeer::connected(port());
  EXPECT_TRUE(peer.greet(encode_hello({worker_node(7), kEcho, 0, 3}).span(), secret_));
  for (std::size_t i = 0; i < 20; ++i) crowd[i].await_close();
  EXPECT_GE(lines_.count("others came before it had joined"), 20U) << lines_.all();
}

// Somebody else listens where the server is expected: it is told a greeting and a proof, no name and no
// cluster.
TEST(Tcp, AStrangerThatIsDialledIsNotToldWhoDials) {
  auto [listener, listening_port] = RawPeer::listening();
  LogLines lines;
  TcpOptions options;
  options.secret = draw_secret();
  options.tell = lines.sink();
  AskNode ask({kEcho}, 1, 1);
  Tcp net(kClock, options);
  net.add(kAsker, ask, kCluster);
  ASSERT_TRUE(net.introduce(kEcho, at(listening_port)).ok());
  std::vector<std::byte> told(1000);
  std::size_t size = 0;
  std::thread stranger([&, &its = listener] {
    const RawPeer peer = its.accept();
    const std::vector<std::byte> noise(kNonceBytes + sizeof(Proof), std::byte{7});
    peer.send(noise);
    for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
      got = ::recv(peer.fd(), told.data() + size, told.size() - size, 0);
    }
  });
  EXPECT_TRUE(
      net.run_until([&] { return lines.count("it does not know the secret") > 0; }, kClock.now() + 60s));
  stranger.join();
  EXPECT_EQ(size, 24 + sizeof(Proof));
  EXPECT_FALSE(ask.done());
}

// Who has another secret than the node that it dials is told what to look at.
TEST(Tcp, ADiallerWithAnotherSecretIsToldSo) {
  EchoNode echo;
  TcpProcess process(kEcho, echo);
  process.start();
  LogLines lines;
  TcpOptions options;
  options.secret = draw_secret();
  options.tell = lines.sink();
  AskNode ask({kEcho}, 1, 1);
  Tcp net(kClock, options);
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  EXPECT_TRUE(
      net.run_until([&] { return lines.count("both must have the same one") > 0; }, kClock.now() + 60s));
}

}  // namespace
}  // namespace thalweg
