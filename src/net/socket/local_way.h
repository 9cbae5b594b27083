// The way between processes of one user on one machine: beside a TCP port its listener has an abstract
// Unix-domain name that says the port's address, which calls to that address try first. See docs/adr/0113.
#pragma once

#include <sys/types.h>

#include <string>

#include "net/socket/address.h"
#include "net/socket/file_descriptor.h"
#include "net/socket/listener.h"
#include "thalweg/status.h"

namespace thalweg {

// Listens under the name that belongs to `address`, at which this process listens by TCP. kIo: another has
// it.
Result<Listener> listen_locally(const SocketAddress& address, int buffer_bytes = 0);
// A connection to the process of this user that listens at `address`; empty: call it by TCP.
FileDescriptor dial_locally(const SocketAddress& address, int buffer_bytes = 0);

// Whether the process at the other end of a Unix-domain socket has this one's user, by the kernel's word.
bool is_of_this_user(int socket);
// It, such as "process 4711 of this machine".
std::string other_process(int socket);
// Its number; 0: this process's namespace does not have it.
pid_t process_at(int socket);
// False as well where that is not known.
bool has_ended(pid_t process);

}  // namespace thalweg
