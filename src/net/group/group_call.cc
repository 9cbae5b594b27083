#include "net/group/group_call.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "net/live_fabric.h"
#include "net/socket/address.h"
#include "net/socket/dialler.h"
#include "net/socket/handshake.h"
#include "net/socket/secret_file.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

constexpr Duration kRoomPause = std::chrono::milliseconds(1);

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
  if (!socket || ::connect(socket.get(), as_sockaddr(address), address.size) != 0) {
    return Status(Code::kIo, fmt::format("no way to {}: {}", to_text(address), std::strerror(errno)));
  }
  SocketAddress own = local_address(socket.get());
  set_port(own, 0);
  return own;
}

Result<FileDescriptor> dial(const SocketAddress& address, Instant deadline) {
  const auto failed = [&address](const Status& why) {
    return Status(why.code(), fmt::format("cannot connect to {}: {}", to_text(address), why.message()));
  };
  const auto late = [&address] {
    return Status(Code::kTimeout, to_text(address) + " did not answer in time");
  };
  for (;;) {
    Result<FileDescriptor> socket = begin_dial(address);
    if (!socket) return failed(socket.status());
    std::vector<pollfd> watched;
    if (!*socket) {
      if (live_now() >= deadline) return late();
      sleep_on(watched, std::min(deadline, live_now() + kRoomPause));
      continue;
    }
    watched.push_back({socket->get(), POLLOUT, 0});
    do {
      sleep_on(watched, deadline);
    } while (watched[0].revents == 0 && live_now() < deadline);
    if (watched[0].revents == 0) return late();
    if (Status connected = end_dial(socket->get(), address); !connected.ok()) return failed(connected);
    return socket;
  }
}

Result<FileDescriptor> dial_locally(const std::string& name, Instant deadline) {
  const Result<SocketAddress> address = abstract_address(name);
  return address ? dial(*address, deadline) : address.status();
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
