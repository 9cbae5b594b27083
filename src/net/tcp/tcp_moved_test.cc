// Peers that come back, or elsewhere.
#include <gtest/gtest.h>

#include "net/socket/reserved_port_for_test.h"
#include "net/tcp/tcp.h"
#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(TcpMoved, RestartedPeerIsLostAndFoundAgain) {
  EchoNode first;
  TcpProcess process(kEcho, first);
  process.start();
  AskNode ask({kEcho}, 50, 8, with_payload(100, 1000));
  ask.finishes = false;
  ask.retry = 50ms;
  Tcp net(kClock, {});
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  ASSERT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
  process.end();
  EchoNode second;
  TcpProcess again(kEcho, second, {}, at(process.port));
  again.start();
  ask.ask_more(50);
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
  EXPECT_EQ(ask.lost, std::vector<NodeId>{kEcho});
  EXPECT_EQ(ask.wrong, 0U);
}

// A peer that is said to be elsewhere stays where it is until somebody answers there, who takes its place
// then, although the one before is connected yet: it may be stopped.
TEST(TcpMoved, APeerThatMovesIsLeftOnceItIsFound) {
  EchoNode first, second;
  TcpProcess process(kEcho, first), elsewhere(kEcho, second);
  process.start();
  AskNode ask({kEcho}, 50, 8, with_payload(100, 1000));
  ask.finishes = false;
  ask.retry = 50ms;
  TcpOptions options;
  options.peer_grace = 1h;
  Tcp net(kClock, options);
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  const auto asked = [&] { return net.run_until([&] { return ask.done(); }, kClock.now() + 60s); };
  ASSERT_TRUE(asked());
  const ReservedPort nobody = *ReservedPort::reserve();
  ASSERT_TRUE(net.introduce(kEcho, at(nobody.number())).ok());
  ask.ask_more(50);
  ASSERT_TRUE(asked());
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());  // It has not moved.
  ask.ask_more(50);
  ASSERT_TRUE(asked());
  EXPECT_TRUE(ask.lost.empty());
  elsewhere.start();
  ASSERT_TRUE(net.introduce(kEcho, at(elsewhere.port)).ok());
  EXPECT_TRUE(net.run_until([&] { return !ask.lost.empty(); }, kClock.now() + 60s));
  process.end();
  ask.ask_more(50);
  EXPECT_TRUE(asked());
  EXPECT_EQ(ask.lost, std::vector<NodeId>{kEcho});
  EXPECT_EQ(ask.wrong, 0U);
}

}  // namespace
}  // namespace thalweg
