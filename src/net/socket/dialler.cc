#include "net/socket/dialler.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

Status failed(int error) {
  constexpr std::array kNobody = {ECONNREFUSED, ENOENT,     EHOSTUNREACH, EHOSTDOWN, ENETUNREACH,
                                  ETIMEDOUT,    ECONNRESET, EPIPE};  // A listener that has ended since.
  const bool nobody = std::find(kNobody.begin(), kNobody.end(), error) != kNobody.end();
  return {nobody ? Code::kRetry : Code::kIo, std::strerror(error)};
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
  // The kernel may have chosen the port that is called, and where nobody listens the call then meets itself.
  if (port_of(address) != 0 && to_text(local_address(socket)) == to_text(address))
    return {Code::kRetry, "nobody listens there"};
  tune(socket, address);
  return {};
}

}  // namespace thalweg
