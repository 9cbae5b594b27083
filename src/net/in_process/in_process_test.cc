#include "net/in_process/in_process.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "net/echo_node_for_test.h"
#include "net/real_clock.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

const NodeId kAskingNode = worker_node(0);
const NodeId kEchoNode = server_node(0);

TEST(InProcess, CallerAloneRunsTheTurns) {
  const RealClock clock;
  EchoNode echo;
  AskNode ask({kEchoNode}, 100, 4);
  InProcess net(clock);
  net.add(kEchoNode, echo);
  net.add(kAskingNode, ask);
  EXPECT_TRUE(net.wait_until(kAskingNode, [&] { return ask.done(); }));
  EXPECT_EQ(ask.wrong, 0U);
}

TEST(InProcess, PayloadIsSharedNotCopied) {
  class Keep : public TestNode {
   public:
    void on_frame(Instant, NodeId, Frame frame, Transport&) override { kept = std::move(frame); }
    Frame kept;
  };
  const RealClock clock;
  Keep keep;
  TestNode sender;
  InProcess net(clock);
  net.add(kEchoNode, keep);
  net.add(kAskingNode, sender);
  Frame frame;
  frame.second = Bytes::of(std::vector<float>(1000, 1.5F));
  const auto* data = frame.second.span().data();
  ASSERT_TRUE(net.turn(kAskingNode, [&](Instant, Transport& out) { out.send(kEchoNode, frame); }));
  ASSERT_TRUE(net.wait_until(kEchoNode, [&] { return !keep.kept.second.empty(); }));
  EXPECT_EQ(keep.kept.second.span().data(), data);
}

// Asks for a turn all the time, as a node does that computes.
class BusyNode : public TestNode {
 public:
  void on_time(Instant, Transport&) override {
    if (inside_.exchange(true)) overlapped = true;
    ++turns;
    inside_ = false;
  }
  void on_frame(Instant, NodeId, Frame, Transport&) override { ++frames; }
  Instant next_deadline() const override { return Instant{}; }

  std::uint64_t turns = 0;
  std::uint64_t frames = 0;
  std::atomic<bool> overlapped{false};

 private:
  std::atomic<bool> inside_{false};
};

TEST(InProcess, BusyNodeStarvesNobodyAndItsMailDoesNotStarveIt) {
  const RealClock clock;
  BusyNode busy;
  EchoNode echo;
  AskNode ask({kEchoNode}, 2000, 8);
  InProcess net(clock);
  net.add(server_node(1), busy);
  net.add(kEchoNode, echo);
  net.add(kAskingNode, ask);
  net.start(3);
  for (int i = 0; i < 1000; ++i) {
    net.turn(kEchoNode, [&](Instant, Transport& out) { out.send(server_node(1), Frame{}); });
  }
  EXPECT_TRUE(net.wait_until(kAskingNode, [&] { return ask.done(); }));
  EXPECT_TRUE(net.wait_until(server_node(1), [&] { return busy.frames == 1000 && busy.turns > 1000; }));
  net.stop();
  EXPECT_FALSE(busy.overlapped);
}

TEST(InProcess, DeadlineIsKept) {
  class Alarm : public TestNode {
   public:
    void on_time(Instant now, Transport&) override { rang = now; }
    Instant next_deadline() const override { return rang == kNever ? at : kNever; }
    bool finished() const override { return rang != kNever; }
    Instant at{};
    Instant rang = kNever;
  };
  const RealClock clock;
  Alarm early;
  Alarm late;
  early.at = clock.now() + 20ms;
  late.at = clock.now() + 60ms;
  InProcess net(clock);
  net.add(worker_node(0), late);
  net.add(worker_node(1), early);
  net.start(1);
  EXPECT_TRUE(net.wait_until(worker_node(1), [&] { return early.rang != kNever; }));
  EXPECT_TRUE(net.wait_until(worker_node(0), [&] { return late.rang != kNever; }));
  EXPECT_GE(early.rang, early.at);
  EXPECT_GE(late.rang, late.at);
}

TEST(InProcess, RenamedNodeIsFoundUnderItsNewId) {
  const RealClock clock;
  EchoNode echo;
  AskNode ask({server_node(7)}, 10, 2);
  InProcess net(clock);
  net.add(server_node(0x80000001), echo);
  net.turn(server_node(0x80000001), [](Instant, Transport& out) { out.rename_self(server_node(7), 1); });
  net.add(kAskingNode, ask);
  EXPECT_TRUE(net.wait_until(kAskingNode, [&] { return ask.done(); }));
  EXPECT_EQ(ask.wrong, 0U);
}

TEST(InProcess, WaitsEndAtTheirDeadlineAndAtStop) {
  const RealClock clock;
  TestNode idle;
  InProcess net(clock);
  net.add(kEchoNode, idle);
  net.start(1);
  EXPECT_FALSE(net.wait_until(
      kEchoNode, [] { return false; }, clock.now() + 20ms));
  std::thread stopper([&] { net.stop(); });
  EXPECT_FALSE(net.wait_until(kEchoNode, [] { return false; }));
  stopper.join();
}

TEST(InProcess, AWaitLooksAgainWhenItIsTold) {
  const RealClock clock;
  EchoNode echo;
  InProcess net(clock);
  net.add(kEchoNode, echo);
  for (int round = 0; round < 1000; ++round) {
    std::atomic<bool> told{false};
    std::thread teller([&] {
      told = true;
      net.look_again(kEchoNode);
    });
    EXPECT_TRUE(net.wait_until(
        kEchoNode, [&] { return told.load(); }, net.now() + 60s));
    teller.join();
  }
  EXPECT_LT(net.now() - Instant{}, 60s);
}

TEST(InProcess, ManyCallersShareOneNode) {
  const RealClock clock;
  EchoNode echo;
  TestNode client;
  InProcess net(clock);
  net.add(kEchoNode, echo);
  net.add(kAskingNode, client);
  net.start(2);
  std::uint64_t calls = 0;  // Guarded by the turns of kAskingNode.
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 500; ++call) {
        std::uint64_t mine = 0;
        net.turn(kAskingNode, [&](Instant, Transport& out) {
          mine = ++calls;
          out.send(kEchoNode, Frame{});
        });
        EXPECT_TRUE(net.wait_until(kEchoNode, [&] { return echo.received >= mine; }));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  net.stop();
  EXPECT_EQ(echo.received, 2000U);
}

}  // namespace
}  // namespace thalweg
