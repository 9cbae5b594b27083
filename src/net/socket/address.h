// Where nodes listen: "host:port" in text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/socket/event_loop.h"
#include "thalweg/status.h"

namespace thalweg {

struct HostPort {
  std::string host;
  std::string port;
};
// "127.0.0.1:7100", "[::1]:7100", "localhost:0".
Result<HostPort> parse_host_port(std::string_view text);
// A list at its commas, at least one, whether or not they are addresses.
std::vector<std::string> addresses_in(std::string_view list);

// An abstract Unix-domain address. kIo: no socket can have that name.
Result<SocketAddress> abstract_address(std::string_view name);

bool is_loopback(const SocketAddress& address);       // Nobody beyond this machine can reach it.
std::uint16_t port_of(const SocketAddress& address);  // 0 where there are no ports.
std::string to_text(const SocketAddress& address);
const sockaddr* as_sockaddr(const SocketAddress& address);
sockaddr* as_sockaddr(SocketAddress& address);
std::string host_of(const SocketAddress& address);  // As resolve() takes it: numeric, without brackets.
void set_port(SocketAddress& address, std::uint16_t port);

// Who listens on a TCP port of this machine, such as "process 4711 (redis-server)", as far as this user may
// see it in /proc.
std::optional<std::string> port_holder(std::uint16_t port);

}  // namespace thalweg
