#include "sim/cluster.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/check.h"
#include "placement/placement.h"
#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

// A kept node's sign of life arrives when the last one is this long ago.
constexpr Duration kSilenceMax = std::chrono::milliseconds(1100);

}  // namespace

class Cluster::Outgoing final : public Transport {
 public:
  Outgoing(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}
  void send(NodeId to, Frame frame) override { cluster_.send(process_, to, std::move(frame)); }
  void introduce(NodeId, std::string_view) override {}
  void rename_self(NodeId id, std::uint64_t) override {
    cluster_.directory_[id] = process_.place;
    process_.id = id;
  }

 private:
  Cluster& cluster_;
  Process& process_;
};

Cluster::Cluster(const Plan& plan, Trace trace, Programs programs)
    : plan_(plan),
      workload_(plan),
      work_(workload_, findings_, [this] { return now_; }),
      watch_(workload_, findings_),
      network_(plan, findings_),
      trace_(std::move(trace)),
      programs_(programs.shard ? std::move(programs) : Programs{work_.program(), work_.observer()}) {
  start_scheduler();
  for (std::uint32_t s = 0; s < plan.servers; ++s) {
    auto server = std::make_unique<Server>(ServerOptions{{}, fmt::format("host-{}", s), {}});
    Server* raw = server.get();
    Process& process = *processes_[add({Role::kServer, wire::kFirstTemporary + births_++}, std::move(server),
                                       plan.server_turn)];
    process.server = raw;
    process.kept = true;
  }
  for (std::uint32_t w = 0; w < plan.workers; ++w) {
    const std::uint32_t place = start_worker(plan.worker_turn[w]);
    processes_[place]->kept = w == 0;
  }
  processes_[start_worker({}, true)]->kept = true;
}

Cluster::~Cluster() = default;

void Cluster::start_scheduler() {
  SchedulerOptions options;
  options.servers = plan_.servers;
  options.workers = plan_.workers;
  options.shards = plan_.shards;
  options.consistency = plan_.consistency;
  options.combine = plan_.combine;
  options.tables = plan_.tables;
  options.timeout = plan_.timeout;
  options.suspect_after = plan_.suspect_after;
  options.observer = worker_node(wire::kFirstTemporary + plan_.servers + plan_.workers);  // Born last.
  options.on_report = [this](ShardId shard, Step number, std::string_view text) {
    work_.on_report(shard, number, text);
  };
  auto scheduler = std::make_unique<Scheduler>(std::move(options));
  Scheduler* raw = scheduler.get();
  processes_[add(kScheduler, std::move(scheduler), {})]->scheduler = raw;
}

std::uint32_t Cluster::start_worker(Duration turn, bool observer) {
  auto program = observer ? programs_.observer : programs_.shard;
  auto worker = std::make_unique<Worker>(WorkerOptions{
      {}, fmt::format("machine-{}", births_ % plan_.machines), {}, observer, std::move(program)});
  Worker* raw = worker.get();
  const std::uint32_t place =
      add({Role::kWorker, wire::kFirstTemporary + births_++}, std::move(worker), turn);
  processes_[place]->worker = raw;
  return place;
}

std::uint32_t Cluster::add(NodeId id, std::unique_ptr<Node> node, Duration turn) {
  const auto place = static_cast<std::uint32_t>(processes_.size());
  THALWEG_CHECK(place < kProcessesMax, "faults leave room for every process");
  auto process = std::make_unique<Process>();
  process->place = place;
  process->id = id;
  process->node = std::move(node);
  process->turn = turn;
  process->armed = now_;
  processes_.push_back(std::move(process));
  directory_[id] = place;
  queue_.push(now_, {Event::Kind::kTimer, place});
  return place;
}

bool Cluster::step() {
  if (queue_.empty() || !findings_.none()) return false;
  now_ = queue_.next_at();
  const Event event = queue_.pop();
  switch (event.kind) {
    case Event::Kind::kFrame:
      deliver(event.place);
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
  Mail mail = mails_.take(slot);
  const std::uint32_t place = mail.to;
  Process& process = *processes_[place];
  if (!process.runs()) return;
  if (now_ >= process.busy_until && process.inbox.empty()) {
    take_frame(process, std::move(mail));
    return after_turn(place);
  }
  process.inbox.push_back(mails_.put(std::move(mail)));
  if (process.inbox_armed) return;
  process.inbox_armed = true;
  queue_.push(std::max(now_, process.busy_until), {Event::Kind::kInbox, place});
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
  Outgoing out(*this, process);
  const Frame asked = mail.frame;
  asked_ = &asked;
  process.node->on_frame(now_, mail.from, std::move(mail.frame), out);
  asked_ = nullptr;
}

void Cluster::on_timer(std::uint32_t place) {
  Process& process = *processes_[place];
  if (!process.runs() || process.armed != now_) return;
  process.armed = kNever;
  if (now_ >= process.busy_until && process.node->next_deadline() <= now_) {
    record(process, nullptr);
    Outgoing out(*this, process);
    process.node->on_time(now_, out);
  }
  after_turn(place);
}

void Cluster::after_turn(std::uint32_t place) {
  Process& process = *processes_[place];
  if (process.busy_until < now_ + process.turn) process.busy_until = now_ + process.turn;
  std::uint32_t map_epoch = 0;
  if (process.server != nullptr) {
    watch_.after_turn(process.id, *process.server);
    map_epoch = process.server->map().epoch;
  } else if (process.worker != nullptr) {
    map_epoch = process.worker->map().epoch;
  }
  if (map_epoch < process.map_epoch)
    findings_.add(fmt::format("{}: map epoch fell to {}", node_name(process.id), map_epoch));
  process.map_epoch = map_epoch;
  if (process.node->finished()) {
    process.over = true;
    process.inbox.clear();
    if (process.scheduler == nullptr) return;
    gone_ = true;
    at(now_ + limits::kPeerGrace, [this] {
      for (std::uint32_t p = 1; p < processes_.size(); ++p) tell_lost(p, kScheduler);
    });
    return;
  }
  const Instant deadline = std::max({process.node->next_deadline(), process.busy_until, now_});
  if (process.node->next_deadline() == kNever || deadline >= process.armed) return;
  process.armed = deadline;
  queue_.push(deadline, {Event::Kind::kTimer, place});
}

void Cluster::send(Process& from, NodeId to, Frame frame) {
  if (from.server != nullptr) watch_.on_answer(from.id, *from.server, to, asked_, frame);
  if (from.worker != nullptr && frame.head.op == Op::kPushReply)
    watch_.on_combiner_answer(from.id, frame.head);
  const auto found = directory_.find(to);
  if (found == directory_.end() || !processes_[found->second]->runs()) {
    if (trace_) trace_(loss_line(now_, from.id, to, frame, Fate::kNobody));
    return;
  }
  const Link link{from.place, found->second};
  const bool sign_of_life =
      from.kept && to == kScheduler && (frame.head.op == Op::kHeartbeat || frame.head.op == Op::kJoin);
  arrivals_.clear();
  const Fate fate =
      network_.send(now_, link, frame, sign_of_life && now_ - from.heard > kSilenceMax, arrivals_);
  if (trace_ && fate != Fate::kSent) trace_(loss_line(now_, from.id, to, frame, fate));
  for (Network::Arrival& arrival : arrivals_) {
    if (sign_of_life && arrival.after < std::chrono::milliseconds(100)) from.heard = now_;
    queue_.push(now_ + arrival.after,
                {Event::Kind::kFrame, mails_.put({link.to, from.id, std::move(arrival.frame)})});
  }
}

void Cluster::record(const Process& process, const Mail* mail) {
  ++events_;
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

void Cluster::kill(std::uint32_t place) {
  Process& process = *processes_[place];
  note("kill " + who(process.id));
  process.node.reset();
  process.server = nullptr;
  process.worker = nullptr;
  process.inbox.clear();
}

void Cluster::pause(std::uint32_t place, Instant until) {
  Process& process = *processes_[place];
  note(fmt::format("pause {} until {:.6f}", who(process.id), static_cast<double>(until.ns) * 1e-9));
  process.busy_until = std::max(process.busy_until, until);
}

void Cluster::tell_lost(std::uint32_t place, NodeId peer) {
  Process& process = *processes_[place];
  if (!process.runs()) return;
  note(fmt::format("{} is told that {} is lost", who(process.id), who(peer)));
  Outgoing out(*this, process);
  process.node->on_peer_lost(now_, peer, out);
  after_turn(place);
}

void Cluster::ask_to_stop() {
  Process& process = *processes_[0];
  if (!process.runs()) return;
  note("the job is asked to stop");
  Outgoing out(*this, process);
  process.scheduler->close(out);
  after_turn(0);
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

Cluster::Contents Cluster::contents(TableId table) const {
  std::map<NodeId, const Server*> servers;
  for (const auto& process : processes_) {
    if (process->server != nullptr) servers[process->id] = process->server;
  }
  Contents all;
  for (const auto& [id, server] : servers) {
    if (table.value >= server->tables().size() || server->tables()[table.value] == nullptr) continue;
    const Table& part = server->tables()[table.value]->table();
    for (std::uint16_t range = 0; range < part.spec().ranges; ++range) {
      if (!server_ranges(part.spec().ranges, id.index, plan_.servers).contains(RangeId{range})) continue;
      part.scan(RangeId{range}, [&](const RowsView& view) {
        all.width = view.width;
        all.keys.insert(all.keys.end(), view.keys.begin(), view.keys.end());
        all.rows.insert(all.rows.end(), view.rows.begin(), view.rows.end());
      });
    }
  }
  return all;
}

}  // namespace thalweg::sim
