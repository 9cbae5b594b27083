#include "net/socket/local_way.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "net/socket/other_user_for_test.h"
#include "net/socket/reserved_port_for_test.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

SocketAddress address_of(const sockaddr* its, std::uint16_t port) {
  SocketAddress address;
  address.size = its->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&address.storage, its, address.size);
  set_port(address, port);
  return address;
}

SocketAddress v4(const char* text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, text, &address.sin_addr), 1);
  const void* any = &address;
  return address_of(static_cast<const sockaddr*>(any), port);
}

// Loopback ones among them.
std::vector<SocketAddress> addresses_of_this_machine(std::uint16_t port) {
  std::vector<SocketAddress> addresses;
  ifaddrs* list = nullptr;
  EXPECT_EQ(::getifaddrs(&list), 0);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool has = one->ifa_addr != nullptr &&
                     (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6);
    if (has) addresses.push_back(address_of(one->ifa_addr, port));
  }
  ::freeifaddrs(list);
  EXPECT_FALSE(addresses.empty());
  return addresses;
}

TEST(LocalWay, LeadsToWhoeverListensAtAnAddressOfThisMachine) {
  for (const SocketAddress& address : addresses_of_this_machine(port_for_this_test())) {
    SCOPED_TRACE(to_text(address));
    EXPECT_FALSE(dial_locally(address));
    Result<Listener> listener = listen_locally(address, 1 << 20);
    ASSERT_TRUE(listener) << listener.status().message();
    const FileDescriptor caller = dial_locally(address, 1 << 20);
    ASSERT_TRUE(caller);
    const auto taken = listener->accept();
    ASSERT_TRUE(taken && *taken);
    for (const int socket : {caller.get(), (*taken)->socket.get()}) {
      EXPECT_TRUE(is_of_this_user(socket));
      EXPECT_EQ(other_process(socket), "process " + std::to_string(::getpid()) + " of this machine");
      int bytes = 0;
      socklen_t size = sizeof bytes;
      ASSERT_EQ(::getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
      int usual = 0;
      const FileDescriptor fresh(::socket(AF_UNIX, SOCK_STREAM, 0));
      set_buffers(fresh.get(), 1 << 20);
      ASSERT_EQ(::getsockopt(fresh.get(), SOL_SOCKET, SO_SNDBUF, &usual, &size), 0);
      EXPECT_EQ(bytes, usual);
    }
    const std::byte byte{1};
    EXPECT_EQ(::send(caller.get(), &byte, 1, MSG_NOSIGNAL), 1);
    std::byte got{};
    EXPECT_EQ(::recv((*taken)->socket.get(), &got, 1, 0), 1);
    EXPECT_FALSE(dial_locally(v4("127.0.0.1", static_cast<std::uint16_t>(port_of(address) - 1))));
  }
}

TEST(LocalWay, LeadsToWhoeverListensAtAllAddresses) {
  const SocketAddress all = v4("0.0.0.0", port_for_this_test());
  const Result<Listener> listener = listen_locally(all);
  ASSERT_TRUE(listener) << listener.status().message();
  for (const SocketAddress& address : addresses_of_this_machine(port_of(all)))
    EXPECT_EQ(static_cast<bool>(dial_locally(address)), address.storage.ss_family == AF_INET)
        << to_text(address);
}

TEST(LocalWay, DoesNotLeadToAnotherMachine) {
  const SocketAddress elsewhere = v4("192.0.2.1", port_for_this_test());  // RFC 5737: nobody's.
  const Result<Listener> listener = listen_locally(elsewhere);
  ASSERT_TRUE(listener) << listener.status().message();
  EXPECT_FALSE(dial_locally(elsewhere));
}

TEST(LocalWay, ANameIsOnesWhoTookIt) {
  const SocketAddress address = v4("127.0.0.1", port_for_this_test());
  const Result<Listener> first = listen_locally(address);
  ASSERT_TRUE(first);
  const Status second = listen_locally(address).status();
  EXPECT_EQ(second.code(), Code::kIo);
  EXPECT_NE(second.message().find("@thalweg-127.0.0.1-"), std::string::npos) << second.message();
}

TEST(LocalWay, SaysWhetherAProcessHasEnded) {
  EXPECT_FALSE(has_ended(0));
  EXPECT_FALSE(has_ended(::getpid()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_FALSE(has_ended(child));
  ::kill(child, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(child));  // Though its number is still taken.
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(has_ended(child));
}

TEST(LocalWay, DoesNotLeadToAnotherUser) {
  if (!may_change_user()) GTEST_SKIP() << "only root may run a process as another user";
  const SocketAddress address = v4("127.0.0.1", port_for_this_test());
  Result<Listener> listener = listen_locally(address);
  ASSERT_TRUE(listener);
  const FileDescriptor caller = dial_locally(address);
  as_another_user([&] { return !dial_locally(address); });
  ASSERT_TRUE(*listener->accept());
  const auto of_another = listener->accept();
  ASSERT_TRUE(of_another && *of_another);
  EXPECT_FALSE(is_of_this_user((*of_another)->socket.get()));
}

}  // namespace
}  // namespace thalweg
