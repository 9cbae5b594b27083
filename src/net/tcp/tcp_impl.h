// The parts of the TCP driver: tcp.cc runs nodes and the loop, tcp_connection.cc moves bytes,
// tcp_handshake.cc finds out who is at the other end, tcp_peer.cc finds, keeps and loses peers.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "net/socket/address.h"
#include "net/socket/event_loop.h"
#include "net/socket/file_descriptor.h"
#include "net/socket/handshake.h"
#include "net/socket/listener.h"
#include "net/tcp/frame_reader.h"
#include "net/tcp/hello.h"
#include "net/tcp/log_limit.h"
#include "net/tcp/send_queue.h"
#include "net/tcp/stand_in.h"
#include "net/tcp/tcp.h"

namespace thalweg {

// A joiner's own name, until the scheduler gives it one.
inline bool is_temporary(NodeId id) { return (id.index >> 31) != 0; }

class Tcp::Impl {
 public:
  Impl(const Clock& clock, TcpOptions options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<std::uint16_t> listen(std::string_view address);
  void add(NodeId id, Node& node, std::uint64_t cluster);
  Status introduce(NodeId node, std::string_view address);
  void turn(NodeId id, const std::function<void(Instant, Transport&)>& act);
  bool run_until(const std::function<bool()>& done, Instant deadline);
  bool drained() const;
  void wake() { loop_.wake(); }
  Instant now() const { return clock_.now(); }
  TcpStats stats() const;

 private:
  struct Hosted {
    NodeId id;
    std::vector<NodeId> former_ids;
    Node* node;
    std::uint64_t cluster;
    bool finished = false;
    Computation* work = nullptr;  // To be computed, by the thread in run_until().
    bool goes_by(NodeId name) const;
  };
  struct Peer;
  enum class State { kConnecting, kAwaitHello, kOpen };
  struct Connection {
    explicit Connection(FileDescriptor its_socket) : socket(std::move(its_socket)) {}
    FileDescriptor socket;
    std::unique_ptr<EventLoop::Watch> watch;
    std::unique_ptr<Handshake> handshake;  // Until the peer is known.
    std::vector<std::byte> greeting;       // Of the handshake, not yet sent: goes before all else.
    FrameReader reader;
    SendQueue control;  // Hellos: sent between the peer's frames.
    State state = State::kAwaitHello;
    SocketAddress remote;
    Peer* peer = nullptr;  // Known from the start when we dialled, else from the handshake's end on.
    bool dialled = false;
    bool local = false;     // By a Unix-domain socket; `remote` of one that we dialled is the TCP address.
    bool stranger = false;  // Accepted, and not yet of a node that the scheduler has named.
    bool blocked = false;   // The kernel takes no more for now.
    bool paused = false;    // Its peer reads our answers too slowly to be heard.
    bool broken = false;    // Nothing can be sent any more; what has come is still read.
    bool closed = false;
    bool hot = false;  // Polled in each pass.
    int misses = 0;    // Polls in a row that found nothing.
    Instant opened_at{};
    Instant progress_at{};  // Of reading.
  };
  // A pair of a node here and a node elsewhere.
  struct Peer : std::enable_shared_from_this<Peer> {
    Peer(Hosted& its_self, NodeId its_id) : self(&its_self), id(its_id) {}
    Hosted* self;
    NodeId id;
    SendQueue queue;
    Connection* conn = nullptr;      // The one that is sent on, kept while it lives so that order is kept.
    std::vector<Connection*> conns;  // All open ones: both sides may have dialled at once.
    bool dialling = false;
    bool by_tcp = false;                    // Who answered by the local way last proved nothing.
    std::uint32_t dials = 0;                // So far.
    bool moved = false;                     // It may be elsewhere: `conn` stays until somebody answers there.
    bool replaced = false;                  // Another has taken its name.
    std::vector<SocketAddress> candidates;  // Not yet tried ones of this dial.
    std::uint64_t incarnation = 0;
    bool connected_once = false;  // Since it was last lost.
    bool flush_due = false;
    pid_t process = 0;  // That was connected last; 0: not by the local way.
    Instant closed_at{};
    Instant next_dial{};
    Duration backoff = limits::kReconnectFirst;
    std::string complaint;  // Last told about dialling it; the same is not told twice.
  };
  using PeerKey = std::pair<Hosted*, NodeId>;
  class Outbox;
  struct LocalMail {
    Hosted* to;
    NodeId from;
    Frame frame;
  };
  struct WatchedListener {
    Listener listener;
    std::unique_ptr<EventLoop::Watch> watch;
  };

  // tcp.cc
  bool pass();
  void sleep(Instant until);
  bool run_due_nodes();
  bool compute_next();
  void stand_in(const StandIn::GoOn& go_on);
  bool told_to_stop() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }
  void run_local_mail();
  template <class Act>
  void take_turn(Hosted& hosted, const Act& act);
  void deliver(Hosted& to, NodeId from, Frame frame);
  void deliver_loss(NodeId id);
  void route(Hosted& from, NodeId to, Frame frame);
  void rename(Hosted& hosted, NodeId id, std::uint64_t cluster);
  Hosted* find_hosted(NodeId id);
  void notice(std::string line) const;
  void tell_refusal(const TcpEvent& event);

  // tcp_listen.cc
  Result<std::uint16_t> listen_on(const SocketAddress& address);
  void listen_beside(const SocketAddress& address);
  bool watch(Listener listener);
  void accept_all(WatchedListener& watched);
  void accept_one(Listener::Call call);
  bool turn_away_oldest_stranger();

  // tcp_connection.cc
  Connection* adopt(FileDescriptor socket, const SocketAddress& remote);
  void on_writable(Connection& conn);
  bool read_some(Connection& conn);
  bool handle_frames(Connection& conn);
  bool handle_frame(Connection& conn, Frame frame);
  bool handle_rename(Connection& conn, const Frame& frame);
  void send_hello(Connection& conn, const Hosted& self, NodeId to);
  void write(Connection& conn);
  void send_failed(Connection& conn);
  void set_paused(Peer& peer);
  void heat(Connection& conn);
  static std::string where(const Connection& conn);  // Its other end, for people.
  void refuse(Connection& conn, TcpReason reason, std::optional<NodeId> said = {});
  void refuse_namesake(Connection& conn);  // Of a node of this process.
  void close(Connection& conn);
  void abandon(Connection& conn);  // Closes one whose peer has nothing to learn from that.
  void bury();

  // tcp_handshake.cc
  void begin_handshake(Connection& conn, Handshake::Side side);
  void send_handshake(Connection& conn);  // What there is of it to be sent.
  void shake_hands(Connection& conn, std::span<const std::byte> bytes);
  Hello hello_of(const Hosted& self, NodeId to) const {
    return {self.id, to, self.cluster, incarnation_, options_.told};
  }
  void open_accepted(Connection& conn, const Hello& hello);
  void open_dialled(Connection& conn, const Hello& hello);
  void refuse_dialled(Connection& conn, TcpReason reason);

  // tcp_peer.cc
  Peer& peer_of(Hosted& self, NodeId id);
  void attach(Connection& conn, Peer& peer, std::uint64_t incarnation);
  void settle(Connection& conn);
  void detach(Connection& conn);
  void rename_peer(Connection& conn, NodeId id);
  void flush_peers();
  void mark(Peer& peer);
  void dial(Peer& peer);
  void dial_next(Peer& peer);
  void on_connected(Connection& conn);
  void back_off(Peer& peer);
  void pass_over(Peer& peer);
  bool is_missed(const Peer& peer) const;
  void dial_failed(Peer& peer, TcpReason reason, bool refused);
  void lose(NodeId id, const std::string& why);
  std::string why_lost(const Peer& peer, Instant now);
  void housekeep(Instant now);
  void forgive_own_pause(Instant now);
  void housekeep_by(Instant at) { next_housekeeping_ = std::min(next_housekeeping_, at); }

  const Clock& clock_;
  const TcpOptions options_;
  std::uint64_t incarnation_;
  Random random_;
  EventLoop loop_;  // Outlives the watches below.
  std::vector<std::unique_ptr<Hosted>> hosted_;
  std::map<NodeId, std::string> addresses_;
  std::map<PeerKey, std::shared_ptr<Peer>> peers_;  // A renamed peer has two entries.
  std::vector<std::unique_ptr<WatchedListener>> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> hot_;
  std::vector<Peer*> dirty_;
  std::deque<LocalMail> local_mail_;
  std::size_t strangers_ = 0;
  bool any_closed_ = false;
  bool progress_ = false;  // Something happened in this pass.
  unsigned passes_ = 0;
  Instant next_housekeeping_{};
  std::uint64_t frames_dropped_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t calls_taken_ = 0;
  std::uint64_t sent_bytes_ = 0;
  LogLimit refusals_;
  LogLimit strays_;  // Refused too, but they know the secret: of another cluster, or elsewhere on ours.
  LogLimit losses_;
  const std::function<bool()>* done_ = nullptr;  // Of run_until().
  StandIn stand_in_{[this](const StandIn::GoOn& go_on) { stand_in(go_on); }, [this] { loop_.wake(); }};
};

}  // namespace thalweg
