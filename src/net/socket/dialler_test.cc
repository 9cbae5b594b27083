#include "net/socket/dialler.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "net/group/group_call.h"
#include "net/live_fabric.h"
#include "net/socket/few_descriptors_for_test.h"
#include "net/socket/listener.h"
#include "net/socket/reserved_port_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

Status dial_at_once(const SocketAddress& address) {
  auto socket = begin_dial(address);
  if (!socket) return socket.status();
  pollfd watched{socket->get(), POLLOUT, 0};
  ::poll(&watched, 1, -1);
  return end_dial(socket->get(), address);
}

TEST(Dialler, TellsAPortWhereNobodyListensFromALackOfItsOwn) {
  const SocketAddress free_port = resolve("127.0.0.1", port_for_this_test(), live_now() + 20s)->front();
  EXPECT_EQ(dial_at_once(free_port).code(), Code::kRetry);
  EXPECT_EQ(dial_at_once(*abstract_address("thalweg-nobody-has-this")).code(), Code::kRetry);
  const FewDescriptors none(0);
  const Status status = dial_at_once(free_port);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("this process cannot call"), std::string::npos) << status.message();
}

TEST(Dialler, TellsAClosedPortFromOneWhereSomebodyListens) {
  const auto port = port_for_this_test();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  EXPECT_TRUE(is_closed(address));
  {
    const auto listener = Listener::open(resolve("127.0.0.1", port, live_now() + 20s)->front(), {});
    ASSERT_TRUE(listener) << listener.status().message();
    EXPECT_FALSE(is_closed(address));
  }
  EXPECT_TRUE(is_closed(address));
  EXPECT_FALSE(is_closed("255.255.255.255:1")) << "it cannot be called, which says nothing of the port";
  EXPECT_FALSE(is_closed("localhost:1"));
}

TEST(Dialler, NamesThatNoSocketCanHaveAreErrors) {
  EXPECT_FALSE(abstract_address(""));
  EXPECT_FALSE(abstract_address(std::string(108, 'x')));
  EXPECT_TRUE(abstract_address(std::string(107, 'x')));
}

}  // namespace
}  // namespace thalweg
