#include "net/socket/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

Status cannot_listen(const SocketAddress& address, int error) {
  std::string why = std::strerror(error);
  if (error == EADDRINUSE && port_of(address) != 0) {
    const auto holder = port_holder(port_of(address));
    why = fmt::format("port {} is in use by {}", port_of(address), holder.value_or("another process"));
  }
  return {Code::kIo, fmt::format("cannot listen on {}: {}", to_text(address), why)};
}

Status beyond_loopback(const SocketAddress& address) {
  return {
      Code::kUsage,
      fmt::format("cannot listen on {}: other machines could reach it, and what travels is not encrypted, "
                  "so anybody on the way could read and change it; listen on 127.0.0.1 or [::1], or "
                  "accept the risk: --insecure-no-auth, for ranks also THALWEG_INSECURE_NO_AUTH=1, or "
                  "insecure_no_auth among the options",
                  to_text(address))};
}

bool lacks_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool somebody_calls(int listener) {
  pollfd watched{listener, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

FileDescriptor open_reserve() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Listener::Listener(FileDescriptor socket, int buffer_bytes)
    : socket_(std::move(socket)),
      address_(local_address(socket_.get())),
      buffer_bytes_(buffer_bytes),
      reserve_(open_reserve()) {}

Result<Listener> Listener::open(const SocketAddress& address, const ListenOptions& options) {
  if (!is_loopback(address) && !options.insecure_no_auth) return beyond_loopback(address);
  FileDescriptor socket(open_socket(address.storage.ss_family));
  if (!socket) return cannot_listen(address, errno);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (options.buffer_bytes > 0) set_buffers(socket.get(), options.buffer_bytes);
  if (::bind(socket.get(), as_sockaddr(address), address.size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return cannot_listen(address, errno);
  }
  return Listener(std::move(socket), options.buffer_bytes);
}

Result<Listener> Listener::adopt(FileDescriptor socket, const ListenOptions& options) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0 ||
      ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0 || ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return Status(Code::kIo, fmt::format("descriptor {} is not a socket that listens", socket.get()));
  }
  Listener listener(std::move(socket), options.buffer_bytes);
  if (!is_loopback(listener.address()) && !options.insecure_no_auth)
    return beyond_loopback(listener.address());
  return listener;
}

Result<std::optional<Listener::Call>> Listener::accept() {
  if (!reserve_) reserve_ = open_reserve();
  std::optional<Call> call = accept_once();
  // The kernel looks for a descriptor first, and for a caller then.
  if (call || !lacks_descriptors(errno) || !somebody_calls(fd())) return call;
  return Status(Code::kIo, fmt::format("this process has no file descriptors left to take a call with ({}); "
                                       "see ulimit -n",
                                       std::strerror(EMFILE)));
}

std::optional<Listener::Call> Listener::accept_by_reserve() {
  reserve_.reset();
  return accept_once();
}

// Or errno.
std::optional<Listener::Call> Listener::accept_once() {
  for (;;) {
    Call call;
    call.remote.size = sizeof call.remote.storage;
    call.socket = FileDescriptor(
        ::accept4(fd(), as_sockaddr(call.remote), &call.remote.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (call.socket) {
      const bool has_default_buffers = address_.storage.ss_family == AF_UNIX && buffer_bytes_ > 0;
      if (has_default_buffers) set_buffers(call.socket.get(), buffer_bytes_);
      tune(call.socket.get(), call.remote);
      return call;
    }
    if (errno != EINTR && errno != ECONNABORTED) return std::nullopt;
  }
}

}  // namespace thalweg
