#include "sim/cluster/cluster.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/check.h"
#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

// A kept node's sign of life arrives when the last one is this long ago.
constexpr Duration kSilenceMax = std::chrono::milliseconds(1100);

// As threads might come to it.
class LastPartFirst final : public SideBySide {
 public:
  std::size_t width() const override { return 2; }
  void run(std::size_t count, const std::function<void(std::size_t)>& part) override {
    while (count > 0) part(--count);
  }
};

}  // namespace

// As the scheduler's driver does between its turns.
void Cluster::complete_later(const TakenCheckpoint& taken) {
  at(now_, [this, taken] {
    by_driver(0, [&](Process& process, Instant local, Transport&) {
      const Status status = programs_.complete_checkpoint(taken);
      process.scheduler->complete_checkpoint(local, taken.number, status, false);
    });
  });
}

std::uint32_t Cluster::start_server() {
  const std::string name = fmt::format("process-{}", births_);
  ServerOptions options{{.name = name, .schedulers = scheduler_addresses(), .patience = plan_.timeout},
                        {},
                        0,
                        programs_.store_cut,
                        programs_.cut_piece_bytes};
  options.copy_piece_bytes = 1 + plan_.seed % 300;
  if (births_ % 2 == 1) options.threads = std::make_shared<LastPartFirst>();
  auto server = std::make_unique<Server>(std::move(options));
  Server* raw = server.get();
  const std::uint32_t place =
      add({Role::kServer, wire::kFirstTemporary + births_++}, std::move(server), plan_.server_turn);
  Process& process = *processes_[place];
  process.server = raw;
  process.name = name;
  process.kept = plan_.spares_core;
  return place;
}

std::uint32_t Cluster::start_worker(Duration turn, bool observer) {
  auto program = observer ? programs_.observer : programs_.shard;
  const std::string name = fmt::format("process-{}", births_);
  cluster::MemberOptions member;
  member.name = name;
  member.machine = fmt::format("machine-{}", births_ % plan_.machines);
  member.observer = observer;
  member.patience = plan_.timeout;
  if (!observer) member.schedulers = scheduler_addresses();
  auto worker = std::make_unique<Worker>(WorkerOptions{std::move(member), std::move(program)});
  Worker* raw = worker.get();
  const std::uint32_t place =
      add({Role::kWorker, wire::kFirstTemporary + births_++}, std::move(worker), turn);
  processes_[place]->worker = raw;
  processes_[place]->name = name;
  processes_[place]->observer = observer;
  return place;
}

std::uint32_t Cluster::add(NodeId id, std::unique_ptr<Node> node, Duration turn) {
  const auto place = static_cast<std::uint32_t>(processes_.size());
  auto process = std::make_unique<Process>();
  process->place = place;
  process->id = id;
  process->node = std::move(node);
  process->turn = turn;
  process->armed = now_;
  process->clock = draw_clock();
  process->scheduler_heard = process->clock.local(now_);
  at(process->clock.world(process->scheduler_heard + plan_.timeout),
     [this, place] { give_up_unwelcomed(place); });
  processes_.push_back(std::move(process));
  directory_[id] = place;
  queue_.push(now_, {Event::Kind::kTimer, place});
  return place;
}

NodeClock Cluster::draw_clock() {
  if (plan_.clock_begin_max == Duration{}) return {};
  const double rate = 1 + plan_.clock_rate_off * (2 * clocks_.unit() - 1);
  return {scaled(plan_.clock_begin_max, clocks_.unit()), rate};
}

// What the driver of a node does that has found no scheduler to join. The observer's is the scheduler's.
void Cluster::give_up_unwelcomed(std::uint32_t place) {
  Process& process = *processes_[place];
  const bool welcomed = process.server != nullptr
                            ? process.server->membership().id().has_value()
                            : process.worker == nullptr || process.worker->membership().id().has_value();
  if (welcomed || process.observer || !process.runs()) return;
  process.over = process.gave_up = true;
  process.inbox.clear();
}

bool Cluster::step() {
  if (queue_.empty() || !findings_.none()) return false;
  now_ = queue_.next_at();
  const Event event = queue_.pop();
  switch (event.kind) {
    case Event::Kind::kFrame:
      deliver(event.place);
      break;
    case Event::Kind::kLink:
      carry(event.place);
      break;
    case Event::Kind::kInbox:
      read_inbox(event.place);
      break;
    case Event::Kind::kTimer:
      on_timer(event.place);
      break;
    case Event::Kind::kAction:
      actions_.take(event.place)();
      break;
  }
  return true;
}

void Cluster::deliver(std::uint32_t slot) {
  if (mails_[slot].receiver != nullptr) mails_[slot].to = mails_[slot].receiver->place;
  const std::uint32_t place = mails_[slot].to;
  Process& process = *processes_[place];
  if (!process.runs() || !survives(mails_[slot])) {
    mails_.take(slot);
    return;
  }
  if (now_ >= process.busy_until && process.inbox.empty()) {
    take_frame(process, mails_.take(slot));
    return after_turn(place);
  }
  process.inbox.push_back(slot);
  if (process.inbox_armed) return;
  process.inbox_armed = true;
  queue_.push(std::max(now_, process.busy_until), {Event::Kind::kInbox, place});
}

// Whether what has come is a frame that a node is given.
bool Cluster::survives(Mail& mail) {
  const bool cut_off = mail.connection != kAnyConnection && mail.connection != network_.connection(mail.link);
  if (cut_off || (mail.receiver != nullptr && mail.life != mail.receiver->life)) {
    if (trace_) trace_(loss_line(now_, mail.from, processes_[mail.to]->id, mail.frame, Fate::kCutOff));
    return false;
  }
  if (mail.damaged.empty()) return true;
  auto frame = network_.read_damaged(mail.damaged);
  if (!frame) {
    if (plan_.frame_faults.flip_closes) network_.close(now_, mail.link);
    note([&] {
      return fmt::format("{} refuses a damaged frame of {}", who(processes_[mail.to]->id), who(mail.from));
    });
    return false;
  }
  mail.frame = std::move(*frame);
  return true;
}

void Cluster::read_inbox(std::uint32_t place) {
  Process& process = *processes_[place];
  process.inbox_armed = false;
  if (!process.runs() || process.inbox.empty()) return;
  if (now_ >= process.busy_until) {
    const std::uint32_t slot = process.inbox.front();
    process.inbox.pop_front();
    take_frame(process, mails_.take(slot));
    after_turn(place);
  }
  if (process.inbox.empty()) return;
  process.inbox_armed = true;
  queue_.push(std::max(now_, process.busy_until), {Event::Kind::kInbox, place});
}

void Cluster::take_frame(Process& process, Mail mail) {
  record(process, &mail);
  begin_turn(process);
  const Instant local = process.clock.local(now_);
  if (leads(process) && plan_.judged) patience_.on_heard(local, mail.from);
  if (process.server != nullptr && plan_.judged)
    watch_.on_asked(process.id, *process.server, mail.from, mail.frame.head);
  if (mail.from == kScheduler) process.scheduler_heard = local;
  Outgoing out(*this, process);
  Frame asked;  // Of servers it is compared with what they answer, and of kept schedulers it is noted.
  const bool of_kept = home_ && mail.from == kScheduler;
  if (process.server != nullptr || of_kept) asked = mail.frame;
  if (process.server != nullptr) asked_ = &asked;
  process.node->on_frame(local, mail.from, std::move(mail.frame), out);
  asked_ = nullptr;
  if (of_kept) note_received(process, asked);
  if (leads(process) && plan_.judged) patience_.after_turn(local, *process.scheduler, false);
}

void Cluster::begin_turn(Process& process) {
  const auto since = std::exchange(process.paused_since, std::nullopt);
  if (!since || !leads(process)) return;
  patience_.on_own_pause(process.clock.local(std::min(now_, process.busy_until) - *since));
}

void Cluster::on_timer(std::uint32_t place) {
  Process& process = *processes_[place];
  if (!process.runs() || process.armed != now_) return;
  process.armed = kNever;
  const Instant local = process.clock.local(now_);
  if (now_ >= process.busy_until && process.node->next_deadline() <= local) {
    record(process, nullptr);
    begin_turn(process);
    Outgoing out(*this, process);
    process.node->on_time(local, out);
    begin_computing(process);
    if (leads(process)) {
      if (plan_.judged) patience_.after_turn(local, *process.scheduler, true);
      await_all(process);
    }
  }
  after_turn(place);
}

// At the end of a turn. What is computed takes virtual time, during which the node has turns, and is done at
// the end of that.
void Cluster::begin_computing(Process& process) {
  if (process.kept_scheduler != nullptr) return keep_state(process);
  Outgoing out(*this, process);
  const Instant local = process.clock.local(now_);
  if (programs_.computed_for && !process.observer) return compute_as_told(process);
  if (plan_.compute_max == Duration{} || process.observer) return compute_at_once(*process.node, local, out);
  Computation* work = process.node->take_work();
  if (work == nullptr) return;
  const Duration takes = plan_.compute_min + scaled(plan_.compute_max - plan_.compute_min, computing_.unit());
  at(now_ + takes, [this, work, place = process.place] {
    by_driver(place, [work](Process& computed, Instant its, Transport& to) {
      work->compute();
      computed.node->on_computed(its, to);
    });
  });
}

void Cluster::compute_as_told(Process& process) {
  Computation* work = process.node->take_work();
  if (work == nullptr) return;
  work->compute();
  const Duration takes = programs_.computed_for(now_);
  if (takes <= Duration{}) {
    Outgoing out(*this, process);
    return process.node->on_computed(process.clock.local(now_), out);
  }
  at(now_ + takes, [this, place = process.place] {
    by_driver(place,
              [](Process& computed, Instant its, Transport& to) { computed.node->on_computed(its, to); });
  });
}

void Cluster::after_turn(std::uint32_t place) {
  Process& process = *processes_[place];
  if (process.busy_until < now_ + process.turn) process.busy_until = now_ + process.turn;
  std::uint32_t map_epoch = 0;
  if (process.server != nullptr) {
    if (plan_.judged) watch_.after_turn(process.id, *process.server);
    map_epoch = process.server->map().epoch;
  } else if (process.worker != nullptr) {
    map_epoch = process.worker->map().epoch;
  }
  if (map_epoch < process.map_epoch)
    findings_.add(Checker::kMaps, fmt::format("{}: map epoch fell to {}", node_name(process.id), map_epoch));
  process.map_epoch = map_epoch;
  if (process.node->over() && !process.stopped_at) process.stopped_at = now_;
  if (process.node->finished()) {
    process.over = true;
    process.inbox.clear();
    if (process.scheduler == nullptr) return;
    if (replaced(process)) return on_replaced(process);
    if (comes_again()) return;
    gone_ = true;
    return tell_all_of_scheduler(now_ + limits::kPeerGrace);
  }
  const Instant wanted = process.clock.world(process.node->next_deadline());
  const Instant deadline = std::max({wanted, process.busy_until, now_});
  if (wanted == kNever || deadline >= process.armed) return;
  process.armed = deadline;
  queue_.push(deadline, {Event::Kind::kTimer, place});
}

void Cluster::send(Process& from, NodeId to, Frame frame) {
  if (from.server != nullptr && programs_.on_answer) programs_.on_answer(from.id, asked_, frame);
  if (plan_.judged) watch_send(from, to, frame);
  const Process* const receiver = receiver_of(from, to);
  if (receiver == nullptr || !receiver->runs()) {
    if (trace_) trace_(loss_line(now_, from.id, to, frame, Fate::kNobody));
    return;
  }
  const Link link{from.place, receiver->place};
  const bool sign_of_life =
      from.kept && to == kScheduler && (frame.head.op == Op::kHeartbeat || frame.head.op == Op::kJoin);
  arrivals_.clear();
  if (room_ && room_->join(link)) return send_in_room(from, link, std::move(frame));
  const Process& other = *processes_[link.to];
  const bool looks_on = from.observer ? other.server != nullptr : other.observer && from.server != nullptr;
  const bool doubts = from.scheduler != nullptr && other.kept && frame.head.op == Op::kHeartbeat &&
                      (frame.head.flags & wire::kInDoubt) != 0;
  const bool must_arrive =
      (sign_of_life && now_ - from.heard > kSilenceMax) || doubts || (looks_on && !plan_.judged);
  const Fate fate = network_.send(now_, link, std::move(frame), must_arrive, arrivals_);
  // NOLINTNEXTLINE(bugprone-use-after-move): its head is as it was.
  if (trace_ && fate != Fate::kSent) trace_(loss_line(now_, from.id, to, frame, fate));
  const std::uint32_t connection = must_arrive ? kAnyConnection : network_.connection(link);
  for (Network::Arrival& arrival : arrivals_) {
    const bool soon = arrival.after < std::chrono::milliseconds(100) && arrival.damaged.empty();
    if (must_arrive || (sign_of_life && soon && !plan_.frame_faults.flip_closes)) from.heard = now_;
    const std::uint32_t slot = mails_.put_empty();
    Mail& mail = mails_[slot];
    mail.to = link.to;
    mail.receiver = receiver;
    mail.life = receiver->life;
    mail.from = from.id;
    mail.frame = std::move(arrival.frame);
    mail.damaged = std::move(arrival.damaged);
    mail.link = link;
    mail.connection = connection;
    queue_.push(now_ + arrival.after, {Event::Kind::kFrame, slot});
  }
}

// Who has that name, and where schedulers come and go, a connection with the sender.
const Process* Cluster::receiver_of(const Process& from, NodeId to) const {
  if (to == kScheduler && from.follows != nullptr) return from.follows;
  const auto found = directory_.find(to);
  if (found == directory_.end()) return nullptr;
  const Process* const process = processes_[found->second].get();
  return from.scheduler == nullptr || connected(from, *process) ? process : nullptr;
}

void Cluster::watch_send(const Process& from, NodeId to, const Frame& frame) {
  if (from.server != nullptr) watch_.on_answer(from.id, *from.server, to, asked_, frame);
  if (from.worker != nullptr && frame.head.op == Op::kPushReply)
    watch_.on_combiner_answer(from.id, frame.head);
  if (from.scheduler == nullptr) return;
  if (former(from)) return watch_former(from, frame);
  patience_.on_sent(from.clock.local(now_), to, frame);
  if (home_) watch_kept(frame);
}

void Cluster::record(const Process& process, const Mail* mail) {
  ++events_;
  while (!at_events_.empty() && at_events_.front().first <= events_) {
    at(now_, std::move(at_events_.front().second));
    at_events_.pop_front();
  }
  std::uint64_t hash = splitmix(trace_hash_ ^ static_cast<std::uint64_t>(now_.ns));
  const auto mix = [&](std::uint64_t value) { hash = splitmix(hash ^ value); };
  const auto number = [](NodeId id) {
    return std::uint64_t{id.index} << 8 | static_cast<std::uint64_t>(id.role);
  };
  mix(number(process.id));
  if (mail != nullptr) {
    const auto header = encode_header(mail->frame);  // Its checksum covers the payload.
    mix(number(mail->from));
    mix(XXH3_64bits(header.data(), header.size()));
  }
  trace_hash_ = hash;
  if (trace_ && mail != nullptr) trace_(arrival_line(now_, mail->from, process.id, mail->frame));
}

void Cluster::note(std::string_view what) {
  if (trace_) trace_(note_line(now_, what));
}

void Cluster::at(Instant when, std::function<void()> action) {
  queue_.push(when, {Event::Kind::kAction, actions_.put(std::move(action))});
}

void Cluster::at_event(std::uint64_t number, std::function<void()> action) {
  at_events_.emplace_back(number, std::move(action));
}

void Cluster::kill(std::uint32_t place) {
  Process& process = *processes_[place];
  note([&] { return "kill " + who(process.id); });
  if (process.worker != nullptr) {
    process.node.reset();
  } else {
    process.corpse = std::move(process.node);
  }
  if (leads(process)) gone_ = true;
  process.server = nullptr;
  process.worker = nullptr;
  process.inbox.clear();
}

void Cluster::pause(std::uint32_t place, Instant until) {
  Process& process = *processes_[place];
  note([&] {
    return fmt::format("pause {} until {:.6f}", who(process.id), static_cast<double>(until.ns) * 1e-9);
  });
  if (!process.paused_since) process.paused_since = now_;
  process.busy_until = std::max(process.busy_until, until);
}

// A turn that a node's driver asks for, which is stopped when its node is.
void Cluster::by_driver(std::uint32_t place, std::function<void(Process&, Instant, Transport&)> turn) {
  Process& process = *processes_[place];
  if (!process.runs()) return;
  if (process.paused_since && now_ < process.busy_until)
    return at(process.busy_until, [this, place, turn = std::move(turn)] { by_driver(place, turn); });
  begin_turn(process);
  Outgoing out(*this, process);
  const Instant local = process.clock.local(now_);
  turn(process, local, out);
  if (leads(process)) patience_.after_turn(local, *process.scheduler, false);
  after_turn(place);
}

void Cluster::tell_lost(std::uint32_t place, NodeId peer) {
  by_driver(place, [this, lost = directory_.at(peer)](Process& process, Instant local, Transport& out) {
    const NodeId id = processes_[lost]->id;
    note([&] { return fmt::format("{} is told that {} is lost", who(process.id), who(id)); });
    process.told_of_scheduler = process.told_of_scheduler || id == kScheduler;
    if (leads(process)) patience_.on_given_up(id);
    process.node->on_peer_lost(local, id, out);
  });
}

void Cluster::tell_dead(std::uint32_t place) {
  by_driver(0, [this, place](Process& process, Instant, Transport& out) {
    const Process& dead = *processes_[place];
    THALWEG_CHECK(dead.node == nullptr, "only the killed are dead");
    note([&] { return fmt::format("the scheduler is told that {} {}", who(dead.id), kKilled); });
    patience_.on_dead(dead.id);
    scheduler_turn(process, out, [&](Scheduler& scheduler, Instant at, Transport& gate) {
      scheduler.on_node_dead(at, dead.name, kKilled, gate);
    });
  });
}

void Cluster::end_faults() {
  note("faults end");
  network_.heal();
  for (std::uint32_t p = 0; p < processes_.size(); ++p) {
    Process& process = *processes_[p];
    if (!process.runs()) continue;
    process.busy_until = std::min(process.busy_until, now_ + process.turn);
    if (!process.inbox.empty()) queue_.push(now_, {Event::Kind::kInbox, p});
    process.armed = now_;
    queue_.push(now_, {Event::Kind::kTimer, p});
  }
}

bool Cluster::over() const {
  return gone_ && std::none_of(processes_.begin(), processes_.end(), [](const auto& p) { return p->runs(); });
}

}  // namespace thalweg::sim
