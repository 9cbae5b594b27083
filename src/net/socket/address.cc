#include "net/socket/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace thalweg {
namespace {

constexpr std::size_t kAbstractNameAt = offsetof(sockaddr_un, sun_path) + 1;

// `storage` as the family's own type, without aliasing.
template <class T>
T as_family(const SocketAddress& address) {
  T out;
  static_assert(sizeof out <= sizeof address.storage);
  std::memcpy(&out, &address.storage, sizeof out);
  return out;
}

// Inodes of the sockets that listen on `port`, from one of the kernel's tables.
void add_listeners(const char* table, std::uint16_t port, std::set<std::string>& inodes) {
  std::ifstream in(table);
  std::string line;
  std::getline(in, line);  // The heading.
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string slot;
    std::string local;
    std::string remote;
    std::string state;
    std::string skipped;
    std::string inode;
    fields >> slot >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skipped;
    fields >> inode;
    constexpr const char* kListening = "0A";
    const auto colon = local.rfind(':');
    if (state != kListening || colon == std::string::npos) continue;
    if (local.substr(colon + 1) == fmt::format("{:04X}", port)) inodes.insert("socket:[" + inode + "]");
  }
}

bool holds_any(const std::filesystem::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(process / "fd", error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    if (sockets.contains(std::filesystem::read_symlink(it->path(), unreadable).string())) return true;
  }
  return false;
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Status{
        Code::kUsage,
        fmt::format("address '{}': {}; expected HOST:PORT, such as 127.0.0.1:7100 or [::1]:7100", text, why)};
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad("an IPv6 address stands in brackets");
  }
  if (host.empty()) return bad("has no host");
  if (host == "*") return bad("'*' is no host, all addresses of a machine are 0.0.0.0 or [::]");
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size()) return bad("the port is not 0 to 65535");
  return HostPort{std::string(host), std::string(port)};
}

std::vector<std::string> addresses_in(std::string_view list) {
  std::vector<std::string> addresses(1);
  for (const char c : list) {
    if (c == ',') {
      addresses.emplace_back();
    } else {
      addresses.back() += c;
    }
  }
  return addresses;
}

Result<SocketAddress> abstract_address(std::string_view name) {
  sockaddr_un unix_address{};
  if (name.empty() || name.size() + 1 > sizeof unix_address.sun_path)
    return Status(Code::kIo, "no local address");
  unix_address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), unix_address.sun_path + 1);
  SocketAddress address;
  std::memcpy(&address.storage, &unix_address, sizeof unix_address);
  address.size = static_cast<socklen_t>(kAbstractNameAt + name.size());
  return address;
}

bool is_loopback(const SocketAddress& address) {
  if (address.storage.ss_family == AF_UNIX) return true;
  if (address.storage.ss_family == AF_INET) {
    return (ntohl(as_family<sockaddr_in>(address).sin_addr.s_addr) >> 24) == 127;
  }
  if (address.storage.ss_family != AF_INET6) return false;
  const in6_addr ip = as_family<sockaddr_in6>(address).sin6_addr;
  const bool mapped_v4 = IN6_IS_ADDR_V4MAPPED(&ip);
  return IN6_IS_ADDR_LOOPBACK(&ip) || (mapped_v4 && ip.s6_addr[12] == 127);
}

std::uint16_t port_of(const SocketAddress& address) {
  if (address.storage.ss_family == AF_UNIX) return 0;
  return ntohs(address.storage.ss_family == AF_INET6 ? as_family<sockaddr_in6>(address).sin6_port
                                                     : as_family<sockaddr_in>(address).sin_port);
}

std::string to_text(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.storage.ss_family == AF_UNIX) {
    if (address.size <= kAbstractNameAt) return "this machine";
    const auto unix_address = as_family<sockaddr_un>(address);
    return "local socket @" + std::string(unix_address.sun_path + 1, address.size - kAbstractNameAt);
  }
  if (address.storage.ss_family == AF_INET6) {
    const in6_addr ip = as_family<sockaddr_in6>(address).sin6_addr;
    return fmt::format("[{}]:{}", inet_ntop(AF_INET6, &ip, text, sizeof text), port_of(address));
  }
  const in_addr ip = as_family<sockaddr_in>(address).sin_addr;
  return fmt::format("{}:{}", inet_ntop(AF_INET, &ip, text, sizeof text), port_of(address));
}

const sockaddr* as_sockaddr(const SocketAddress& address) {
  const void* storage = &address.storage;
  return static_cast<const sockaddr*>(storage);
}

sockaddr* as_sockaddr(SocketAddress& address) {
  void* storage = &address.storage;
  return static_cast<sockaddr*>(storage);
}

std::string host_of(const SocketAddress& address) {
  char text[NI_MAXHOST] = "?";
  ::getnameinfo(as_sockaddr(address), address.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

void set_port(SocketAddress& address, std::uint16_t port) {
  const std::size_t at = address.storage.ss_family == AF_INET6 ? offsetof(sockaddr_in6, sin6_port)
                                                               : offsetof(sockaddr_in, sin_port);
  const std::uint16_t wire = htons(port);
  void* any = &address.storage;
  std::memcpy(static_cast<char*>(any) + at, &wire, sizeof wire);
}

std::optional<std::string> port_holder(std::uint16_t port) {
  std::set<std::string> sockets;
  add_listeners("/proc/net/tcp", port, sockets);
  add_listeners("/proc/net/tcp6", port, sockets);
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string pid = it->path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || !holds_any(it->path(), sockets)) continue;
    std::string program = "?";
    std::ifstream comm(it->path() / "comm");
    std::getline(comm, program);
    return fmt::format("process {} ({})", pid, program);
  }
  return std::nullopt;
}

}  // namespace thalweg
