#include "net/tcp/tcp.h"

#include <algorithm>
#include <random>

#include "base/check.h"
#include "net/tcp/tcp_impl.h"

namespace thalweg {
namespace {

// Passes between two looks at connections that are quiet.
constexpr unsigned kPassesPerPoll = 16;
// A stop flag is noticed within this.
constexpr Duration kSleepMax = std::chrono::milliseconds(20);
constexpr Duration kSleepMaxWithoutStop = std::chrono::seconds(1);
// A frame so large leaves before its sender's turn ends, which may be long: its peer can begin with it.
constexpr std::size_t kSentAtOnce = std::size_t{16} << 10;

}  // namespace

// A node's sends during one turn.
class Tcp::Impl::Outbox final : public Transport {
 public:
  Outbox(Impl& driver, Hosted& self) : driver_(driver), self_(self) {}
  void send(NodeId to, Frame frame) override { driver_.route(self_, to, std::move(frame)); }
  void introduce(NodeId node, std::string_view address) override {
    if (Status status = driver_.introduce(node, address); !status.ok()) driver_.notice(status.message());
  }
  void rename_self(NodeId id, std::uint64_t cluster) override { driver_.rename(self_, id, cluster); }

 private:
  Impl& driver_;
  Hosted& self_;
};

Tcp::Impl::Impl(const Clock& clock, TcpOptions options)
    : clock_(clock),
      options_(std::move(options)),
      incarnation_(0),
      random_(0),
      refusals_(TcpEvent::Kind::kRefused, options_.events_max),
      strays_(TcpEvent::Kind::kRefused, options_.events_max, TcpCause::kCluster),
      losses_(TcpEvent::Kind::kLost, options_.events_max) {
  std::random_device device;
  while (incarnation_ == 0) incarnation_ = (std::uint64_t{device()} << 32) | device();
  random_ = Random(incarnation_);
  next_housekeeping_ = clock_.now();
}

Tcp::Impl::~Impl() {
  for (const auto& conn : connections_) abandon(*conn);
  bury();
  for (const auto& watched : listeners_) watched->watch.reset();
  refusals_.flush(options_.tell);
  strays_.flush(options_.tell);
  losses_.flush(options_.tell);
}

void Tcp::Impl::notice(std::string line) const {
  TcpEvent event;
  event.reason.why = std::move(line);
  options_.tell(event);
}

void Tcp::Impl::tell_refusal(const TcpEvent& event) {
  ++refused_;
  const TcpCause cause = event.reason.cause;
  const bool strays = cause == TcpCause::kCluster || cause == TcpCause::kPlace;
  (strays ? strays_ : refusals_).say(clock_.now(), event, options_.tell);
}

bool Tcp::Impl::Hosted::goes_by(NodeId name) const {
  return id == name || std::ranges::find(former_ids, name) != former_ids.end();
}

void Tcp::Impl::add(NodeId id, Node& node, std::uint64_t cluster) {
  THALWEG_CHECK(find_hosted(id) == nullptr, "a node id is added once");
  hosted_.push_back(std::make_unique<Hosted>(Hosted{id, {}, &node, cluster}));
}

Status Tcp::Impl::introduce(NodeId node, std::string_view address) {
  const auto parsed = parse_host_port(address);
  if (!parsed) return parsed.status();
  std::string& known = addresses_[node];
  if (known == address) return ok_status();
  known = std::string(address);
  for (auto& [key, peer] : peers_) {
    if (key.second != node) continue;
    for (const auto& conn : connections_) {
      if (!conn->closed && conn->peer == peer.get() && conn->dialled && conn->state != State::kOpen)
        abandon(*conn);
    }
    peer->dialling = peer->by_tcp = false;
    ++peer->dials;
    peer->candidates.clear();
    peer->moved = peer->conn != nullptr;
    peer->next_dial = Instant{};
    mark(*peer);
  }
  return ok_status();
}

Tcp::Impl::Hosted* Tcp::Impl::find_hosted(NodeId id) {
  for (const auto& hosted : hosted_) {
    if (hosted->goes_by(id)) return hosted.get();
  }
  return nullptr;
}

template <class Act>
void Tcp::Impl::take_turn(Hosted& hosted, const Act& act) {
  Outbox out(*this, hosted);
  act(clock_.now(), out);
  progress_ = true;
  hosted.finished = hosted.node->finished();
}

void Tcp::Impl::turn(NodeId id, const std::function<void(Instant, Transport&)>& act) {
  Hosted* hosted = find_hosted(id);
  THALWEG_CHECK(hosted != nullptr, "a turn belongs to a node of this driver");
  take_turn(*hosted, act);
  flush_peers();
}

void Tcp::Impl::deliver(Hosted& to, NodeId from, Frame frame) {
  if (to.finished) return;
  take_turn(to, [&](Instant now, Transport& out) { to.node->on_frame(now, from, std::move(frame), out); });
}

void Tcp::Impl::deliver_loss(NodeId id) {
  for (const auto& hosted : hosted_) {
    if (hosted->finished) continue;
    take_turn(*hosted, [&](Instant now, Transport& out) { hosted->node->on_peer_lost(now, id, out); });
  }
}

void Tcp::Impl::route(Hosted& from, NodeId to, Frame frame) {
  if (frame.head.cluster == 0) frame.head.cluster = from.cluster;
  if (Hosted* here = find_hosted(to)) {
    local_mail_.push_back({here, from.id, std::move(frame)});
    return;
  }
  Peer& peer = peer_of(from, to);
  if (peer.queue.bytes() + frame.size_bytes() > options_.send_queue_bytes_max) {
    ++frames_dropped_;
    return;
  }
  const bool at_once = frame.size_bytes() >= kSentAtOnce;
  peer.queue.push(std::move(frame));
  set_paused(peer);
  if (at_once && peer.conn != nullptr) write(*peer.conn);
  mark(peer);
}

void Tcp::Impl::rename(Hosted& hosted, NodeId id, std::uint64_t cluster) {
  if (hosted.id != id) hosted.former_ids.push_back(hosted.id);
  hosted.id = id;
  hosted.cluster = cluster;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& conn = *connections_[i];
    if (conn.closed || conn.state != State::kOpen) continue;
    if (conn.peer->id == id) {
      refuse_namesake(conn);
    } else if (conn.peer->self == &hosted) {
      send_hello(conn, hosted, conn.peer->id);
      mark(*conn.peer);
    }
  }
}

bool Tcp::Impl::run_due_nodes() {
  bool ran = false;
  for (std::size_t i = 0; i < hosted_.size(); ++i) {
    Hosted& hosted = *hosted_[i];
    if (hosted.finished || hosted.node->next_deadline() > clock_.now()) continue;
    take_turn(hosted, [&](Instant now, Transport& out) { hosted.node->on_time(now, out); });
    ran = true;
    if (Computation* work = hosted.node->take_work()) hosted.work = work;
  }
  return ran;
}

// Whether there was something to compute.
bool Tcp::Impl::compute_next() {
  const auto found = std::ranges::find_if(hosted_, [](const auto& one) { return one->work != nullptr; });
  if (found == hosted_.end()) return false;
  Hosted& hosted = **found;
  stand_in_.compute(*std::exchange(hosted.work, nullptr));
  take_turn(hosted, [&](Instant now, Transport& out) { hosted.node->on_computed(now, out); });
  flush_peers();
  return true;
}

// What run_until() does, while its own thread computes.
void Tcp::Impl::stand_in(const StandIn::GoOn& go_on) {
  while (go_on() && !told_to_stop()) {
    if (!pass()) sleep(kNever);
    (*done_)();  // Others may wait for it to be asked. The answer is for the other thread to get.
  }
}

void Tcp::Impl::run_local_mail() {
  for (std::size_t count = local_mail_.size(); count > 0; --count) {
    LocalMail mail = std::move(local_mail_.front());
    local_mail_.pop_front();
    deliver(*mail.to, mail.from, std::move(mail.frame));
  }
}

// Whether anything happened.
bool Tcp::Impl::pass() {
  progress_ = false;
  const bool ran = run_due_nodes();
  run_local_mail();
  for (std::size_t i = 0; i < hot_.size();) {
    Connection& conn = *hot_[i];
    const bool got = read_some(conn);
    progress_ = progress_ || got;
    if (got) flush_peers();
    if (conn.hot) {
      ++i;
    } else {
      hot_[i] = hot_.back();
      hot_.pop_back();
    }
  }
  if (ran || !progress_ || ++passes_ % kPassesPerPoll == 0) progress_ = loop_.poll() || progress_;
  if (const Instant now = clock_.now(); now >= next_housekeeping_) housekeep(now);
  flush_peers();
  bury();
  return progress_;
}

void Tcp::Impl::sleep(Instant until) {
  if (!local_mail_.empty()) return;
  for (Connection* conn : hot_) {
    conn->hot = false;
    conn->watch->want_read();
  }
  hot_.clear();
  until = std::min(until, next_housekeeping_);
  for (const auto& hosted : hosted_) {
    if (!hosted->finished) until = std::min(until, hosted->node->next_deadline());
  }
  const Duration most = options_.stop != nullptr ? kSleepMax : kSleepMaxWithoutStop;
  const Instant now = clock_.now();
  if (until > now) loop_.wait(until < now + most ? until - now : most);
}

bool Tcp::Impl::run_until(const std::function<bool()>& done, Instant deadline) {
  done_ = &done;
  Instant busy_at = clock_.now();
  for (bool progress = true;;) {
    if (progress && done()) return true;
    if (told_to_stop()) return false;
    progress = pass();
    progress = compute_next() || progress;
    if (progress) {
      if (deadline != kNever && clock_.now() >= deadline) return done();
      busy_at = clock_.now();
      continue;
    }
    const Instant now = clock_.now();
    if (now >= deadline) return done();
    if (now - busy_at < options_.spin) continue;
    sleep(deadline);
    progress = true;  // A callback may have run in the sleep.
    busy_at = clock_.now();
  }
}

bool Tcp::Impl::drained() const {
  return std::ranges::all_of(peers_, [](const auto& entry) {
    const Peer& peer = *entry.second;
    const bool on_its_way = peer.conn != nullptr || peer.dialling;
    return !on_its_way ||
           (peer.queue.empty() &&
            (peer.conn == nullptr || (peer.conn->control.empty() && peer.conn->greeting.empty())));
  });
}

TcpStats Tcp::Impl::stats() const {
  TcpStats stats;
  stats.connections = connections_.size();
  stats.local = static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const auto& conn) { return conn->local; }));
  stats.strangers = strangers_;
  stats.calls_taken = calls_taken_;
  for (const auto& [key, peer] : peers_) {
    if (key.second == peer->id) stats.queued_bytes += peer->queue.bytes();
  }
  stats.frames_dropped = frames_dropped_;
  stats.refused = refused_;
  stats.sent_bytes = sent_bytes_;
  return stats;
}

Tcp::Tcp(const Clock& clock, TcpOptions options) : impl_(std::make_unique<Impl>(clock, std::move(options))) {}
Tcp::~Tcp() = default;
Result<std::uint16_t> Tcp::listen(std::string_view address) { return impl_->listen(address); }
void Tcp::add(NodeId id, Node& node, std::uint64_t cluster) { impl_->add(id, node, cluster); }
Status Tcp::introduce(NodeId node, std::string_view address) { return impl_->introduce(node, address); }
void Tcp::turn(NodeId id, const std::function<void(Instant, Transport&)>& act) { impl_->turn(id, act); }
bool Tcp::run_until(const std::function<bool()>& done, Instant deadline) {
  return impl_->run_until(done, deadline);
}
bool Tcp::flush(Instant deadline) {
  return impl_->run_until([this] { return impl_->drained(); }, deadline);
}
void Tcp::wake() { impl_->wake(); }
Instant Tcp::now() const { return impl_->now(); }
TcpStats Tcp::stats() const { return impl_->stats(); }

}  // namespace thalweg
