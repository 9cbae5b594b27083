#include "net/socket/dialler.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

// Within a machine a call is refused at once.
constexpr int kClosedWithinMs = 10;

Status failed(int error) {
  constexpr std::array kNobody = {ECONNREFUSED, ENOENT,     EHOSTUNREACH, EHOSTDOWN, ENETUNREACH,
                                  ETIMEDOUT,    ECONNRESET, EPIPE};  // A listener that has ended since.
  const bool nobody = std::find(kNobody.begin(), kNobody.end(), error) != kNobody.end();
  return {nobody ? Code::kRetry : Code::kIo, std::strerror(error)};
}

// The kernel may have chosen the port that is called, and where nobody listens the call then meets itself.
bool meets_itself(int socket, const SocketAddress& address) {
  return port_of(address) != 0 && to_text(local_address(socket)) == to_text(address);
}

}  // namespace

Result<FileDescriptor> begin_dial(const SocketAddress& address, int buffer_bytes) {
  FileDescriptor socket(open_socket(address.storage.ss_family));
  if (!socket) return Status(Code::kIo, std::string("this process cannot call: ") + std::strerror(errno));
  if (buffer_bytes > 0) set_buffers(socket.get(), buffer_bytes);
  if (::connect(socket.get(), as_sockaddr(address), address.size) == 0 || errno == EINPROGRESS) return socket;
  if (errno == EAGAIN && address.storage.ss_family == AF_UNIX) return FileDescriptor();
  return failed(errno);
}

Status end_dial(int socket, const SocketAddress& address) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failed(error);
  if (meets_itself(socket, address)) return {Code::kRetry, "nobody listens there"};
  tune(socket, address);
  return {};
}

bool is_closed(std::string_view address) {
  const auto parsed = parse_host_port(address);
  if (!parsed) return false;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(parsed->host.c_str(), parsed->port.c_str(), &hints, &found) != 0) return false;
  SocketAddress at;
  std::memcpy(&at.storage, found->ai_addr, found->ai_addrlen);
  at.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  const FileDescriptor socket(open_socket(at.storage.ss_family));
  if (!socket) return false;
  if (::connect(socket.get(), as_sockaddr(at), at.size) != 0 && errno != EINPROGRESS)
    return errno == ECONNREFUSED;
  pollfd ready{socket.get(), POLLOUT, 0};
  if (::poll(&ready, 1, kClosedWithinMs) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == ECONNREFUSED || (error == 0 && meets_itself(socket.get(), at));
}

}  // namespace thalweg
