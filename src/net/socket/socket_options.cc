#include "net/socket/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/socket/address.h"

namespace thalweg {

// Options that the kernel refuses cost speed, not correctness, so failures are not reported.
void set_buffers(int fd, int bytes) {
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void tune(int fd, const SocketAddress& remote) {
  if (remote.storage.ss_family == AF_UNIX) return;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  constexpr char kUnpaced[] = "reno";
  if (is_loopback(remote)) setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kUnpaced, sizeof kUnpaced - 1);
}

int open_socket(int family) { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

SocketAddress local_address(int fd) {
  SocketAddress address;
  address.size = sizeof address.storage;
  getsockname(fd, as_sockaddr(address), &address.size);
  return address;
}

}  // namespace thalweg
