// The one way out, for frames and for groups: a call to an address, which takes its time while its caller
// does something else. A TLS stream would wrap the socket between end_dial() and the Handshake: see
// docs/adr/0041.
#pragma once

#include <string_view>

#include "net/socket/address.h"
#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

// Begins to call `address`, which may be an abstract name. When the socket can be written to, end_dial() says
// how it went. Empty: the queue of a Unix-domain listener is full, call again in a moment. kRetry: nobody
// listens there now; kIo.
Result<FileDescriptor> begin_dial(const SocketAddress& address, int buffer_bytes = 0);
// OK: connected, and tuned. kRetry: nobody listens there now; kIo. Messages do not name the address.
Status end_dial(int socket, const SocketAddress& address);
// Whether `address`, "host:port" of this machine in numbers, is one that nobody listens at.
bool is_closed(std::string_view address);

}  // namespace thalweg
