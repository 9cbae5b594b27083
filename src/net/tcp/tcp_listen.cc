// Listening and accepting.
#include <fmt/format.h>

#include <algorithm>

#include "net/socket/local_way.h"
#include "net/tcp/tcp_impl.h"

namespace thalweg {
namespace {

// Callers that cannot be taken stay in the kernel's queue this long before they are looked at again.
constexpr Duration kAcceptPause = std::chrono::milliseconds(50);

}  // namespace

Result<std::uint16_t> Tcp::Impl::listen(std::string_view text) {
  const auto parsed = parse_host_port(text);
  if (!parsed) return parsed.status();
  Result<std::vector<SocketAddress>> found = Status{Code::kIo, "no answer"};
  bool answered = false;
  loop_.resolve(parsed->host, parsed->port, [&](Result<std::vector<SocketAddress>> addresses) {
    found = std::move(addresses);
    answered = true;
  });
  while (!answered) loop_.wait(std::chrono::seconds(1));
  if (!found) return found.status();
  Result<std::uint16_t> port = Status{Code::kIo, fmt::format("{} has no address", text)};
  for (const SocketAddress& address : *found) {
    port = listen_on(address);
    if (port) break;
  }
  return port;
}

Result<std::uint16_t> Tcp::Impl::listen_on(const SocketAddress& address) {
  Result<Listener> opened =
      Listener::open(address, {options_.insecure_no_auth, options_.socket_buffer_bytes});
  if (!opened) return opened.status();
  const SocketAddress bound = opened->address();
  if (!watch(*std::move(opened))) {
    return Status{Code::kIo,
                  fmt::format("cannot listen on {}: the socket cannot be watched", to_text(address))};
  }
  if (options_.local_way) listen_beside(bound);
  return port_of(bound);
}

// Who cannot be called by the local way is called by TCP.
void Tcp::Impl::listen_beside(const SocketAddress& address) {
  Result<Listener> local = listen_locally(address, options_.socket_buffer_bytes);
  const std::string why = local ? "the socket cannot be watched" : local.status().message();
  if (local && watch(*std::move(local))) return;
  notice(fmt::format("nodes of this machine reach {} by TCP alone: {}", to_text(address), why));
}

bool Tcp::Impl::watch(Listener listener) {
  listeners_.push_back(std::make_unique<WatchedListener>(WatchedListener{std::move(listener), nullptr}));
  WatchedListener& watched = *listeners_.back();
  watched.watch = loop_.watch(
      watched.listener.fd(), [this, &watched] { accept_all(watched); }, [] {});
  if (watched.watch == nullptr) {
    listeners_.pop_back();
    return false;
  }
  watched.watch->want_read();
  return true;
}

void Tcp::Impl::accept_all(WatchedListener& watched) {
  for (;;) {
    Result<std::optional<Listener::Call>> call = watched.listener.accept();
    if (call && !call->has_value()) return watched.watch->want_read();
    if (call) {
      accept_one(**std::move(call));
    } else if (watched.listener.accept_by_reserve()) {  // So that it learns of it.
      tell_refusal({TcpEvent::Kind::kRefused, {}, "", call.status().message()});
    } else {
      return housekeep_by(clock_.now() + kAcceptPause);
    }
  }
}

void Tcp::Impl::accept_one(Listener::Call call) {
  const bool local = call.remote.storage.ss_family == AF_UNIX;
  if (local && !is_of_this_user(call.socket.get()))
    return tell_refusal({TcpEvent::Kind::kRefused,
                         {},
                         other_process(call.socket.get()),
                         "it is another user's, which calls by TCP"});
  const bool full = connections_.size() >= options_.connections_max;
  const bool crowded = full || strangers_ >= options_.strangers_max;
  if (crowded && !turn_away_oldest_stranger()) {
    return tell_refusal({TcpEvent::Kind::kRefused,
                         {},
                         local ? other_process(call.socket.get()) : to_text(call.remote),
                         fmt::format("there are {} already", connections_.size())});
  }
  Connection* conn = adopt(std::move(call.socket), call.remote);
  if (conn == nullptr) return;
  conn->local = local;
  begin_handshake(*conn, Handshake::Side::kAcceptor);
  conn->stranger = true;
  ++strangers_;
  conn->watch->want_read();
}

// So that whoever says nothing keeps nobody out. False when there is none.
bool Tcp::Impl::turn_away_oldest_stranger() {
  const auto oldest =
      std::ranges::find_if(connections_, [](const auto& conn) { return conn->stranger && !conn->closed; });
  if (oldest == connections_.end()) return false;
  refuse(**oldest, "others came before it had joined");
  return true;
}

}  // namespace thalweg
