// Nodes of one machine reach each other by the local way, and by TCP where that leads elsewhere or nowhere.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "net/socket/other_user_for_test.h"
#include "net/socket/reserved_port_for_test.h"
#include "net/tcp/raw_peer_for_test.h"
#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TcpOptions on_way(bool local) {
  TcpOptions options;
  options.local_way = local;
  return options;
}

// What an asker that has been answered says of its connections.
TcpStats asked_at(const std::string& address, TcpOptions options = {}) {
  AskNode ask({kEcho}, 100, 4, with_payload(100, 100));
  ask.retry = 1h;
  Tcp net(kClock, std::move(options));
  net.add(kAsker, ask);
  EXPECT_TRUE(net.introduce(kEcho, address).ok());
  EXPECT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s)) << address;
  EXPECT_EQ(ask.wrong, 0U);
  return net.stats();
}

TEST(TcpLocal, NodesOfOneMachineDoNotTalkByTcp) {
  for (const std::string host : {"127.0.0.1", "[::1]"}) {
    EchoNode echo;
    TcpProcess process(kEcho, echo, {}, host + ":0");
    process.start();
    const TcpStats stats = asked_at(host + ":" + std::to_string(process.port));
    EXPECT_EQ(stats.connections, 1U) << host;
    EXPECT_EQ(stats.local, 1U) << host;
  }
}

TEST(TcpLocal, WhereOneOfThemHasNoLocalWayTheyDo) {
  for (const bool here : {true, false}) {
    EchoNode echo;
    TcpProcess process(kEcho, echo, on_way(!here));
    process.start();
    const TcpStats stats = asked_at(at(process.port), on_way(here));
    EXPECT_EQ(stats.connections, 1U);
    EXPECT_EQ(stats.local, 0U);
  }
}

TEST(TcpLocal, APeerWhoseProcessEndsIsLostAtOnce) {
  for (const bool local : {true, false}) {
    EchoNode echo;
    TcpProcess process(kEcho, echo, on_way(local));
    process.start();
    AskNode ask({kEcho}, 1, 1);
    ask.finishes = false;
    TcpOptions options = on_way(local);
    options.peer_grace = 1h;
    Tcp net(kClock, options);
    net.add(kAsker, ask);
    ASSERT_TRUE(net.introduce(kEcho, at(process.port)).ok());
    ASSERT_TRUE(net.run_until([&] { return ask.done(); }, kClock.now() + 60s));
    process.end();
    EXPECT_TRUE(net.run_until([&] { return !ask.lost.empty(); }, kClock.now() + 60s));
  }
}

// The one that is called has no address to call back at.
TEST(TcpLocal, ACallerWhoseProcessEndsIsLostAtOnce) {
  const std::uint16_t port = port_for_this_test();
  int listens[2];
  ASSERT_EQ(::pipe(listens), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    AskNode ask({kEcho}, 1, 1);
    ask.finishes = false;
    char word = 0;  // Whoever calls between the two ways takes the one that is there.
    if (::read(listens[0], &word, 1) != 1) ::_exit(1);
    Tcp net(kClock, {});
    net.add(kAsker, ask);
    if (!net.introduce(kEcho, at(port)).ok()) ::_exit(1);
    net.run_until([] { return false; });
  }
  EchoNode echo;
  TcpOptions options;
  options.peer_grace = 1h;
  Tcp net(kClock, options);
  net.add(kEcho, echo);
  ASSERT_TRUE(net.listen(at(port)).ok());
  ASSERT_EQ(::write(listens[1], "+", 1), 1);
  ASSERT_TRUE(net.run_until([&] { return echo.received > 0; }, kClock.now() + 60s));
  ASSERT_EQ(net.stats().local, 1U);
  ::kill(child, SIGKILL);  // Its end is yet to be asked for.
  EXPECT_TRUE(net.run_until([&] { return !echo.lost.empty(); }, kClock.now() + 60s));
  EXPECT_EQ(echo.lost, std::vector{kAsker});
  ::waitpid(child, nullptr, 0);
  for (const int end : listens) ::close(end);
}

// Passes what is said at a port of its own on to another.
class Proxy {
 public:
  explicit Proxy(std::uint16_t to) : to_(to), listening_(RawPeer::listening()) {}
  ~Proxy() {
    over_ = true;
    thread_.join();
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  std::uint16_t port() const { return listening_.second; }
  std::size_t passed() const { return passed_; }

 private:
  void run() {
    while (!is_readable(listening_.first)) {
      if (over_) return;
    }
    const RawPeer in = listening_.first.accept();
    const RawPeer out = RawPeer::connected(to_);
    while (!over_ && pass(in, out) && pass(out, in)) {
    }
  }
  static bool is_readable(const RawPeer& peer) {
    pollfd what{peer.fd(), POLLIN, 0};
    return ::poll(&what, 1, 1) == 1;
  }
  bool pass(const RawPeer& from, const RawPeer& to) {
    if (!is_readable(from)) return true;
    std::array<std::byte, 65536> bytes;
    const ssize_t got = ::recv(from.fd(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    passed_ += static_cast<std::size_t>(got);
    return to.send(std::span(bytes).first(static_cast<std::size_t>(got)));
  }

  const std::uint16_t to_;
  const std::pair<RawPeer, std::uint16_t> listening_;
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> passed_{0};
  std::thread thread_{[this] { run(); }};
};

TEST(TcpLocal, WhatCallsAProxyGoesThroughIt) {
  EchoNode echo;
  TcpProcess process(kEcho, echo);
  process.start();
  const Proxy proxy(process.port);
  EXPECT_EQ(asked_at(at(proxy.port())).local, 0U);
  EXPECT_GT(proxy.passed(), 2 * 100 * with_payload(100, 100).size_bytes());
}

// Somebody else of this user has the name, and says nothing.
TEST(TcpLocal, ATakenNameMakesThemTalkByTcp) {
  const std::uint16_t port = port_for_this_test();
  const Result<Listener> squatter = listen_locally(RawPeer::loopback(port));
  ASSERT_TRUE(squatter) << squatter.status().message();
  EchoNode echo;
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  TcpProcess process(kEcho, echo, options, at(port));
  process.start();
  EXPECT_EQ(lines.count("reach " + at(port) + " by TCP alone"), 1U) << lines.all();
  options.hello_timeout = 200ms;
  EXPECT_EQ(asked_at(at(port), options).local, 0U);
  EXPECT_EQ(lines.count("cannot connect to server-0 at " + at(port) + ": no answer"), 1U) << lines.all();
}

// One that does not know the secret has the name.
TEST(TcpLocal, AnImpostorIsNotBelievedAndThenPassedBy) {
  const std::uint16_t port = port_for_this_test();
  Result<Listener> squatter = listen_locally(RawPeer::loopback(port));
  ASSERT_TRUE(squatter) << squatter.status().message();
  TcpOptions options;
  options.secret = draw_secret();
  EchoNode echo;
  TcpProcess process(kEcho, echo, options, at(port));
  process.start();
  std::thread impostor([&] {
    pollfd called{squatter->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&called, 1, 60'000), 1);
    auto call = squatter->accept();
    ASSERT_TRUE(call && *call);
    const RawPeer peer(::fcntl((*call)->socket.get(), F_DUPFD_CLOEXEC, 0));
    (*call)->socket.reset();
    ASSERT_EQ(::fcntl(peer.fd(), F_SETFL, 0), 0);
    Handshake guess(Handshake::Side::kAcceptor, Handshake::Use::kFrames, draw_secret(), draw_nonce());
    EXPECT_FALSE(peer.shake(guess));
  });
  EXPECT_EQ(asked_at(at(port), options).local, 0U);
  impostor.join();
}

TEST(TcpLocal, AnotherUserCallsByTcp) {
  if (!may_change_user()) GTEST_SKIP() << "only root may run a process as another user";
  EchoNode echo;
  LogLines lines;
  TcpOptions options;
  options.tell = lines.sink();
  TcpProcess process(kEcho, echo, options);
  const SocketAddress name = *abstract_address("thalweg-127.0.0.1-" + std::to_string(process.port));
  process.start();
  as_another_user([&] {
    const RawPeer other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(other.fd(), as_sockaddr(name), name.size) != 0) return false;
    return !other.receive(1);  // Closed, with no challenge.
  });
  EXPECT_EQ(lines.count("it is another user's"), 1U) << lines.all();
  as_another_user([&] { return asked_at(at(process.port)).local == 0; });
}

}  // namespace
}  // namespace thalweg
