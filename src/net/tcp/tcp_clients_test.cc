// Peers that others can be asked in place of, and clients that come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "net/socket/reserved_port_for_test.h"
#include "net/tcp/raw_peer_for_test.h"
#include "net/tcp/tcp.h"
#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {
namespace {

TEST(TcpClients, NothingIsSaidOfAClientThatLeaves) {
  LogLines lines;
  TcpOptions options;
  options.workers_are_clients = true;
  options.peer_grace = std::chrono::milliseconds(50);
  options.tell = lines.sink();
  EchoNode echo;
  TcpProcess process(kEcho, echo, options);
  process.start();
  RawPeer::greeted(process.port, kEcho).close();
  RawPeer::greeted(process.port, kEcho, server_node(7)).close();
  while (lines.count("lost server-7") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.end();
  EXPECT_EQ(std::ranges::count(echo.lost, server_node(7)), 1);
  EXPECT_EQ(lines.count("lost "), 1U) << lines.all();
}

TEST(TcpClients, WhoWasNeverThereIsLostWhereOthersCanBeAsked) {
  const std::uint16_t port = port_for_this_test();
  AskNode ask({kEcho}, 1, 1);
  ask.retry = std::chrono::milliseconds(10);
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  options.unmet_is_lost = true;
  Tcp net(kClock, options);
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(port)).ok());
  const Instant until = kClock.now() + std::chrono::minutes(1);
  EXPECT_TRUE(net.run_until([&] { return ask.lost.size() >= 4; }, until));
  EXPECT_EQ(lines.count("cannot connect to server-0 at " + at(port)), 1U) << lines.all();
  EchoNode echo;
  TcpProcess process(kEcho, echo, {}, at(port));
  process.start();
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, until));
}

}  // namespace
}  // namespace thalweg
