// One body of tests for both drivers: what nodes may rely on wherever they run, and what between processes.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/in_process/in_process.h"
#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

// The node `here` waits on this thread; `there` is run by others.
class InProcessPair {
 public:
  InProcessPair(NodeId here, Node& here_node, NodeId there, Node& there_node) : here_(here) {
    net_.add(here, here_node);
    net_.add(there, there_node);
    net_.start(2);
  }
  bool wait(const std::function<bool()>& done) { return net_.wait_until(here_, done, kClock.now() + 60s); }
  void act(const std::function<void(Instant, Transport&)>& act) { net_.turn(here_, act); }
  void end() { net_.stop(); }

 private:
  NodeId here_;
  InProcess net_{kClock};
};

template <bool by_tcp>
class SocketPair {
 public:
  SocketPair(NodeId here, Node& here_node, NodeId there, Node& there_node)
      : here_(here), there_(there, there_node) {
    there_.start();
    net_.add(here, here_node);
    EXPECT_TRUE(net_.introduce(there, at(there_.port)).ok());
  }
  bool wait(const std::function<bool()>& done) { return net_.run_until(done, kClock.now() + 60s); }
  void act(const std::function<void(Instant, Transport&)>& act) { net_.turn(here_, act); }
  void end() { there_.end(); }

 private:
  static TcpOptions options() {
    TcpOptions options;
    options.local_way = !by_tcp;
    return options;
  }

  NodeId here_;
  TcpProcess there_;
  Tcp net_{kClock, options()};
};

template <class Pair>
class Driver : public testing::Test {};
using Pairs = testing::Types<InProcessPair, SocketPair<true>, SocketPair<false>>;
TYPED_TEST_SUITE(Driver, Pairs);

template <class Pair>
class DriverOfProcesses : public testing::Test {};
using PairsOfProcesses = testing::Types<SocketPair<true>, SocketPair<false>>;
TYPED_TEST_SUITE(DriverOfProcesses, PairsOfProcesses);

TYPED_TEST(Driver, AnswersComeInOrderWithTheirPayload) {
  for (const std::size_t floats : {0U, 1U, 3U, 1000U, 16383U, 16384U, 300000U}) {
    EchoNode echo;
    const std::uint32_t asks = floats < 100000 ? 200 : 20;
    AskNode ask({kEcho}, asks, 16, with_payload(floats / 8, floats));
    ask.retry = 60s;  // A busy machine repeats nothing.
    TypeParam pair(kAsker, ask, kEcho, echo);
    EXPECT_TRUE(pair.wait([&] { return ask.done(); })) << floats;
    pair.end();
    EXPECT_EQ(ask.wrong, 0U);
    EXPECT_EQ(echo.received, asks);
  }
}

TYPED_TEST(Driver, LargestFrame) {
  EchoNode echo;
  AskNode ask({kEcho}, 2, 2, with_payload(0, (limits::kFrameBytesMax - kHeaderBytes) / sizeof(float)));
  ask.retry = 60s;
  TypeParam pair(kAsker, ask, kEcho, echo);
  EXPECT_TRUE(pair.wait([&] { return ask.done(); }));
  EXPECT_EQ(ask.wrong, 0U);
}

TYPED_TEST(DriverOfProcesses, LostPeerIsTold) {
  EchoNode echo;
  AskNode ask({kEcho}, 1, 1);
  ask.finishes = false;
  TypeParam pair(kAsker, ask, kEcho, echo);
  ASSERT_TRUE(pair.wait([&] { return ask.done(); }));
  EXPECT_TRUE(ask.lost.empty());
  pair.end();
  EXPECT_TRUE(pair.wait([&] { return !ask.lost.empty(); }));
  EXPECT_EQ(ask.lost, std::vector<NodeId>{kEcho});
}

TYPED_TEST(Driver, TimersRunWithoutFrames) {
  class Ticker : public TestNode {
   public:
    void on_time(Instant now, Transport&) override {
      EXPECT_GE(now, next);
      ++ticks;
      next = now + 5ms;
    }
    Instant next_deadline() const override { return next; }
    Instant next{};
    int ticks = 0;
  };
  Ticker here;
  Ticker there;
  TypeParam pair(kAsker, here, kEcho, there);
  EXPECT_TRUE(pair.wait([&] { return here.ticks >= 5; }));
  pair.end();
}

// Asks a hundred times, and computes until all is answered.
class Computing : public AskNode, public Computation {
 public:
  Computing() : AskNode({kEcho}, 100, 1) { finishes = false; }
  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override {
    AskNode::on_frame(now, from, std::move(frame), out);
    answers_ = answered();
  }
  void on_time(Instant now, Transport& out) override {
    AskNode::on_time(now, out);
    wants_work_ = true;
  }
  Computation* take_work() override {
    return std::exchange(wants_work_, false) && !begun_ ? begin() : nullptr;
  }
  void compute() override {
    const Instant until = kClock.now() + 60s;
    while (answers_ < 100 && kClock.now() < until) std::this_thread::sleep_for(1ms);
    answered_meanwhile = answers_;
  }
  void on_computed(Instant, Transport&) override { computed = true; }

  std::uint32_t answered_meanwhile = 0;
  bool computed = false;

 private:
  Computation* begin() {
    begun_ = true;
    return this;
  }
  std::atomic<std::uint32_t> answers_{0};
  bool wants_work_ = false;
  bool begun_ = false;
};

TYPED_TEST(Driver, TurnsGoOnWhileANodeComputes) {
  EchoNode echo;
  Computing node;
  TypeParam pair(kAsker, node, kEcho, echo);
  EXPECT_TRUE(pair.wait([&] { return node.computed; }));
  pair.end();
  EXPECT_EQ(node.answered_meanwhile, 100u);
}

// Notes who sent to it, and greets worker 5, which it has never heard of, each time.
class TimedScheduler : public TestNode {
 public:
  void on_frame(Instant, NodeId from, Frame, Transport& out) override {
    senders.push_back(from);
    Frame greeting;
    greeting.head.op = Op::kWelcome;
    out.send(worker_node(5), greeting);
  }
  std::vector<NodeId> senders;
};

TYPED_TEST(Driver, JoinerTakesItsNewNameOnTheSameWay) {
  class Joiner : public TestNode {
   public:
    void on_frame(Instant, NodeId, Frame, Transport&) override { ++greetings; }
    int greetings = 0;
  };
  const NodeId temporary = worker_node(0x80000007);
  const NodeId mine = worker_node(5);
  TimedScheduler scheduler;
  Joiner joiner;
  TypeParam pair(temporary, joiner, kScheduler, scheduler);
  Frame join;
  join.head.op = Op::kJoin;
  pair.act([&](Instant, Transport& out) { out.send(kScheduler, join); });
  // The first greeting of worker 5 may find nobody: it is kept, or repeated by a real scheduler.
  pair.act([&](Instant, Transport& out) {
    out.rename_self(mine, 0xc1);
    out.send(kScheduler, join);
  });
  for (int i = 0; i < 3; ++i) {
    pair.act([&](Instant, Transport& out) { out.send(kScheduler, join); });
  }
  EXPECT_TRUE(pair.wait([&] { return joiner.greetings >= 3; }));
  pair.end();
  ASSERT_GE(scheduler.senders.size(), 3U);
  EXPECT_EQ(scheduler.senders.back(), mine);
}

}  // namespace
}  // namespace thalweg
