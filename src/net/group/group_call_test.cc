#include "net/group/group_call.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>

#include "net/group/group_acceptor.h"
#include "net/live_fabric.h"
#include "net/socket/address.h"
#include "net/socket/reserved_port.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr char kLocalName[] = "thalweg-group-call-test-";

template <class T>
const sockaddr* as_sockaddr(const T& address) {
  const void* any = &address;
  return static_cast<const sockaddr*>(any);
}

SocketAddress loopback(std::uint16_t port) { return resolve("127.0.0.1", port, live_now() + 20s)->front(); }

void take_one(int listener) {
  FileDescriptor taken;
  const Instant deadline = live_now() + 20s;
  while (!taken && live_now() < deadline) {
    std::vector<pollfd> watched{{listener, POLLIN, 0}};
    sleep_on(watched, deadline);
    taken = FileDescriptor(::accept(listener, nullptr, nullptr));
  }
  EXPECT_TRUE(taken);
}

// The kernel gives a caller any port, after some thousand calls the one that it calls.
TEST(GroupCall, NobodyReachesHimself) {
  FileDescriptor probe(open_socket(AF_INET));
  std::uint16_t port = 40000;  // Calls come from even ports first.
  while (::bind(probe.get(), as_sockaddr(loopback(port).storage), sizeof(sockaddr_in)) != 0) port += 2;
  const SocketAddress address = loopback(port);
  probe.reset();
  for (int i = 0; i < 30'000; ++i) {
    const auto socket = dial(address, live_now() + 20s);
    const std::string own = socket ? to_text(local_address(socket->get())) : "none";
    ASSERT_NE(own, to_text(address)) << "call " << i;
  }
}

// A leader whose last group ends may be called for its next while it hangs up on whom it has not heard.
TEST(GroupCall, ListenersThatEndAreNobodyYet) {
  const Result<ReservedPort> port = ReservedPort::reserve();
  ASSERT_TRUE(port) << port.status().message();
  const SocketAddress address = loopback(port->number());
  std::atomic<bool> done = false;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!done) {
        const auto socket = dial(address, live_now() + 20s);
        EXPECT_TRUE(socket || socket.status().code() == Code::kRetry) << socket.status().message();
      }
    });
  }
  for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(GroupAcceptor::listen(address, false));
  done = true;
  for (std::thread& caller : callers) caller.join();
}

TEST(GroupCall, ASignalIsNoAnswer) {
  const FileDescriptor listener(open_socket(AF_INET));
  ASSERT_EQ(::bind(listener.get(), as_sockaddr(loopback(0).storage), sizeof(sockaddr_in)), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const SocketAddress address = local_address(listener.get());
  const auto first = dial(address, live_now() + 20s);  // For whom alone there is room.
  ASSERT_TRUE(first);
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ignored, &before), 0);
  Result<FileDescriptor> second = Status(Code::kAborted, "");
  std::thread caller([&] { second = dial(address, live_now() + 60s); });
  for (int i = 0; i < 20; ++i) {
    ::pthread_kill(caller.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(5ms);
  }
  take_one(listener.get());
  caller.join();
  EXPECT_TRUE(second) << second.status().message();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(GroupCall, WaitsWhereMoreCallThanThereIsRoomFor) {
  const std::string name = kLocalName + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const FileDescriptor listener(open_socket(AF_UNIX));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(listener.get(), as_sockaddr(address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const auto first = dial_locally(name, live_now() + 20s);
  ASSERT_TRUE(first) << first.status().message();
  EXPECT_EQ(dial_locally(name, live_now() + 1ms).status().code(), Code::kTimeout);
  std::thread other([&listener] { take_one(listener.get()); });
  const auto second = dial_locally(name, live_now() + 20s);
  EXPECT_TRUE(second) << second.status().message();
  other.join();
}

}  // namespace
}  // namespace thalweg
