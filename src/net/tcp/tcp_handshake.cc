// Who is at the other end of a connection: proven first, then said, then given its place.
#include <fmt/format.h>

#include <algorithm>

#include "net/socket/secret_file.h"
#include "net/tcp/tcp_impl.h"

namespace thalweg {
namespace {

TcpReason other_cluster(const Hello& hello, NodeId self, std::uint64_t ours) {
  TcpReason reason(fmt::format("{} is of cluster {:016x}, {} here of {:016x}", node_name(hello.from),
                               hello.cluster, node_name(self), ours),
                   TcpCause::kCluster);
  reason.told = hello.told;
  return reason;
}

bool clusters_differ(std::uint64_t a, std::uint64_t b) { return a != b && a != 0 && b != 0; }

}  // namespace

void Tcp::Impl::begin_handshake(Connection& conn, Handshake::Side side) {
  conn.handshake = std::make_unique<Handshake>(side, Handshake::Use::kFrames, options_.secret, draw_nonce());
  if (side == Handshake::Side::kAcceptor) return;
  conn.handshake->say(encode_hello(hello_of(*conn.peer->self, conn.peer->id)).span());
  send_handshake(conn);
}

void Tcp::Impl::send_handshake(Connection& conn) {
  const std::vector<std::byte> bytes = conn.handshake->take_output();
  conn.greeting.insert(conn.greeting.end(), bytes.begin(), bytes.end());
  write(conn);
}

void Tcp::Impl::shake_hands(Connection& conn, std::span<const std::byte> bytes) {
  const auto refused = [&](const Status& why) {
    const TcpReason reason(why.message(), conn.handshake->doubted() ? TcpCause::kSecret : TcpCause::kOther);
    return conn.dialled ? refuse_dialled(conn, reason) : refuse(conn, reason);
  };
  if (const Status status = conn.handshake->take(bytes); !status.ok()) return refused(status);
  if (conn.local && conn.dialled && conn.handshake->proven()) conn.peer->by_tcp = false;
  if (!conn.handshake->heard()) return send_handshake(conn);
  const auto hello = decode_hello(conn.handshake->hello());
  if (!hello) return refused(hello.status());
  conn.dialled ? open_dialled(conn, *hello) : open_accepted(conn, *hello);
}

void Tcp::Impl::open_accepted(Connection& conn, const Hello& hello) {
  Hosted* self = find_hosted(hello.to);
  if (self == nullptr && std::ranges::all_of(hosted_, [](const auto& it) { return is_temporary(it->id); })) {
    return close(conn);  // It comes again when we have been named.
  }
  if (self == nullptr) {  // The caller can say whom it has met in its place.
    conn.handshake->say(encode_hello(hello_of(*hosted_.front(), hello.from)).span());
    send_handshake(conn);
    if (conn.closed) return;
    return refuse(
        conn,
        {fmt::format("{} asks for {}, which is not here", node_name(hello.from), node_name(hello.to)),
         TcpCause::kPlace},
        hello.from);
  }
  // Also to those refused below, so that they can say why.
  conn.handshake->say(encode_hello(hello_of(*self, hello.from)).span());
  send_handshake(conn);
  if (conn.closed) return;
  if (clusters_differ(hello.cluster, self->cluster)) {
    return refuse(conn, other_cluster(hello, self->id, self->cluster), hello.from);
  }
  if (find_hosted(hello.from) != nullptr) {
    return refuse(conn, fmt::format("{} is of this process", node_name(hello.from)));
  }
  // A name that its former bearer has changed for another is free again.
  const auto known = peers_.find({self, hello.from});
  if (known != peers_.end() && known->second->id != hello.from &&
      known->second->incarnation != hello.incarnation) {
    peers_.erase(known);
  }
  attach(conn, peer_of(*self, hello.from), hello.incarnation);
}

void Tcp::Impl::open_dialled(Connection& conn, const Hello& hello) {
  Peer& peer = *conn.peer;
  const Hosted& self = *peer.self;
  if (clusters_differ(hello.cluster, self.cluster)) {
    return refuse_dialled(conn, other_cluster(hello, self.id, self.cluster));
  }
  if (hello.from != peer.id) {
    return refuse_dialled(
        conn, {fmt::format("{} answers where {} was expected", node_name(hello.from), node_name(peer.id)),
               TcpCause::kPlace});
  }
  attach(conn, peer, hello.incarnation);
}

void Tcp::Impl::refuse_dialled(Connection& conn, TcpReason reason) {
  Peer& peer = *conn.peer;
  ++refused_;
  abandon(conn);
  dial_failed(peer, std::move(reason), false);
}

}  // namespace thalweg
