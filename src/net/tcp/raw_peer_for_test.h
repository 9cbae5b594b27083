// A peer that writes bytes, not frames: for what no driver would send.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "net/socket/address.h"
#include "net/socket/handshake.h"
#include "net/socket/local_way.h"
#include "net/socket/secret_file.h"
#include "net/tcp/hello.h"

namespace thalweg {

// As a node that has been renamed says it.
inline std::vector<std::byte> hello_bytes(const Hello& hello) { return encode_frame(hello_frame(hello)); }

class RawPeer {
 public:
  RawPeer() : RawPeer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit RawPeer(int fd) : fd_(fd) {
    const int on = 1;  // What it sends has left when it closes.
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~RawPeer() { close(); }
  RawPeer(RawPeer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  static RawPeer connected(std::uint16_t port) {
    RawPeer peer;
    peer.connect(port);
    return peer;
  }
  // To the same node by the way of its own machine.
  static RawPeer connected_locally(std::uint16_t port) {
    FileDescriptor socket = dial_locally(loopback(port));
    EXPECT_TRUE(socket);
    RawPeer peer(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    EXPECT_EQ(::fcntl(peer.fd_, F_SETFL, 0), 0);  // It waits.
    return peer;
  }
  // Connected and past the handshake as worker 100.
  static RawPeer greeted(std::uint16_t port, NodeId to, NodeId as = worker_node(100)) {
    return greeted(connected(port), to, as);
  }
  static RawPeer greeted(RawPeer peer, NodeId to, NodeId as) {
    EXPECT_TRUE(peer.greet(encode_hello({as, to, 0, 77}).span()));
    return peer;
  }
  // Shakes hands as who has dialled, and says `hello`; the answer, or nothing when the other side closes.
  std::optional<std::vector<std::byte>> greet(std::span<const std::byte> hello, const Secret& secret = {},
                                              Handshake::Use use = Handshake::Use::kFrames) const {
    Handshake handshake(Handshake::Side::kDialler, use, secret, draw_nonce());
    handshake.say(hello);
    if (!shake(handshake)) return std::nullopt;
    return std::vector<std::byte>(handshake.hello().begin(), handshake.hello().end());
  }
  // Until the other side's hello is there; false when it closes, or proves nothing.
  bool shake(Handshake& handshake) const {
    while (!handshake.heard()) {
      send(handshake.take_output());
      std::vector<std::byte> bytes(handshake.wanted());
      const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (got <= 0 || !handshake.take(std::span(bytes).first(static_cast<std::size_t>(got))).ok())
        return false;
    }
    return true;
  }
  static SocketAddress loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SocketAddress any;
    std::memcpy(&any.storage, &address, sizeof address);
    any.size = sizeof address;
    set_port(any, port);
    return any;
  }
  void connect(std::uint16_t port) {
    const SocketAddress address = loopback(port);
    EXPECT_EQ(::connect(fd_, as_sockaddr(address), address.size), 0) << std::strerror(errno);
  }
  // A listening socket on a free port.
  static std::pair<RawPeer, std::uint16_t> listening() {
    RawPeer peer;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    void* any = &address;
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(peer.fd_, static_cast<const sockaddr*>(any), size), 0);
    EXPECT_EQ(::listen(peer.fd_, 8), 0);
    EXPECT_EQ(::getsockname(peer.fd_, static_cast<sockaddr*>(any), &size), 0);
    return {std::move(peer), ntohs(address.sin_port)};
  }
  RawPeer accept() const { return RawPeer(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)); }
  // The next one that calls, having been told whom it has reached.
  RawPeer accept(const Hello& hello) const {
    RawPeer peer = accept();
    Handshake handshake(Handshake::Side::kAcceptor, Handshake::Use::kFrames, {}, draw_nonce());
    EXPECT_TRUE(peer.shake(handshake));
    handshake.say(encode_hello(hello).span());
    peer.send(handshake.take_output());
    return peer;
  }

  // False once the other side has closed.
  bool send(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool send(std::string_view text) const { return send(std::as_bytes(std::span(text))); }
  // Reads so many bytes and drops them; false when the other side closes first.
  bool receive(std::size_t bytes) const {
    std::vector<std::byte> buffer(std::min<std::size_t>(bytes, 1U << 20));
    while (bytes > 0) {
      const ssize_t got = ::recv(fd_, buffer.data(), std::min(bytes, buffer.size()), 0);
      if (got <= 0) return false;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }
  // Blocks until the other side closes, dropping what it sends.
  void await_close() const {
    while (receive(1)) {
    }
  }
  bool can_send_within(int timeout_ms) const {
    pollfd what{fd_, POLLOUT, 0};
    return ::poll(&what, 1, timeout_ms) == 1;
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace thalweg
