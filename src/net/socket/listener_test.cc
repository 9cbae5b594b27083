#include "net/socket/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "net/group/group_call.h"
#include "net/live_fabric.h"
#include "net/socket/few_descriptors_for_test.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

SocketAddress numeric(const char* host) { return resolve(host, 0, live_now() + 20s)->front(); }

Listener listening_at(const SocketAddress& address) {
  auto listener = Listener::open(address);
  EXPECT_TRUE(listener) << listener.status().message();
  return *std::move(listener);
}

FileDescriptor call(const SocketAddress& address) {
  auto socket = dial(address, live_now() + 20s);
  EXPECT_TRUE(socket) << socket.status().message();
  return *std::move(socket);
}

TEST(Listener, TakesThoseWhoCallByAddressOrByName) {
  for (const SocketAddress& address :
       {numeric("127.0.0.1"), numeric("::1"),
        *abstract_address("thalweg-listener-test-" + std::to_string(::getpid()))}) {
    Listener listener = listening_at(address);
    const FileDescriptor caller = call(listener.address());
    const auto taken = listener.accept();
    ASSERT_TRUE(taken && *taken);
    const std::byte byte{1};
    EXPECT_EQ(::send((*taken)->socket.get(), &byte, 1, MSG_NOSIGNAL), 1);
    std::byte got{};
    EXPECT_EQ(::recv(caller.get(), &got, 1, 0), 1);
    const auto nobody = listener.accept();
    EXPECT_TRUE(nobody && !*nobody);
  }
}

TEST(Listener, RefusesWhatOthersCouldReach) {
  for (const char* host : {"0.0.0.0", "::"}) {
    const Status status = Listener::open(numeric(host)).status();
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find("--insecure-no-auth"), std::string::npos) << status.message();
    auto accepted = Listener::open(numeric(host), {.insecure_no_auth = true});
    ASSERT_TRUE(accepted) << accepted.status().message();
    FileDescriptor same(::dup(accepted->fd()));
    EXPECT_EQ(Listener::adopt(std::move(same)).status().code(), Code::kUsage);
  }
}

TEST(Listener, SaysWhoHoldsAPort) {
  const Listener first = listening_at(numeric("127.0.0.1"));
  const Status status = Listener::open(first.address()).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("is in use by process " + std::to_string(::getpid())), std::string::npos)
      << status.message();
}

TEST(Listener, SaysThatThereIsNoDescriptorForIt) {
  const SocketAddress any = numeric("127.0.0.1");
  const FewDescriptors none(0);
  const Status status = Listener::open(any).status();
  EXPECT_NE(status.message().find("Too many open files"), std::string::npos) << status.message();
}

TEST(Listener, AdoptsASocketThatListensAlready) {
  const SocketAddress any = numeric("127.0.0.1");
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.get(), as_sockaddr(any), any.size), 0);
  EXPECT_EQ(Listener::adopt(FileDescriptor(::dup(socket.get()))).status().code(), Code::kIo);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  const FileDescriptor early = call(local_address(socket.get()));
  auto listener = Listener::adopt(std::move(socket));
  ASSERT_TRUE(listener) << listener.status().message();
  const auto taken = listener->accept();
  EXPECT_TRUE(taken && *taken);
  const auto nobody = listener->accept();  // It does not wait.
  EXPECT_TRUE(nobody && !*nobody);
  EXPECT_EQ(Listener::adopt(FileDescriptor()).status().code(), Code::kIo);
}

TEST(Listener, WithoutDescriptorsOneIsTakenByTheReserve) {
  Listener listener = listening_at(numeric("127.0.0.1"));
  std::vector<FileDescriptor> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(call(listener.address()));
  {
    const FewDescriptors none(0);
    for (int i = 0; i < 2; ++i) {  // It is back when the one that it was used for is closed.
      EXPECT_NE(listener.accept().status().message().find("ulimit -n"), std::string::npos);
      EXPECT_TRUE(listener.accept_by_reserve());
    }
    const auto last = listener.accept();
    EXPECT_EQ(last.status().code(), Code::kIo);
    const auto kept = listener.accept_by_reserve();
    EXPECT_TRUE(kept);
    EXPECT_FALSE(listener.accept_by_reserve());
    const auto nobody = listener.accept();
    EXPECT_TRUE(nobody && !*nobody);  // Nobody is kept waiting.
  }
  callers.push_back(call(listener.address()));
  const auto taken = listener.accept();
  EXPECT_TRUE(taken && *taken);
}

}  // namespace
}  // namespace thalweg
