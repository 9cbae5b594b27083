#include "net/socket/reserved_port.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "net/group/group_acceptor.h"
#include "net/group/group_call.h"
#include "net/live_fabric.h"
#include "net/tcp/raw_peer_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

SocketAddress loopback_port(std::uint16_t port) {
  return resolve("127.0.0.1", port, live_now() + 5s)->front();
}

TEST(ReservedPort, IsForThoseWhoNameIt) {
  const Result<ReservedPort> port = ReservedPort::reserve();
  ASSERT_TRUE(port) << port.status().message();
  EXPECT_EQ(dial(loopback_port(port->number()), live_now() + 5s).status().code(), Code::kRetry);
  for (int again = 0; again < 2; ++again) {
    const auto acceptor = GroupAcceptor::listen(loopback_port(port->number()), false);
    ASSERT_TRUE(acceptor) << acceptor.status().message();
    EXPECT_TRUE(dial(loopback_port(port->number()), live_now() + 5s));
  }
}

// As many as a search at random goes through before it meets every port that is left; the kernel's first
// choice is every second one.
TEST(ReservedPort, NobodyGetsItUnasked) {
  const Result<ReservedPort> port = ReservedPort::reserve();
  ASSERT_TRUE(port) << port.status().message();
  std::set<std::uint16_t> given;
  for (int i = 0; i < 100'000; ++i) given.insert(RawPeer::listening().second);
  EXPECT_GT(given.size(), 5000U);
  EXPECT_EQ(given.count(port->number()), 0U);
}

TEST(ReservedPort, TwoDiffer) {
  std::vector<ReservedPort> ports;
  std::set<std::uint16_t> numbers;
  for (int i = 0; i < 100; ++i) {
    Result<ReservedPort> port = ReservedPort::reserve();
    ASSERT_TRUE(port) << port.status().message();
    numbers.insert(port->number());
    ports.push_back(*std::move(port));
  }
  EXPECT_EQ(numbers.size(), 100U);
}

}  // namespace
}  // namespace thalweg
