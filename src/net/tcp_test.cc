#include "net/tcp.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "net/echo_node_for_test.h"
#include "net/real_clock.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

const NodeId kAsker = worker_node(0);
const NodeId kEcho = server_node(0);
const RealClock kClock;
constexpr std::string_view kAnyPort = "127.0.0.1:0";

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

// A driver with one echo node that runs on a thread of its own until destroyed.
class EchoProcess {
 public:
  explicit EchoProcess(TcpOptions options = {}, std::string_view address = kAnyPort,
                       std::uint64_t cluster = 0) {
    options.stop = &stop_;
    net_ = std::make_unique<Tcp>(kClock, std::move(options));
    net_->add(kEcho, echo_, cluster);
    auto port_or = net_->listen(address);
    EXPECT_TRUE(port_or.is_ok()) << port_or.status().message();
    port = port_or.is_ok() ? *port_or : std::uint16_t{0};
    thread_ = std::thread([this] { net_->run_until([] { return false; }); });
  }
  ~EchoProcess() { end(); }
  EchoProcess(const EchoProcess&) = delete;
  EchoProcess& operator=(const EchoProcess&) = delete;
  void end() {
    if (!thread_.joinable()) return;
    stop_ = true;
    thread_.join();
    stats = net_->stats();
    net_.reset();
  }
  std::uint64_t received() const { return echo_.received; }  // After end().

  std::uint16_t port = 0;
  TcpStats stats;  // After end().

 private:
  std::atomic<bool> stop_{false};
  EchoNode echo_;
  std::unique_ptr<Tcp> net_;
  std::thread thread_;
};

Frame with_payload(std::size_t keys, std::size_t floats) {
  Frame frame;
  std::vector<std::uint64_t> k(keys);
  for (std::size_t i = 0; i < keys; ++i) k[i] = i * 0x9e3779b97f4a7c15ULL;
  std::vector<float> v(floats);
  for (std::size_t i = 0; i < floats; ++i) v[i] = static_cast<float>(i);
  frame.first = Bytes::of(std::move(k));
  frame.second = Bytes::of(std::move(v));
  return frame;
}

TEST(Tcp, FramesOfAllSizesComeBackInOrder) {
  EchoProcess echo;
  for (const std::size_t floats : {0U, 1U, 3U, 1000U, 16383U, 16384U, 300000U}) {
    AskNode ask({kEcho}, 200, 16, with_payload(floats / 8, floats));
    Tcp net(kClock, {});
    net.add(kAsker, ask);
    ASSERT_TRUE(net.introduce(kEcho, at(echo.port)));
    EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s)) << floats;
    EXPECT_EQ(ask.wrong, 0U);
  }
}

TEST(Tcp, LargestFrame) {
  EchoProcess echo;
  const std::size_t bytes = limits::kFrameBytesMax - kHeaderBytes;
  AskNode ask({kEcho}, 3, 2, with_payload(0, bytes / 4));
  ask.retry = 60s;
  Tcp net(kClock, {});
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, at(echo.port)));
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
  EXPECT_EQ(ask.wrong, 0U);
}

TEST(Tcp, NodesOfOneDriverShareFrames) {
  EchoNode echo;
  AskNode ask({kEcho}, 100, 4, with_payload(10, 10));
  Tcp net(kClock, {});
  net.add(kEcho, echo);
  net.add(kAsker, ask);
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 10s));
  EXPECT_EQ(ask.wrong, 0U);
  EXPECT_EQ(net.stats().connections, 0U);
}

TEST(Tcp, Ipv6Loopback) {
  EchoProcess echo({}, "[::1]:0");
  AskNode ask({kEcho}, 10, 4);
  Tcp net(kClock, {});
  net.add(kAsker, ask);
  ASSERT_TRUE(net.introduce(kEcho, "[::1]:" + std::to_string(echo.port)));
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 10s));
}

}  // namespace
}  // namespace thalweg
