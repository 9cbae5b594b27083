#include "net/socket/local_way.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/socket/dialler.h"
#include "net/socket/socket_options.h"

namespace thalweg {
namespace {

// Names exist in one network namespace, and so does what they say: an address of this machine.
Result<SocketAddress> name_of(const std::string& host, std::uint16_t port) {
  return abstract_address(fmt::format("thalweg-{}-{}", host, port));
}

bool is_own_address(const SocketAddress& address) {
  if (is_loopback(address)) return true;
  // The kernel calls an address of this machine from that address. Nothing is sent.
  FileDescriptor socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket && ::connect(socket.get(), as_sockaddr(address), address.size) == 0 &&
         host_of(local_address(socket.get())) == host_of(address);
}

ucred credentials(int socket) {
  ucred found{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t size = sizeof found;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &found, &size);
  return found;
}

}  // namespace

Result<Listener> listen_locally(const SocketAddress& address, int buffer_bytes) {
  const Result<SocketAddress> name = name_of(host_of(address), port_of(address));
  if (!name) return name.status();
  return Listener::open(*name, {.buffer_bytes = buffer_bytes});
}

FileDescriptor dial_locally(const SocketAddress& address, int buffer_bytes) {
  if (!is_own_address(address)) return {};
  const char* any = address.storage.ss_family == AF_INET6 ? "::" : "0.0.0.0";
  for (const std::string& host : {host_of(address), std::string(any)}) {
    const Result<SocketAddress> name = name_of(host, port_of(address));
    if (!name) return {};
    Result<FileDescriptor> socket = begin_dial(*name, buffer_bytes);
    if (socket && *socket && is_of_this_user(socket->get())) return *std::move(socket);
  }
  return {};
}

bool is_of_this_user(int socket) { return credentials(socket).uid == ::geteuid(); }

std::string other_process(int socket) {
  const pid_t process = process_at(socket);
  return process == 0 ? "this machine" : fmt::format("process {} of this machine", process);
}

pid_t process_at(int socket) { return credentials(socket).pid; }

// One whose parent has yet to ask for it is still there to be signalled, but its descriptor can be read.
bool has_ended(pid_t process) {
  if (process == 0) return false;
  const FileDescriptor its(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!its) return errno == ESRCH;
  pollfd ended{its.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1;
}

}  // namespace thalweg
