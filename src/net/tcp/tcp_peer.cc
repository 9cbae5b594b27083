// Finding peers, keeping them connected, and losing them.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "net/socket/dialler.h"
#include "net/socket/local_way.h"
#include "net/tcp/tcp_impl.h"

namespace thalweg {
namespace {

// A frame that has begun must go on within this time.
constexpr Duration kFrameStallMax = std::chrono::seconds(30);
// A connection that ends sooner counts as a failed one.
constexpr Duration kShortLife = std::chrono::seconds(1);
constexpr Duration kHousekeepingMax = std::chrono::seconds(1);
// Before a peer is dialled again, so that what others say at the same time is heard first: they may all end.
constexpr Duration kRedialAfter = std::chrono::milliseconds(1);
// Whether the process of a peer that hung up has ended is looked at so often. Who started it may know more,
// such as the signal that ended it, and has been told by then.
constexpr Duration kEndLook = std::chrono::milliseconds(200);
// Whoever takes a job up waits for all who knew the scheduler before.
constexpr Duration kReconnectSchedulerMax = std::chrono::milliseconds(250);

}  // namespace

Tcp::Impl::Peer& Tcp::Impl::peer_of(Hosted& self, NodeId id) {
  auto& peer = peers_[{&self, id}];
  if (peer == nullptr) peer = std::make_shared<Peer>(self, id);
  return *peer;
}

// The handshake is done: `conn` is now the peer's, unless another process has its name: then it is closed.
void Tcp::Impl::attach(Connection& conn, Peer& peer, std::uint64_t incarnation) {
  if (peer.moved && conn.dialled && peer.conn != nullptr) {
    peer.moved = peer.dialling = false;
    if (peer.incarnation == incarnation) return abandon(conn);  // It is where it was.
    for (Connection* before : std::exchange(peer.conns, {})) abandon(*before);
    peer.conn = nullptr;
  }
  if (peer.incarnation != incarnation && peer.conn != nullptr) {
    refuse(conn, fmt::format("another {} is connected from {}", node_name(peer.id), where(*peer.conn)));
    return;
  }
  if (conn.dialled) ++calls_taken_;
  conn.state = State::kOpen;
  conn.handshake.reset();
  conn.peer = &peer;
  if (!is_temporary(peer.id)) settle(conn);
  const bool restarted = peer.connected_once && peer.incarnation != incarnation;
  if (restarted) lose(peer.id, "its process has been replaced");
  peer.conns.push_back(&conn);
  peer.incarnation = incarnation;
  peer.connected_once = true;
  peer.process = conn.local ? process_at(conn.socket.get()) : 0;
  peer.complaint.clear();
  if (conn.dialled) peer.dialling = peer.moved = false;
  peer.by_tcp = false;
  if (peer.conn == nullptr) {
    peer.conn = &conn;
    peer.queue.restart();
  }
  mark(peer);
}

// Its node has a place in the job.
void Tcp::Impl::settle(Connection& conn) {
  if (std::exchange(conn.stranger, false)) --strangers_;
  conn.reader.set_frame_bytes_max(limits::kFrameBytesMax);
}

void Tcp::Impl::detach(Connection& conn) {
  Peer& peer = *conn.peer;
  std::erase(peer.conns, &conn);
  if (conn.state != State::kOpen) {
    // Once is no news: the node there may not yet have been given its name.
    const bool again = peer.backoff > limits::kReconnectFirst;
    const Handshake* shaken = conn.handshake.get();
    const bool distrusts = shaken != nullptr && shaken->has_proven_itself() && !shaken->proven();
    if (!again) return dial_failed(peer, {}, false);
    if (!distrusts) return dial_failed(peer, "it closes the connection", false);
    constexpr const char* kDistrusted =
        "it closes the connection when asked to believe that this process knows the job's secret; both must "
        "have the same one";
    return dial_failed(peer, {kDistrusted, TcpCause::kSecret}, false);
  }
  if (peer.conn != &conn) return;
  peer.conn = peer.conns.empty() ? nullptr : peer.conns.front();
  peer.queue.restart();
  mark(peer);
  if (peer.conn != nullptr) return;
  peer.closed_at = clock_.now();
  // What lived long may be dialled again at once; what is closed soon each time may not.
  if (peer.closed_at - conn.opened_at > kShortLife) {
    peer.backoff = limits::kReconnectFirst;
    peer.next_dial = peer.closed_at + kRedialAfter;
  } else {
    back_off(peer);
  }
  housekeep_by(peer.closed_at + std::min(options_.peer_grace, kEndLook));
}

void Tcp::Impl::rename_peer(Connection& conn, NodeId id) {
  if (find_hosted(id) != nullptr) return refuse(conn, fmt::format("{} is of this process", node_name(id)));
  const auto old = peers_.at({conn.peer->self, conn.peer->id});
  auto& slot = peers_[{old->self, id}];
  if (slot != nullptr && slot != old) {  // Frames for the new name came before the name.
    if (slot->conn != nullptr) {
      refuse(conn, fmt::format("another {} is connected from {}", node_name(id), where(*slot->conn)));
      return;
    }
    for (const auto& other : connections_) {
      if (!other->closed && other->peer == slot.get()) abandon(*other);
    }
    old->queue.append(slot->queue);
    slot->replaced = true;
    std::erase(dirty_, slot.get());
  }
  slot = old;
  old->id = id;
  if (!is_temporary(id)) {
    for (Connection* its : old->conns) settle(*its);
  }
  mark(*old);
}

void Tcp::Impl::mark(Peer& peer) {
  if (std::exchange(peer.flush_due, true)) return;
  dirty_.push_back(&peer);
}

void Tcp::Impl::flush_peers() {
  const std::size_t count = dirty_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Peer& peer = *dirty_[i];
    peer.flush_due = false;
    for (std::size_t c = 0; c < peer.conns.size(); ++c) write(*peer.conns[c]);
    if (peer.conn == nullptr || peer.moved) dial(peer);
  }
  dirty_.erase(dirty_.begin(), dirty_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Begins to dial when there is a reason, an address, and the back-off has passed.
void Tcp::Impl::dial(Peer& peer) {
  if ((peer.conn != nullptr && !peer.moved) || peer.dialling) return;
  if (peer.queue.empty() && (!peer.connected_once || peer.self->node->over())) return;
  const auto known = addresses_.find(peer.id);
  if (known == addresses_.end()) return;
  if (clock_.now() < peer.next_dial) {
    housekeep_by(peer.next_dial);
    return pass_over(peer);
  }
  const auto address = parse_host_port(known->second);
  THALWEG_CHECK(address.ok(), "introduce() takes only good addresses");
  peer.dialling = true;
  const auto on_found = [this, kept = peer.shared_from_this(),
                         dial = ++peer.dials](Result<std::vector<SocketAddress>> found) {
    if (kept->replaced || kept->dials != dial) return;
    if (!found) return dial_failed(*kept, found.status().message(), false);
    kept->candidates = *std::move(found);
    std::ranges::reverse(kept->candidates);
    dial_next(*kept);
  };
  loop_.resolve(address->host, address->port, on_found);
}

void Tcp::Impl::dial_next(Peer& peer) {
  THALWEG_CHECK(!peer.candidates.empty(), "a name that is found has an address");
  const SocketAddress address = peer.candidates.back();
  peer.candidates.pop_back();
  FileDescriptor local;
  if (options_.local_way && !peer.by_tcp) local = dial_locally(address, options_.socket_buffer_bytes);
  const bool locally = static_cast<bool>(local);
  peer.by_tcp = peer.by_tcp || locally;  // Until who answers there has proven itself.
  Result<FileDescriptor> socket =
      locally ? std::move(local) : begin_dial(address, options_.socket_buffer_bytes);
  if (!socket) {
    const bool refused = socket.status().code() == Code::kRetry && is_loopback(address);
    return dial_failed(peer, socket.status().message(), refused);
  }
  Connection* conn = adopt(*std::move(socket), address);
  if (conn == nullptr) return dial_failed(peer, "the socket cannot be watched", false);
  conn->dialled = true;
  conn->local = locally;
  conn->peer = &peer;
  conn->state = State::kConnecting;
  conn->watch->want_write();
}

void Tcp::Impl::on_connected(Connection& conn) {
  const Status connected = conn.local ? ok_status() : end_dial(conn.socket.get(), conn.remote);
  Peer& peer = *conn.peer;
  if (!connected.ok()) {
    const bool refused = connected.code() == Code::kRetry && is_loopback(conn.remote);
    abandon(conn);
    if (!peer.candidates.empty()) return dial_next(peer);
    return dial_failed(peer, connected.message(), refused);
  }
  conn.state = State::kAwaitHello;
  conn.watch->want_read();
  begin_handshake(conn, Handshake::Side::kDialler);
}

// Sets the next time to dial, jittered so that many peers of a restarted node do not come back at once.
void Tcp::Impl::back_off(Peer& peer) {
  const auto jittered = static_cast<double>(peer.backoff.count()) * (0.5 + random_.unit());
  peer.next_dial = clock_.now() + Duration(static_cast<std::int64_t>(jittered));
  const Duration most = peer.id == kScheduler ? kReconnectSchedulerMax : limits::kReconnectMax;
  peer.backoff = std::min<Duration>(peer.backoff * 2, most);
  housekeep_by(peer.next_dial);
}

bool Tcp::Impl::is_missed(const Peer& peer) const {
  const Node& node = *peer.self->node;
  return !node.over() && !node.has_left(peer.id);
}

void Tcp::Impl::dial_failed(Peer& peer, TcpReason reason, bool refused) {
  peer.dialling = false;
  back_off(peer);
  if (!reason.why.empty() && peer.complaint != reason.why && is_missed(peer)) {
    peer.complaint = reason.why;
    options_.tell({TcpEvent::Kind::kUnreached, peer.id, addresses_[peer.id], std::move(reason)});
  }
  if (peer.conn != nullptr) return;
  if (refused && options_.refused_is_lost && peer.connected_once) return lose(peer.id, "its port is closed");
  pass_over(peer);
}

// Whoever waits for it may ask another.
void Tcp::Impl::pass_over(Peer& peer) {
  if (!options_.unmet_is_lost || peer.connected_once) return;
  peer.queue.clear();
  deliver_loss(peer.id);
}

void Tcp::Impl::lose(NodeId id, const std::string& why) {
  bool missed = false;
  for (const auto& [key, peer] : peers_) {
    if (peer->id != id || peer->conn != nullptr) continue;
    peer->connected_once = false;
    peer->queue.clear();
    missed = missed || (is_missed(*peer) && !is_temporary(id));
  }
  if (options_.workers_are_clients && id.role == Role::kWorker) missed = false;
  if (missed) losses_.say(clock_.now(), {TcpEvent::Kind::kLost, id, "", why}, options_.tell);
  deliver_loss(id);
}

// While this process was stopped, or busy with a long turn, it could hear nobody.
void Tcp::Impl::forgive_own_pause(Instant now) {
  const Duration late = now - next_housekeeping_;
  if (late < kHousekeepingMax) return;
  for (const auto& conn : connections_) {
    conn->opened_at = std::min(now, conn->opened_at + late);
    conn->progress_at = std::min(now, conn->progress_at + late);
  }
  for (const auto& [key, peer] : peers_) peer->closed_at = std::min(now, peer->closed_at + late);
}

// Of one that hung up; empty: it may yet come back.
std::string Tcp::Impl::why_lost(const Peer& peer, Instant now) {
  const Instant deadline = peer.closed_at + options_.peer_grace;
  if (now >= deadline)
    return fmt::format("not connected for {} ms", options_.peer_grace / std::chrono::milliseconds(1));
  housekeep_by(deadline);
  if (!options_.refused_is_lost || peer.process == 0) return "";
  const Instant look = peer.closed_at + kEndLook;
  if (now >= look && has_ended(peer.process)) return "its process has ended";
  housekeep_by(std::max(look, now + kEndLook));
  return "";
}

void Tcp::Impl::housekeep(Instant now) {
  forgive_own_pause(now);
  next_housekeeping_ = now + kHousekeepingMax;
  refusals_.look(now, options_.tell);
  strays_.look(now, options_.tell);
  losses_.look(now, options_.tell);
  for (const auto& watched : listeners_) watched->watch->want_read();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& conn = *connections_[i];
    if (conn.closed) continue;
    if (conn.state != State::kOpen) {
      const Instant deadline = conn.opened_at + options_.hello_timeout;
      if (now < deadline) {
        housekeep_by(deadline);
      } else if (conn.dialled) {
        Peer& peer = *conn.peer;
        abandon(conn);
        dial_failed(peer, "no answer", false);
      } else {
        refuse(conn, "it has not said who it is in time");
      }
    } else if (conn.reader.inside_frame() && !conn.paused && now - conn.progress_at > kFrameStallMax) {
      refuse(conn, "it stopped in the middle of a frame");
    }
  }
  std::map<NodeId, std::string> lost;
  for (const auto& [key, peer] : peers_) {
    if (peer->conn != nullptr) continue;
    if (const std::string why = peer->connected_once ? why_lost(*peer, now) : ""; !why.empty())
      lost[peer->id] = why;
    dial(*peer);
  }
  for (const auto& [id, why] : lost) lose(id, why);
  std::erase_if(peers_, [this](const auto& entry) {
    const Peer& peer = *entry.second;
    if (options_.unmet_is_lost && peer.dials > 0) return false;  // Its back-off goes on.
    return peer.conn == nullptr && !peer.dialling && !peer.connected_once && peer.queue.empty() &&
           !peer.flush_due;
  });
}

}  // namespace thalweg
