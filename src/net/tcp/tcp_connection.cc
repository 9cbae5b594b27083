// Bytes in and out of a connection.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "net/socket/local_way.h"
#include "net/tcp/tcp_impl.h"

namespace thalweg {
namespace {

constexpr int kMissesMax = 64;  // Then a connection is no longer polled in each pass.
constexpr std::size_t kBytesPerWrite = std::size_t{4} << 20;
constexpr int kWritesPerTurn = 8;  // Others wait meanwhile.
constexpr std::size_t kGreetingBytesPerRead = 256;

}  // namespace

Tcp::Impl::Connection* Tcp::Impl::adopt(FileDescriptor socket, const SocketAddress& remote) {
  auto owned = std::make_unique<Connection>(std::move(socket));
  Connection* conn = owned.get();
  conn->remote = remote;
  conn->opened_at = conn->progress_at = clock_.now();
  conn->watch = loop_.watch(
      conn->socket.get(),
      [this, conn] {
        read_some(*conn);
        if (!conn->closed && !conn->hot && !conn->paused) conn->watch->want_read();
      },
      [this, conn] { on_writable(*conn); });
  if (conn->watch == nullptr) return nullptr;
  connections_.push_back(std::move(owned));
  housekeep_by(conn->opened_at + options_.hello_timeout);
  return conn;
}

void Tcp::Impl::on_writable(Connection& conn) {
  if (conn.closed) return;
  if (conn.state == State::kConnecting) return on_connected(conn);
  conn.blocked = false;
  write(conn);
}

void Tcp::Impl::heat(Connection& conn) {
  conn.misses = 0;
  if (conn.hot || conn.closed) return;
  conn.hot = true;
  hot_.push_back(&conn);
}

// Reads once and handles the whole frames that are there; whether there was anything.
bool Tcp::Impl::read_some(Connection& conn) {
  if (conn.closed || conn.paused || conn.state == State::kConnecting) {
    conn.hot = false;
    return false;
  }
  iovec parts[2];
  std::size_t count = 1;
  std::array<std::byte, kGreetingBytesPerRead> greeting;
  if (conn.handshake != nullptr) {
    parts[0] = {greeting.data(), std::min(conn.handshake->wanted(), greeting.size())};
  } else {
    count = conn.reader.space(parts);
  }
  const ssize_t got = count == 1 ? ::recv(conn.socket.get(), parts[0].iov_base, parts[0].iov_len, 0)
                                 : ::readv(conn.socket.get(), parts, static_cast<int>(count));
  if (got < 0 && (errno == EAGAIN || errno == EINTR) && !conn.broken) {
    if (conn.hot && ++conn.misses > kMissesMax) {
      conn.hot = false;
      conn.watch->want_read();
    }
    return false;
  }
  if (got <= 0) {
    close(conn);
    return true;
  }
  heat(conn);
  conn.progress_at = clock_.now();
  if (conn.handshake != nullptr) {
    shake_hands(conn, std::span(greeting).first(static_cast<std::size_t>(got)));
    return true;
  }
  conn.reader.filled(static_cast<std::size_t>(got));
  while (handle_frames(conn)) {
  }
  return true;
}

// Handles one frame; whether to look for another.
bool Tcp::Impl::handle_frames(Connection& conn) {
  Result<std::optional<Frame>> next = conn.reader.next();
  if (!next) {
    refuse(conn, next.status().message());
    return false;
  }
  if (!next->has_value()) return false;
  return handle_frame(conn, **std::move(next)) && !conn.closed;
}

bool Tcp::Impl::handle_frame(Connection& conn, Frame frame) {
  if (frame.head.op == Op::kHello) return handle_rename(conn, frame);
  const Hosted& self = *conn.peer->self;
  if (frame.head.cluster != self.cluster && frame.head.cluster != 0 && self.cluster != 0) {
    refuse(conn, fmt::format("{} is of cluster {:016x}, this node of {:016x}", describe(frame.head),
                             frame.head.cluster, self.cluster));
    return false;
  }
  deliver(*conn.peer->self, conn.peer->id, std::move(frame));
  return true;
}

// A peer that has been given another name says so by a second hello.
bool Tcp::Impl::handle_rename(Connection& conn, const Frame& frame) {
  const auto hello = decode_hello(frame.first.span());
  if (!hello || !frame.second.empty()) {
    refuse(conn, hello ? "a hello with values" : hello.status().message());
    return false;
  }
  if (hello->incarnation != conn.peer->incarnation) {
    refuse(conn, "a second hello is of another process");
    return false;
  }
  if (hello->from != conn.peer->id) rename_peer(conn, hello->from);
  return true;
}

void Tcp::Impl::send_hello(Connection& conn, const Hosted& self, NodeId to) {
  conn.control.push(hello_frame(hello_of(self, to)));
}

void Tcp::Impl::write(Connection& conn) {
  for (int writes = 0; writes < kWritesPerTurn; ++writes) {
    if (conn.closed || conn.broken || conn.blocked || conn.state == State::kConnecting) return;
    const bool mine = conn.peer != nullptr && conn.peer->conn == &conn;
    const bool greets = !conn.greeting.empty();
    if (!greets && conn.state != State::kOpen) return;
    const bool control = !conn.control.empty() && !(mine && conn.peer->queue.inside_frame());
    if (!greets && !control && (!mine || conn.peer->queue.empty())) return;
    SendQueue& queue = control || !mine ? conn.control : conn.peer->queue;
    iovec parts[64];
    msghdr message{};
    message.msg_iov = parts;
    parts[0] = {conn.greeting.data(), conn.greeting.size()};
    message.msg_iovlen = greets ? 1 : queue.fill(parts, kBytesPerWrite);
    const ssize_t sent = ::sendmsg(conn.socket.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != ENOBUFS) return send_failed(conn);
      conn.blocked = true;
      conn.watch->want_write();
      return;
    }
    progress_ = true;
    sent_bytes_ += static_cast<std::uint64_t>(sent);
    if (greets) {
      conn.greeting.erase(conn.greeting.begin(), conn.greeting.begin() + sent);
      continue;
    }
    queue.sent(static_cast<std::size_t>(sent));
    if (mine) set_paused(*conn.peer);
  }
  if (conn.peer != nullptr) mark(*conn.peer);
}

// The peer's last words, such as why it ends, may lie unread here.
void Tcp::Impl::send_failed(Connection& conn) {
  conn.broken = true;
  conn.paused = false;
  heat(conn);
}

// A peer that does not read our answers is not read from, so that its requests cannot fill our memory.
void Tcp::Impl::set_paused(Peer& peer) {
  const bool client = options_.workers_are_clients && peer.id.role == Role::kWorker;
  const std::size_t queued = client ? peer.queue.bytes() : peer.queue.answer_bytes();
  for (Connection* conn : peer.conns) {
    if (!conn->paused && !conn->broken && queued > options_.answer_bytes_high) conn->paused = true;
    if (conn->paused && queued <= options_.answer_bytes_high / 2) {
      conn->paused = false;
      heat(*conn);
    }
  }
}

std::string Tcp::Impl::where(const Connection& conn) {
  return conn.local && !conn.dialled ? other_process(conn.socket.get()) : to_text(conn.remote);
}

void Tcp::Impl::refuse(Connection& conn, TcpReason reason, std::optional<NodeId> said) {
  const std::string who = conn.state == State::kOpen ? node_name(conn.peer->id) + " at " : "";
  if (conn.state == State::kOpen) said = conn.peer->id;
  tell_refusal({TcpEvent::Kind::kClosed, said, who + where(conn), std::move(reason)});
  close(conn);
}

// Its loss, of which nodes would be told, would be taken for that of the node here.
void Tcp::Impl::refuse_namesake(Connection& conn) {
  Peer& peer = *conn.peer;
  refuse(conn, fmt::format("{} is of this process", node_name(peer.id)));
  if (peer.conn != nullptr) return;
  peer.connected_once = false;
  peer.queue.clear();
}

// The object stays until bury(), as callers further up hold it.
void Tcp::Impl::close(Connection& conn) {
  if (std::exchange(conn.closed, true)) return;
  if (conn.stranger) --strangers_;
  any_closed_ = true;
  conn.watch.reset();
  // What is unread would turn the close into a reset, which may overtake what we sent.
  ::shutdown(conn.socket.get(), SHUT_WR);
  std::byte unread[4096];
  for (int i = 0; i < 64 && ::recv(conn.socket.get(), unread, sizeof unread, 0) > 0; ++i) {
  }
  conn.socket.reset();
  if (conn.peer != nullptr) detach(conn);
}

void Tcp::Impl::abandon(Connection& conn) {
  conn.peer = nullptr;
  close(conn);
}

void Tcp::Impl::bury() {
  if (!std::exchange(any_closed_, false)) return;
  std::erase_if(hot_, [](const Connection* conn) { return conn->closed; });
  std::erase_if(connections_, [](const auto& conn) { return conn->closed; });
}

}  // namespace thalweg
