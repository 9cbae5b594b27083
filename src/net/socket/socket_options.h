// How connections' sockets are set up.
#pragma once

#include <cstddef>

#include "net/socket/event_loop.h"

namespace thalweg {

// Buffers are set before connect() or listen(), so that the window's scale fits them.
void set_buffers(int fd, int bytes);
// No Nagle delay; keep-alive; no paced congestion control on loopback, where it halves the rate.
void tune(int fd, const SocketAddress& remote);
// A non-blocking close-on-exec stream socket, or -1 with errno.
int open_socket(int family);
SocketAddress local_address(int fd);

}  // namespace thalweg
