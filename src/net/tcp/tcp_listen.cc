// Listening and accepting.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/socket/socket_options.h"
#include "net/tcp/tcp_impl.h"

namespace thalweg {
namespace {

const sockaddr* as_sockaddr(const SocketAddress& address) {
  const void* storage = &address.storage;
  return static_cast<const sockaddr*>(storage);
}

Status beyond_loopback(std::string_view text) {
  return {
      Code::kUsage,
      fmt::format("cannot listen on {}: other machines could reach it, and what travels is not encrypted, "
                  "so anybody on the way could read and change the model; listen on 127.0.0.1 "
                  "or [::1], or accept the risk with --insecure-no-auth",
                  text)};
}

Status cannot_listen(std::string_view text, const SocketAddress& address, int error) {
  std::string why = std::strerror(error);
  if (error == EADDRINUSE) {
    const auto holder = port_holder(port_of(address));
    why = fmt::format("port {} is in use by {}", port_of(address), holder.value_or("another process"));
  }
  return {Code::kIo, fmt::format("cannot listen on {}: {}", text, why)};
}

}  // namespace

Result<std::uint16_t> Tcp::Impl::listen(std::string_view text) {
  const auto parsed = parse_host_port(text);
  if (!parsed) return parsed.status();
  Result<std::vector<SocketAddress>> found = Status{Code::kIo, "no answer"};
  bool answered = false;
  loop_.resolve(parsed->host, parsed->port, [&](Result<std::vector<SocketAddress>> addresses) {
    found = std::move(addresses);
    answered = true;
  });
  while (!answered) loop_.wait(std::chrono::seconds(1));
  if (!found) return found.status();
  Result<std::uint16_t> port = Status{Code::kIo, fmt::format("{} has no address", text)};
  for (const SocketAddress& address : *found) {
    port = listen_on(text, address);
    if (port) break;
  }
  return port;
}

Result<std::uint16_t> Tcp::Impl::listen_on(std::string_view text, const SocketAddress& address) {
  if (!is_loopback(address) && !options_.insecure_no_auth) return beyond_loopback(text);
  const int fd = open_socket(address.storage.ss_family);
  if (fd < 0) return cannot_listen(text, address, errno);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  set_buffers(fd, options_.socket_buffer_bytes);
  if (::bind(fd, as_sockaddr(address), address.size) != 0 || ::listen(fd, SOMAXCONN) != 0) {
    const int error = errno;
    ::close(fd);
    return cannot_listen(text, address, error);
  }
  auto listener = std::make_unique<Listener>(Listener{fd, nullptr});
  Listener* raw = listener.get();
  listener->watch = loop_.watch(
      fd,
      [this, raw] {
        accept_all(*raw);
        raw->watch->want_read();
      },
      [] {});
  if (listener->watch == nullptr) {
    ::close(fd);
    return Status{Code::kIo, fmt::format("cannot listen on {}: the socket cannot be watched", text)};
  }
  listener->watch->want_read();
  listeners_.push_back(std::move(listener));
  return port_of(local_address(fd));
}

void Tcp::Impl::accept_all(Listener& listener) {
  for (;;) {
    SocketAddress remote;
    remote.size = sizeof remote.storage;
    void* storage = &remote.storage;
    const int fd =
        ::accept4(listener.fd, static_cast<sockaddr*>(storage), &remote.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      accept_one(fd, remote);
    } else if (errno == EMFILE || errno == ENFILE) {
      if (!refuse_for_want_of_descriptors(listener)) return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void Tcp::Impl::accept_one(int fd, const SocketAddress& remote) {
  const bool full = connections_.size() >= options_.connections_max;
  const bool crowded = full || strangers_ >= options_.strangers_max;
  if (crowded && !turn_away_oldest_stranger()) {
    log_refusal(fmt::format("connection from {} refused: there are {} already", to_text(remote),
                            connections_.size()));
    ::close(fd);
    return;
  }
  Connection* conn = adopt(fd, remote);
  if (conn == nullptr) return;
  begin_handshake(*conn, Handshake::Side::kAcceptor);
  conn->stranger = true;
  ++strangers_;
  conn->watch->want_read();
}

// So that whoever says nothing keeps nobody out. False when there is none.
bool Tcp::Impl::turn_away_oldest_stranger() {
  const auto oldest =
      std::ranges::find_if(connections_, [](const auto& conn) { return conn->stranger && !conn->closed; });
  if (oldest == connections_.end()) return false;
  refuse(**oldest, "others came before it had joined");
  return true;
}

// The descriptor kept in reserve is used to take the connection off the queue, so that its peer learns of it
// and the loop does not spin. False when there was none to take.
bool Tcp::Impl::refuse_for_want_of_descriptors(const Listener& listener) {
  if (reserve_fd_ >= 0) ::close(reserve_fd_);
  const int fd = ::accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
    log_refusal("connection refused: this process has no file descriptors left; see ulimit -n");
  }
  reserve_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return fd >= 0;
}

}  // namespace thalweg
