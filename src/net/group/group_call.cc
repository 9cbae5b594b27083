#include "net/group/group_call.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "net/live_fabric.h"
#include "net/socket/address.h"
#include "net/socket/handshake.h"
#include "net/socket/secret_file.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

constexpr Duration kRoomPause = std::chrono::milliseconds(1);

template <class T>
Result<FileDescriptor> connect_to(const T& address, socklen_t size, int family, const std::string& name,
                                  Instant deadline) {
  const auto failed = [&name](int error) {
    constexpr std::array kNobody = {ECONNREFUSED, ENOENT,    ECONNRESET,  // A listener that has ended since.
                                    EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ETIMEDOUT};
    const bool nobody = std::find(kNobody.begin(), kNobody.end(), error) != kNobody.end();
    return Status(nobody ? Code::kRetry : Code::kIo,
                  fmt::format("cannot connect to {}: {}", name, std::strerror(error)));
  };
  const Status late(Code::kTimeout, name + " did not answer in time");
  FileDescriptor socket(open_socket(family));
  if (!socket) return Status(Code::kIo, fmt::format("this process cannot call: {}", std::strerror(errno)));
  const void* any = &address;
  while (::connect(socket.get(), static_cast<const sockaddr*>(any), size) != 0) {
    if (errno == EINPROGRESS) break;
    if (errno != EAGAIN) return failed(errno);
    if (live_now() >= deadline) return late;
    std::vector<pollfd> none;  // A Unix-domain socket does not tell when there is room for another caller.
    sleep_on(none, std::min(deadline, live_now() + kRoomPause));
  }
  std::vector<pollfd> watched{{socket.get(), POLLOUT, 0}};
  do {
    sleep_on(watched, deadline);
  } while (watched[0].revents == 0 && live_now() < deadline);
  int error = 0;
  socklen_t error_size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  if (error != 0) return failed(error);
  if (watched[0].revents == 0) return late;
  return socket;
}

Status lost_or_late(int socket, short events, Instant deadline, ssize_t moved) {
  if (moved < 0 && errno == EINTR) return {};
  if (moved == 0) return {Code::kPeerLost, "the other side hung up"};
  if (moved < 0 && errno != EAGAIN) return {Code::kPeerLost, std::strerror(errno)};
  if (moved > 0) return {};
  if (live_now() >= deadline) return {Code::kTimeout, "the other side said nothing in time"};
  std::vector<pollfd> watched{{socket, events, 0}};
  sleep_on(watched, deadline);
  return {};
}

}  // namespace

void sleep_on(std::vector<pollfd>& watched, Instant deadline) {
  const Duration left = std::max(deadline - live_now(), Duration::zero());
  const timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  if (::ppoll(watched.data(), watched.size(), &timeout, nullptr) >= 0) return;
  std::for_each(watched.begin(), watched.end(), [](pollfd& fd) { fd.revents = 0; });
}

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port, Instant deadline) {
  EventLoop loop;
  std::optional<Result<std::vector<SocketAddress>>> found;
  loop.resolve(host, std::to_string(port),
               [&found](Result<std::vector<SocketAddress>> addresses) { found = std::move(addresses); });
  while (!found && live_now() < deadline) loop.wait(std::chrono::milliseconds(100));
  if (!found) return Status(Code::kTimeout, "no name server told in time where " + host + " is");
  if (*found && (**found).empty()) return Status(Code::kIo, host + " has no address");
  return *std::move(found);
}

Result<SocketAddress> own_address_towards(const SocketAddress& address) {
  const FileDescriptor socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const void* any = &address.storage;
  if (!socket || ::connect(socket.get(), static_cast<const sockaddr*>(any), address.size) != 0) {
    return Status(Code::kIo, fmt::format("no way to {}: {}", to_text(address), std::strerror(errno)));
  }
  SocketAddress own = local_address(socket.get());
  set_port(own, 0);
  return own;
}

Result<FileDescriptor> dial(const SocketAddress& address, Instant deadline) {
  Result<FileDescriptor> socket =
      connect_to(address.storage, address.size, address.storage.ss_family, to_text(address), deadline);
  if (!socket) return socket;
  // The kernel may have chosen the port that is called, and where nobody listens the call then meets itself.
  if (to_text(local_address(socket->get())) == to_text(address)) {
    return Status(Code::kRetry, "nobody listens at " + to_text(address));
  }
  tune(socket->get(), address);
  return socket;
}

Result<FileDescriptor> dial_locally(const std::string& name, Instant deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) return Status(Code::kIo, "no local address");
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return connect_to(address, size, AF_UNIX, "local socket @" + name, deadline);
}

Status send_all(int socket, std::span<const std::byte> bytes, Instant deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (Status status = lost_or_late(socket, POLLOUT, deadline, sent); !status.ok()) return status;
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

Status receive_all(int socket, std::span<std::byte> bytes, Instant deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (Status status = lost_or_late(socket, POLLIN, deadline, got); !status.ok()) return status;
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Status prove_and_say(int socket, const Secret& secret, std::span<const std::byte> hello, Instant deadline) {
  Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kGroup, secret, draw_nonce());
  handshake.say(hello);
  for (;;) {
    if (Status sent = send_all(socket, handshake.take_output(), deadline); !sent.ok()) return sent;
    if (handshake.heard()) return {};
    std::vector<std::byte> bytes(handshake.wanted());
    const Status got = receive_all(socket, bytes, deadline);
    if (got.code() == Code::kPeerLost && handshake.has_proven_itself() && !handshake.proven()) {
      return {Code::kPeerLost,
              "it hangs up on who says that it knows the secret; both must have the same one"};
    }
    if (!got.ok()) return got;
    if (Status taken = handshake.take(bytes); !taken.ok()) {
      return {Code::kRefused, "what is there is not a rank of this group: " + taken.message()};
    }
  }
}

}  // namespace thalweg
