// Calling a rank: connections that are made, and blocking exchanges of a few bytes, all with a deadline.
#pragma once

#include <poll.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "net/group/group_message.h"
#include "net/socket/event_loop.h"
#include "net/socket/file_descriptor.h"
#include "thalweg/secret.h"
#include "thalweg/status.h"

namespace thalweg {

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port, Instant deadline);
// This machine's address, without a port, from which it would call `address`.
Result<SocketAddress> own_address_towards(const SocketAddress& address);
// A connected, tuned, non-blocking socket. kRetry while nobody is there who listens, kTimeout at the
// deadline.
Result<FileDescriptor> dial(const SocketAddress& address, Instant deadline);
// The same through an abstract Unix-domain address.
Result<FileDescriptor> dial_locally(const std::string& name, Instant deadline);
Status send_all(int socket, std::span<const std::byte> bytes, Instant deadline);
// kPeerLost when the other side hangs up first.
Status receive_all(int socket, std::span<std::byte> bytes, Instant deadline);
// Proves to who listens there that this process knows the secret, as it must, and says `hello`. kRefused:
// what is there does not know it.
Status prove_and_say(int socket, const Secret& secret, std::span<const std::byte> hello, Instant deadline);
// Sleeps until one of them is ready or the deadline, at most.
void sleep_on(std::vector<pollfd>& watched, Instant deadline);

}  // namespace thalweg
