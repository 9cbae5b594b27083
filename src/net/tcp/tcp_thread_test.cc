#include "net/tcp/tcp_thread.h"

#include <gtest/gtest.h>

#include <atomic>

#include "net/echo_node_for_test.h"
#include "net/real_clock.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

TEST(TcpThread, ThreadsUseItsNodesWhileItRuns) {
  constexpr std::uint32_t kThreads = 4, kTurns = 200;
  const RealClock clock;
  EchoNode node;
  TcpThread driver(clock, {});
  driver.driver().add(server_node(0), node);
  driver.start();
  std::uint32_t turns = 0;  // Of the driver's thread.
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < kTurns; ++i)
        driver.turn(server_node(0), [&](Instant, Transport&) { ++turns; });
    });
  }
  EXPECT_TRUE(driver.wait_until([&] { return turns == kThreads * kTurns; }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, kThreads * kTurns);
}

TEST(TcpThread, WaitersSeeWhatComesOverTheNet) {
  const RealClock clock;
  EchoNode echo;
  AskNode asker({server_node(0)}, 100, 10);
  TcpThread there(clock, {}), here(clock, {});
  there.driver().add(server_node(0), echo);
  here.driver().add(worker_node(0), asker);
  const auto port = there.driver().listen("127.0.0.1:0");
  ASSERT_TRUE(port.ok());
  ASSERT_TRUE(here.driver().introduce(server_node(0), "127.0.0.1:" + std::to_string(*port)).ok());
  there.start();
  here.start();
  EXPECT_TRUE(here.wait_until([&] { return asker.done(); }));
  EXPECT_TRUE(there.wait_until([&] { return echo.received >= 100; }));
  here.stop(here.now() + 1s);
  EXPECT_EQ(asker.wrong, 0u);
}

TEST(TcpThread, ADeadlineEndsItsOwnWaitAlone) {
  const RealClock clock;
  TcpThread driver(clock, {});
  driver.start();
  std::atomic<bool> open{false};
  bool held = false;
  std::thread patient([&] { held = driver.wait_until([&] { return open.load(); }); });
  EXPECT_FALSE(driver.wait_until([] { return false; }, driver.now() + 20ms));
  EXPECT_FALSE(driver.wait_until([] { return false; }, driver.now()));
  EXPECT_TRUE(driver.wait_until([] { return true; }, driver.now()));
  open = true;
  EXPECT_TRUE(driver.wait_until([&] { return open.load(); }));  // Whoever comes wakes the others too.
  patient.join();
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace thalweg
