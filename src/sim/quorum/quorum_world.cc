#include "sim/quorum/quorum_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/hash/hash.h"
#include "sim/trace_line.h"

namespace thalweg::sim {

QuorumWorld::QuorumWorld(const QuorumPlan& plan, Trace trace)
    : plan_(plan),
      trace_(std::move(trace)),
      network_(plan_.network, findings_),
      random_(Random(plan.seed).split(41)),
      clocks_(Random(plan.seed).split(42)),
      lives_(plan.servers, 0) {
  std::vector<std::uint32_t> numbers(plan.servers);
  std::iota(numbers.begin(), numbers.end(), 0u);
  ring_ = HashRing(numbers);
  processes_.resize(std::size_t{plan.servers} + plan.clients);
  for (Process& process : processes_) {
    if (plan.clock_begin_max == Duration{}) continue;
    process.clock = NodeClock(scaled(plan.clock_begin_max, clocks_.unit()),
                              1 + plan.clock_rate_off * (2 * clocks_.unit() - 1));
  }
  for (std::uint32_t s = 0; s < plan.servers; ++s) {
    processes_[s].id = server_node(s);
    stores_.push_back(
        std::make_unique<quorum::VersionStore>(ring_, s, plan.replicas, 0, quorum::StoreLimits{plan.hints}));
    start_server(s);
  }
  for (std::uint32_t c = 0; c < plan.clients; ++c) add_client(c);
}

void QuorumWorld::start_server(std::uint32_t server) {
  quorum::ServerOptions options = plan_.server;
  options.boot = ++boots_;
  processes_[server].server = std::make_unique<quorum::Server>(options, *stores_[server]);
  processes_[server].armed = kNever;
  after_turn(server);
}

void QuorumWorld::add_client(std::uint32_t client) {
  quorum::ClientOptions options;
  const bool old_ring = clocks_.chance(plan_.old_ring_chance);
  const std::uint32_t known = old_ring ? plan_.servers - 1 : plan_.servers;
  for (std::uint32_t s = 0; s < known; ++s) options.servers.push_back(s);
  options.replicas = plan_.replicas;
  options.ring_epoch = old_ring ? 0 : plan_.server.ring_epoch;
  options.deadline = 8 * plan_.server.deadline;
  options.away_for = plan_.away_for;
  options.try_timeout = plan_.server.deadline + plan_.server.deadline / 2;
  Process& process = processes_[plan_.servers + client];
  process.id = worker_node(client);
  process.client = std::make_unique<quorum::Client>(options);
}

void QuorumWorld::at(Instant when, std::function<void()> action) {
  queue_.push(when, {Event::Kind::kAction, actions_.put(std::move(action))});
}

bool QuorumWorld::step() {
  if (queue_.empty() || !findings_.none()) return false;
  now_ = queue_.next_at();
  const Event event = queue_.pop();
  switch (event.kind) {
    case Event::Kind::kFrame:
      deliver(event.place);
      break;
    case Event::Kind::kTimer:
      on_timer(event.place);
      break;
    case Event::Kind::kAction:
      actions_.take(event.place)();
      break;
    default:
      break;
  }
  return true;
}

void QuorumWorld::turn(std::uint32_t client,
                       const std::function<void(quorum::Client&, Instant, Transport&)>& act) {
  const std::uint32_t place = plan_.servers + client;
  Outgoing out(*this, place);
  act(*processes_[place].client, processes_[place].clock.local(now_), out);
  after_turn(place);
}

void QuorumWorld::send(std::uint32_t from, NodeId to, Frame frame) {
  const std::uint32_t place = place_of(to);
  arrivals_.clear();
  const Fate fate = network_.send(now_, {from, place}, std::move(frame), false, arrivals_);
  // NOLINTNEXTLINE(bugprone-use-after-move): its head is as it was.
  if (trace_ && fate != Fate::kSent) trace_(loss_line(now_, processes_[from].id, to, frame, fate));
  for (Network::Arrival& arrival : arrivals_) {
    queue_.push(now_ + arrival.after,
                {Event::Kind::kFrame, mails_.put({place, processes_[from].id, std::move(arrival.frame),
                                                  std::move(arrival.damaged)})});
  }
}

void QuorumWorld::deliver(std::uint32_t slot) {
  Process& process = processes_[mails_[slot].to];
  if (process.node() != nullptr && now_ < process.paused_until)
    return queue_.push(process.paused_until, {Event::Kind::kFrame, slot});
  Mail mail = mails_.take(slot);
  if (process.node() == nullptr) return;
  if (!mail.damaged.empty()) {
    auto frame = network_.read_damaged(mail.damaged);
    if (!frame) return;
    mail.frame = std::move(*frame);
  }
  record(process, &mail);
  Outgoing out(*this, mail.to);
  process.node()->on_frame(process.clock.local(now_), mail.from, std::move(mail.frame), out);
  after_turn(mail.to);
}

void QuorumWorld::on_timer(std::uint32_t place) {
  Process& process = processes_[place];
  if (process.node() == nullptr || process.armed != now_) return;
  process.armed = kNever;
  const Instant local = process.clock.local(now_);
  if (now_ >= process.paused_until && process.node()->next_deadline() <= local) {
    record(process, nullptr);
    Outgoing out(*this, place);
    process.node()->on_time(local, out);
  }
  after_turn(place);
}

void QuorumWorld::after_turn(std::uint32_t place) {
  Process& process = processes_[place];
  if (process.client != nullptr) {
    if (auto result = process.client->take_result()) on_result(place - plan_.servers, *std::move(result));
  }
  const Instant wanted = process.clock.world(process.node()->next_deadline());
  if (wanted == kNever) return;
  const Instant at = std::max({wanted, process.paused_until, now_});
  if (at >= process.armed) return;
  process.armed = at;
  queue_.push(at, {Event::Kind::kTimer, place});
}

void QuorumWorld::record(const Process& process, const Mail* mail) {
  ++events_;
  const auto mix = [&](std::uint64_t value) { trace_hash_ = splitmix(trace_hash_ ^ value); };
  mix(static_cast<std::uint64_t>(now_.ns));
  mix(std::uint64_t{process.id.index} << 8 | static_cast<std::uint64_t>(process.id.role));
  if (mail == nullptr) return;
  const auto header = encode_header(mail->frame);  // Its checksum covers the payload.
  mix(hash64(header.data(), header.size()));
  if (!trace_) return;
  const auto message = quorum::decode_message(mail->frame.first);
  const std::string what = message && mail->frame.head.code == Code::kOk
                               ? fmt::format(" {} of key {} #{:x}", quorum::kind_name(message->kind),
                                             message->key, message->number)
                               : "";
  trace_(arrival_line(now_, mail->from, process.id, mail->frame) + what);
}

void QuorumWorld::note(std::string_view what) {
  if (trace_) trace_(note_line(now_, what));
}

void QuorumWorld::count(const quorum::ServerCounts& counts) {
  served_.puts += counts.puts;
  served_.gets += counts.gets;
  served_.failed += counts.failed;
  served_.refused += counts.refused;
  served_.hints_kept += counts.hints_kept;
  served_.hints_delivered += counts.hints_delivered;
  served_.repairs += counts.repairs;
  served_.synced += counts.synced;
  served_.restored += counts.restored;
  served_.redirected += counts.redirected;
}

void QuorumWorld::count_living() {
  for (const Process& process : processes_) {
    if (process.server != nullptr) count(process.server->counts());
  }
}

}  // namespace thalweg::sim
