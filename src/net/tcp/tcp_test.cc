// Connections: kept, lost, found again, refused and bounded.
#include "net/tcp/tcp.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "net/socket/reserved_port_for_test.h"
#include "net/tcp/raw_peer_for_test.h"
#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::string_view kAnyPort = "127.0.0.1:0";

TEST(Tcp, NodesOfOneDriverShareFrames) {
  EchoNode echo;
  AskNode ask({kEcho}, 100, 4, with_payload(10, 10));
  Tcp net(kClock, {});
  net.add(kEcho, echo);
  net.add(kAsker, ask);
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
  EXPECT_EQ(ask.wrong, 0U);
  EXPECT_EQ(net.stats().connections, 0U);
}

TEST(Tcp, Ipv6LoopbackAndNames) {
  EchoNode echo;
  TcpProcess process(kEcho, echo, {}, "[::1]:0");
  process.start();
  AskNode ask({kEcho}, 10, 4);
  Tcp net(kClock, {});
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, "localhost:1").ok());  // Refused; the second address is better.
  ASSERT_TRUE(net.introduce(kEcho, "[::1]:" + std::to_string(process.port)).ok());
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
}

TEST(Tcp, NodesMayStartInAnyOrder) {
  const std::uint16_t port = port_for_this_test();
  AskNode ask({kEcho}, 10, 4);
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  Tcp net(kClock, options);
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(port)).ok());
  EXPECT_FALSE(net.run_until([&] { return ask.done(); }, kClock.now() + 100ms));
  EXPECT_EQ(lines.count("cannot connect to server-0 at " + at(port)), 1U) << lines.all();
  EXPECT_TRUE(ask.lost.empty());  // It was never there.
  EchoNode echo;
  TcpProcess process(kEcho, echo, {}, at(port));
  process.start();
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
}

// A peer that closes its connection but comes back within the grace is not lost, and a frame that was cut is
// sent again whole.
TEST(Tcp, ReconnectsWithinGrace) {
  auto [listener, port] = RawPeer::listening();
  const Frame request = with_payload(0, 1U << 22);  // More than the kernel's buffers take.
  AskNode ask({kEcho}, 1, 1, request);
  ask.finishes = false;
  ask.retry = 1h;
  TcpOptions options;
  options.socket_buffer_bytes = 256 << 10;
  std::optional<Tcp> net(std::in_place, kClock, options);
  net->add(kAsker, ask);
  ASSERT_TRUE(net->introduce(kEcho, at(port)).ok());
  std::thread server([&its = listener, &request] {
    const Hello hello{kEcho, kAsker, 0, 5};
    EXPECT_TRUE(its.accept(hello).receive(1000));  // Then closes in the middle of the push.
    const RawPeer peer = its.accept(hello);
    EXPECT_TRUE(peer.receive(request.size_bytes()));
    Frame reply = request;
    reply.head.op = Op::kPushReply;
    peer.send(encode_frame(reply));
    peer.await_close();
  });
  EXPECT_TRUE(net->run_until([&] { return ask.done(); }, kClock.now() + 60s));
  EXPECT_TRUE(ask.lost.empty());
  EXPECT_EQ(ask.wrong, 0U);
  net.reset();
  server.join();
}

// A node that counts frames, and whose job one of them ends.
class EndingNode final : public TestNode {
 public:
  explicit EndingNode(bool finishes = true) : finishes_(finishes) {}
  void on_frame(Instant, NodeId, Frame frame, Transport&) override {
    ++received;
    over_ = over_ || frame.head.op == Op::kStop;
  }
  bool finished() const override { return finishes_ && over_; }
  bool over() const override { return over_; }
  bool has_left(NodeId peer) const override { return peer == left; }
  std::optional<NodeId> left;
  int received = 0;

 private:
  const bool finishes_;
  bool over_ = false;
};

// A peer with a port of its own, connected to worker 0 of `net`, which has heard one frame of it.
struct DialledPeer {
  DialledPeer(Tcp& net, EndingNode& node, NodeId id) {
    EXPECT_TRUE(net.introduce(id, at(listening.second)).ok());
    net.turn(kAsker, [&](Instant, Transport& out) { out.send(id, Frame{{Op::kHeartbeat}, {}, {}}); });
    const int before = node.received;
    std::thread called([&] {
      peer.emplace(listening.first.accept({id, kAsker, 0, 5}));
      say(Op::kHeartbeat);
    });
    EXPECT_TRUE(net.run_until([&] { return node.received > before; }, kClock.now() + 60s));
    called.join();
  }
  void say(Op op) const { peer->send(encode_frame(Frame{{op}, {}, {}})); }
  void end() {
    listening.first.close();
    peer->close();
  }

  std::pair<RawPeer, std::uint16_t> listening = RawPeer::listening();
  std::optional<RawPeer> peer;
};

TEST(Tcp, LastWordsAreHeardThoughNothingCanBeSentAnyMore) {
  EndingNode node;
  Tcp net(kClock, {});
  net.add(kAsker, node);
  DialledPeer peer(net, node, kEcho);
  peer.say(Op::kStop);
  const linger reset{1, 0};
  ASSERT_EQ(::setsockopt(peer.peer->fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
  peer.end();
  for (int i = 0; i < 2; ++i) {
    net.turn(kAsker, [](Instant, Transport& out) { out.send(kEcho, Frame{{Op::kHeartbeat}, {}, {}}); });
  }
  EXPECT_TRUE(net.run_until([&] { return node.over(); }, kClock.now() + 10s));
}

// When a job ends, a node hears of it together with the ends of others' connections, which it may outlive.
TEST(Tcp, WhoseJobIsOverTakesNobodyForLost) {
  for (const bool servers_first : {true, false}) {
    for (const bool finishes : {true, false}) {
      EndingNode node(finishes);
      LogLines lines;
      TcpOptions options;
      options.tell = lines.sink();
      Tcp net(kClock, options);
      net.add(kAsker, node);
      DialledPeer server(net, node, kEcho);
      DialledPeer scheduler(net, node, kScheduler);
      if (servers_first) server.end();
      scheduler.say(Op::kStop);
      scheduler.end();
      EXPECT_TRUE(net.run_until([&] { return node.over(); }, kClock.now() + 60s));
      if (!servers_first) server.end();
      net.run_until([] { return false; }, kClock.now() + 100ms);
      EXPECT_EQ(lines.all(), "");
    }
  }
}

TEST(Tcp, WhoeverHasLeftIsNotMissed) {
  for (const bool left : {true, false}) {
    EndingNode node;
    LogLines lines;
    TcpOptions options;
    options.refused_is_lost = true;
    options.tell = lines.sink();
    Tcp net(kClock, options);
    net.add(kAsker, node);
    DialledPeer server(net, node, kEcho);
    if (left) node.left = kEcho;
    server.end();
    EXPECT_TRUE(net.run_until([&] { return !node.lost.empty(); }, kClock.now() + 60s));
    EXPECT_EQ(lines.all().empty(), left) << lines.all();
  }
}

class SetClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void pass(Duration time) { now_ = now_ + time; }

 private:
  Instant now_{};
};

// Its connection was cut, and before it could be made anew this process was stopped for long.
TEST(Tcp, APauseOfItsOwnIsNobodysLoss) {
  SetClock clock;
  EndingNode node;
  Tcp net(clock, {});
  net.add(kAsker, node);
  DialledPeer peer(net, node, kEcho);
  peer.peer->close();
  net.run_until([&] { return net.stats().connections == 0; });
  clock.pass(1h);
  net.run_until([&] { return net.stats().connections == 1 || !node.lost.empty(); });
  EXPECT_TRUE(node.lost.empty());
}

// A running echo that takes peers for lost soon.
struct BriefGrace {
  BriefGrace() { process.start(); }
  TcpOptions options() {
    TcpOptions options;
    options.peer_grace = 50ms;
    options.tell = lines.sink();
    return options;
  }
  EchoNode echo;
  LogLines lines;
  TcpProcess process{kEcho, echo, options()};
};

// A peer that dialled us cannot be dialled back, so only time tells that it is gone.
TEST(Tcp, VanishedPeerIsLostAfterTheGrace) {
  BriefGrace at;
  RawPeer::greeted(at.process.port, kEcho).close();
  while (at.lines.count("lost worker-100: not connected for 50 ms") == 0) std::this_thread::sleep_for(1ms);
  at.process.end();
  EXPECT_EQ(at.echo.lost, std::vector<NodeId>{worker_node(100)});
}

// Who is turned away leaves under the name that it chose for itself, which means nothing to people.
TEST(Tcp, WhoLeavesWithoutANameIsNotSaidToBeLost) {
  BriefGrace at;
  const NodeId temporary = worker_node(0x80000001);
  RawPeer::greeted(at.process.port, kEcho, temporary).close();
  RawPeer::greeted(at.process.port, kEcho).close();
  while (at.lines.count("lost worker-100") == 0) std::this_thread::sleep_for(1ms);
  at.process.end();
  std::ranges::sort(at.echo.lost);
  EXPECT_EQ(at.echo.lost, (std::vector<NodeId>{worker_node(100), temporary}));
  EXPECT_EQ(at.lines.count("lost "), 1U) << at.lines.all();
}

// Joiners that chose the same name for themselves are let in one after the other.
TEST(Tcp, TemporaryNameIsFreeOnceChanged) {
  EchoNode scheduler;
  TcpProcess process(kScheduler, scheduler);
  process.start();
  const NodeId temporary = worker_node(0x80000000);
  const Frame join{{Op::kPush}, {}, {}};
  std::vector<RawPeer> joined;  // Stay connected under their new names.
  for (std::uint32_t i = 0; i < 3; ++i) {
    joined.push_back(RawPeer::connected(process.port));
    EXPECT_TRUE(joined.back().greet(encode_hello({temporary, kScheduler, 0, 50 + i}).span()));
    joined.back().send(hello_bytes({worker_node(i), kScheduler, 0, 50 + i}));
    joined.back().send(encode_frame(join));
    EXPECT_TRUE(joined.back().receive(join.size_bytes()));
  }
  process.end();
  EXPECT_EQ(scheduler.received, 3U);
  EXPECT_EQ(process.stats.refused, 0U);
}

TEST(Tcp, OneByteAtATime) {
  EchoNode echo;
  TcpProcess process(kEcho, echo);
  process.start();
  const RawPeer peer = RawPeer::greeted(process.port, kEcho);
  const auto bytes = encode_frame(with_payload(3, 5));
  for (const std::byte& one : bytes) ASSERT_TRUE(peer.send(std::span(&one, 1)));
  EXPECT_TRUE(peer.receive(bytes.size()));
  process.end();
  EXPECT_EQ(echo.received, 1U);
  EXPECT_EQ(process.stats.refused, 0U);
}

// A peer that asks but does not read the answers is not read from; once it reads, all goes on.
TEST(Tcp, SlowReaderBoundsMemory) {
  TcpOptions options;
  options.answer_bytes_high = std::size_t{4} << 20;
  options.socket_buffer_bytes = 256 << 10;
  EchoNode echo;
  TcpProcess process(kEcho, echo, options);
  process.start();
  const RawPeer peer = RawPeer::greeted(process.port, kEcho);
  const auto bytes = encode_frame(with_payload(0, (1U << 18) - 20));
  constexpr std::size_t kFrames = 64;
  std::size_t sent = 0;
  const auto send_part = [&] {
    const std::size_t at_byte = sent % bytes.size();
    const ssize_t now = ::send(peer.fd(), bytes.data() + at_byte, bytes.size() - at_byte, MSG_DONTWAIT);
    if (now > 0) sent += static_cast<std::size_t>(now);
  };
  while (sent < kFrames * bytes.size() && peer.can_send_within(500)) send_part();
  EXPECT_LT(sent, 16U << 20) << "the driver read on although its answers were not";
  std::thread reader([&] { EXPECT_TRUE(peer.receive(kFrames * bytes.size())); });
  while (sent < kFrames * bytes.size()) {
    if (peer.can_send_within(1000)) send_part();
  }
  reader.join();
  process.end();
  EXPECT_EQ(echo.received, kFrames);
}

TEST(Tcp, QueueToAPeerThatReadsNothingIsBounded) {
  auto [listener, port] = RawPeer::listening();
  TestNode node;
  TcpOptions options;
  options.send_queue_bytes_max = std::size_t{8} << 20;
  Tcp net(kClock, options);
  net.add(kAsker, node);
  ASSERT_TRUE(net.introduce(kEcho, at(port)).ok());
  const Frame push = with_payload(0, 1U << 18);
  for (int i = 0; i < 64; ++i) {
    net.turn(kAsker, [&](Instant, Transport& out) { out.send(kEcho, push); });
    EXPECT_LE(net.stats().queued_bytes, options.send_queue_bytes_max);
  }
  EXPECT_GE(net.stats().frames_dropped, 50U);
}

TEST(Tcp, AnotherClusterIsRefusedByName) {
  EchoNode echo;
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  TcpProcess process(kEcho, echo, options, kAnyPort, 0xaaaa);
  process.start();
  AskNode ask({kEcho}, 1, 1);
  Tcp net(kClock, options);
  net.add(kAsker, ask, 0xbbbb);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  EXPECT_TRUE(net.run_until([&] { return lines.count("000000000000aaaa") >= 2; }, kClock.now() + 60s));
  EXPECT_GE(lines.count("000000000000bbbb"), 2U) << lines.all();
  EXPECT_FALSE(ask.done());
}

TEST(Tcp, SecondNodeOfOneNameIsRefused) {
  EchoNode echo;
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  TcpProcess process(kEcho, echo, options);
  process.start();
  AskNode ask({kEcho}, 1, 1);
  ask.finishes = false;
  Tcp net(kClock, {});
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  ASSERT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
  const RawPeer impostor = RawPeer::greeted(process.port, kEcho, kAsker);
  impostor.await_close();
  EXPECT_EQ(lines.count("another worker-0 is connected"), 1U) << lines.all();
  ask.ask_more(1);
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
}

TEST(Tcp, WrongNodeAtAnAddressIsNamed) {
  EchoNode echo;
  TcpProcess process(kEcho, echo);
  process.start();
  TestNode node;
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  Tcp net(kClock, options);
  net.add(kAsker, node);
  ASSERT_TRUE(net.introduce(server_node(3), at(process.port)).ok());
  net.turn(kAsker, [](Instant, Transport& out) { out.send(server_node(3), Frame{{Op::kPush}, {}, {}}); });
  EXPECT_TRUE(
      net.run_until([&] { return lines.count("cannot connect to server-3") == 1; }, kClock.now() + 60s));
}

TEST(Tcp, ListensBeyondThisMachineOnlyWhenTold) {
  Tcp strict(kClock, {});
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    const auto port = strict.listen(address);
    ASSERT_FALSE(port.ok()) << address;
    EXPECT_EQ(port.status().code(), Code::kUsage);
    EXPECT_NE(port.status().message().find("--insecure-no-auth"), std::string::npos);
  }
  TcpOptions options;
  options.insecure_no_auth = true;
  Tcp open(kClock, options);
  EXPECT_TRUE(open.listen("0.0.0.0:0").ok());
}

TEST(Tcp, PortInUseNamesItsHolder) {
  Tcp first(kClock, {});
  const auto port = first.listen(kAnyPort);
  ASSERT_TRUE(port.ok());
  Tcp second(kClock, {});
  const auto refused = second.listen(at(*port));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kIo);
  EXPECT_NE(refused.status().message().find("port " + std::to_string(*port)), std::string::npos);
  EXPECT_NE(refused.status().message().find("process " + std::to_string(::getpid()) + " ("),
            std::string::npos)
      << refused.status().message();
}

TEST(Tcp, WithoutDescriptorsNewConnectionsAreRefusedAndOldOnesLive) {
  EchoNode echo;
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  options.events_max = 1000;
  options.hello_timeout = 2s;
  TcpProcess process(kEcho, echo, options);
  process.start();
  AskNode ask({kEcho}, 1, 1);
  ask.finishes = false;
  ask.retry = 60s;
  Tcp net(kClock, {});
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  ASSERT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
  std::vector<RawPeer> crowd(30);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(crowd.back().fd()) + 4;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  for (RawPeer& peer : crowd) peer.connect(process.port);
  for (RawPeer& peer : crowd) peer.await_close();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(lines.count("no file descriptors left"), 20U) << lines.all();
  ask.ask_more(1);
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
}

class HearingNode : public TestNode {
 public:
  void on_frame(Instant, NodeId, Frame, Transport&) override { ++heard; }
  std::atomic<int> heard{0};
};

TEST(Tcp, ALargeFrameLeavesBeforeItsSendersTurnEnds) {
  HearingNode hearing;
  TcpProcess process(kEcho, hearing);
  process.start();
  TestNode node;
  Tcp net(kClock, {});
  net.add(kAsker, node);
  ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
  net.turn(kAsker, [](Instant, Transport& out) { out.send(kEcho, with_payload(0, 8, Op::kHeartbeat)); });
  ASSERT_TRUE(net.flush(kClock.now() + 60s));
  net.turn(kAsker, [&](Instant now, Transport& out) {
    out.send(kEcho, with_payload(0, 1U << 16, Op::kHeartbeat));
    while (hearing.heard < 2 && kClock.now() < now + 60s) std::this_thread::yield();
    EXPECT_EQ(hearing.heard, 2);
  });
}

TEST(Tcp, FlushLeavesNothingQueued) {
  EchoNode echo;
  TcpProcess process(kEcho, echo);
  process.start();
  TestNode node;
  {
    Tcp net(kClock, {});
    net.add(kAsker, node);
    ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
    const Frame frame = with_payload(0, 1U << 20, Op::kHeartbeat);
    net.turn(kAsker, [&](Instant, Transport& out) {
      for (int i = 0; i < 10; ++i) out.send(kEcho, frame);
    });
    EXPECT_TRUE(net.flush(kClock.now() + 60s));
    EXPECT_EQ(net.stats().queued_bytes, 0U);
  }
  // All that was given to the kernel arrives although its sender is gone.
  const RawPeer after = RawPeer::greeted(process.port, kEcho);
  after.send(encode_frame(Frame{{Op::kPush}, {}, {}}));
  EXPECT_TRUE(after.receive(kHeaderBytes));
  process.end();
  EXPECT_EQ(echo.received, 11U);
}

}  // namespace
}  // namespace thalweg
