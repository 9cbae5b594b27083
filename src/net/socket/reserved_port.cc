#include "net/socket/reserved_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace thalweg {

Result<ReservedPort> ReservedPort::reserve() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  void* const untyped = &address;
  auto* const any = static_cast<sockaddr*>(untyped);
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), any, size) != 0 || ::getsockname(socket.get(), any, &size) != 0) {
    return Status(Code::kIo, fmt::format("no free port: {}", std::strerror(errno)));
  }
  return ReservedPort(std::move(socket), ntohs(address.sin_port));
}

Result<HeldPort> hold_port() {
  constexpr int kAboveThoseThatScriptsName = 64;
  FileDescriptor low(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  void* const untyped = &address;
  auto* const here = static_cast<sockaddr*>(untyped);
  if (!low || ::bind(low.get(), here, size) != 0 || ::listen(low.get(), SOMAXCONN) != 0 ||
      ::getsockname(low.get(), here, &size) != 0) {
    return Status(Code::kIo, fmt::format("no free port: {}", std::strerror(errno)));
  }
  FileDescriptor high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kAboveThoseThatScriptsName));
  return HeldPort{high ? std::move(high) : std::move(low), ntohs(address.sin_port)};
}

}  // namespace thalweg
