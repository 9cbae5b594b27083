// The part of Cluster that runs its scheduler, and another one in its place, with what a disk has kept.
#include <fmt/format.h>

#include <algorithm>

#include "sim/change/scheduler_home.h"

namespace thalweg::sim {
namespace {

// A disk has taken a change after up to so long, and says so after as long again.
constexpr Duration kWriteTakesMax = std::chrono::milliseconds(4);
constexpr char kStatePlace[] = "/state";

}  // namespace

// Both here, where SchedulerHome is whole.
Cluster::Cluster(const Plan& plan, Trace trace, Programs programs)
    : plan_(plan),
      workload_(plan),
      work_(workload_, findings_, [this] { return now_; }),
      watch_(workload_, findings_),
      patience_(plan, findings_),
      network_(plan, findings_),
      trace_(std::move(trace)),
      programs_(std::move(programs)),
      clocks_(Random(plan.seed).split(8)),
      computing_(Random(plan.seed).split(10)) {
  if (plan.room != nullptr) room_.emplace(plan.room, plan.seats);
  if (!programs_.shard) {
    programs_.shard = work_.program();
    programs_.observer = work_.observer();
  }
  start_scheduler();
  for (std::uint32_t s = 0; s < plan.servers; ++s) start_server();
  for (std::uint32_t w = 0; w < plan.workers; ++w) {
    const std::uint32_t place = start_worker(plan.worker_turn[w]);
    processes_[place]->kept = w == 0 && plan.spares_core;
  }
  processes_[start_worker({}, true)]->kept = plan.spares_core;
}

Cluster::~Cluster() = default;

SchedulerOptions Cluster::scheduler_options() {
  SchedulerOptions options;
  options.servers = plan_.servers;
  options.replicas = plan_.replicas;
  options.workers = plan_.workers;
  options.shards = plan_.shards;
  options.consistency = plan_.consistency;
  options.combine = plan_.combine;
  options.tables = plan_.tables;
  options.timeout = plan_.timeout;
  options.suspect_after = plan_.suspect_after;
  options.on_report = [this, life = home_ ? home_->life : 0](ShardId shard, ReportId number,
                                                             std::string_view text) {
    if (home_ && home_->life != life) return;  // Its own process hears of it, which ends.
    if (programs_.on_report) return programs_.on_report(now_, shard, number, text);
    work_.on_report(shard, number, text);
  };
  options.first = programs_.first;
  options.checkpoint = programs_.checkpoint;
  options.on_checkpoint_taken = [this](const TakenCheckpoint& taken) { complete_later(taken); };
  options.kept = home_ != nullptr;
  if (home_) options.before = home_->kept.before;
  return options;
}

void Cluster::start_scheduler() {
  if (plan_.restarts > 0) home_ = std::make_unique<SchedulerHome>(plan_.seed);
  if (plan_.etcd) {
    home_->etcd = std::make_unique<SimEtcd>(
        plan_, findings_,
        SimEtcd::World{[this] { return now_; },
                       [this](Instant when, std::function<void()> action) { at(when, std::move(action)); },
                       [this] { on_etcd_back(); }});
  }
  if (home_) open_state();
  SchedulerOptions options = scheduler_options();
  options.observer = worker_node(wire::kFirstTemporary + plan_.servers + plan_.workers);  // Born last.
  auto scheduler = std::make_unique<Scheduler>(std::move(options));
  Scheduler* const raw = scheduler.get();
  if (!home_) {
    processes_[add(kScheduler, std::move(scheduler), {})]->scheduler = raw;
    return;
  }
  StateStore* const store = home_->way ? static_cast<StateStore*>(home_->way.get()) : home_->store();
  auto kept = std::make_unique<KeptScheduler>(*raw, store, home_->kept);
  KeptScheduler* const node = kept.get();
  Process& process = *processes_[add(kScheduler, std::move(kept), {})];
  process.led = std::move(scheduler);
  process.kept_scheduler = node;
  process.scheduler = raw;
  process.life = home_->life;
  if (!plan_.standby) return;
  lead_by_lease(process);
  stand_by();
}

// What is on the disk, by whoever comes now. At times the disk fails once, then or later.
bool Cluster::open_state() {
  if (plan_.standby) return take_lease();
  SchedulerHome& home = *home_;
  ++home.life;
  if (home.etcd) {
    auto kept = take_lead(*home.etcd, home.number(plan_.seed));
    const Code code = kept.status().code();
    if (!kept) {
      if (code != Code::kTimeout && code != Code::kRetry)
        findings_.add(Checker::kTakeOver, "etcd's state cannot be opened: " + kept.status().message());
      return false;
    }
    home.kept = *std::move(kept);
    return true;
  }
  if (home.random.chance(0.3)) home.disk.fail_operation(home.disk.operations() + 1 + home.random.below(30));
  for (int attempt = 0;; ++attempt) {
    home.log.reset();
    auto log = state::StateLog::open(home.disk, kStatePlace, home.clock);
    Status status = log.status();
    if (log) {
      home.log = *std::move(log);
      auto kept = take_lead(*home.log, home.number(plan_.seed));
      status = kept.status();
      if (kept) {
        home.kept = *std::move(kept);
        return true;
      }
    }
    if (status.code() == Code::kIo && attempt == 0) continue;
    findings_.add(Checker::kTakeOver, "the scheduler's state cannot be opened: " + status.message());
    return false;
  }
}

void Cluster::on_etcd_back() {
  note("etcd becomes what it was before");
  home_->went_back = true;
}

// Of what a state that went back has lost counts what has come to somebody.
void Cluster::forget_unheard() {
  home_->answered = home_->received;
  std::uint32_t newest = 0;
  for (const auto& process : processes_) newest = std::max(newest, process->map_epoch);
  home_->told.erase(home_->told.upper_bound(newest), home_->told.end());
}

// What a node has heard of its scheduler, and taken.
void Cluster::note_received(const Process& process, const Frame& frame) {
  const auto said = wire::decode_said_mark(frame.second);
  if (!said || process.worker == nullptr || frame.head.op != Op::kReportReply ||
      frame.head.code != Code::kOk || (frame.head.flags & frame_flags::kEndOfWork) != 0 ||
      process.worker->membership().told().lead != said->now.lead)
    return;
  ReportId& newest = home_->received[frame.head.shard];
  newest = std::max(newest, numbered<ReportId>(frame.head));
}

bool Cluster::went_back() const { return home_ && home_->went_back; }

bool Cluster::refused() const {
  const Process& process = *processes_[0];
  return went_back() && process.kept_scheduler != nullptr && process.kept_scheduler->fenced() &&
         process.kept_scheduler->fenced()->code() == Code::kModel;
}

// Whoever runs schedulers starts another one, once, where one has ended because etcd has gone back.
bool Cluster::comes_again() {
  const KeptScheduler* const kept = processes_[0]->kept_scheduler;
  if (kept != nullptr && kept->fenced() && kept->fenced()->code() == Code::kModel && !home_->went_back)
    findings_.add(Checker::kTakeOver, kept->fenced()->message());
  if (!refused() || ++home_->refused > 1) return false;
  for (std::uint32_t p = 1; p < processes_.size(); ++p) {
    if (processes_[p]->runs() && processes_[p]->observer) kill(p);
  }
  at(now_ + scaled(plan_.restart_takes, home_->random.unit()), [this] { restart_scheduler(); });
  return true;
}

// What is computed is what it takes to write; it is done wherever the scheduler is killed, or not.
void Cluster::keep_state(Process& process) {
  Computation* const work = process.node->take_work();
  if (work == nullptr) return;
  const auto still_lives = [&process, life = process.life] { return process.life == life && process.runs(); };
  const auto takes = [this] { return scaled(kWriteTakesMax, home_->random.unit()); };
  // What was on its way to an etcd comes there though its scheduler is dead.
  const auto comes = [this, &process, life = process.life, still_lives] {
    return still_lives() || (home_->etcd && process.life == life && process.corpse);
  };
  at(now_ + takes(), [this, work, &process, still_lives, comes, takes] {
    if (!comes()) return;
    work->compute();
    at(now_ + (home_->etcd ? home_->etcd->answer_takes() : takes()), [this, &process, still_lives] {
      by_driver(process.place, [still_lives](Process& its, Instant local, Transport& out) {
        if (still_lives()) its.node->on_computed(local, out);
      });
    });
  });
}

void Cluster::scheduler_turn(Process& process, Transport& out,
                             const std::function<void(Scheduler&, Instant, Transport&)>& act) {
  const Instant local = process.clock.local(now_);
  if (process.kept_scheduler == nullptr) return act(*process.scheduler, local, out);
  process.kept_scheduler->turn(out, [&](Transport& gate) { act(*process.scheduler, local, gate); });
}

StateCounts Cluster::state_counts() const {
  StateCounts counts = home_ && home_->etcd ? home_->etcd->counts() : StateCounts();
  if (home_) {
    counts.refused = home_->refused;
    counts.replaced = home_->replaced;
    counts.moved = home_->moved;
  }
  return counts;
}

bool Cluster::settled() const {
  const Process& process = *processes_[0];
  return !home_ || (process.runs() && process.kept_scheduler->settled());
}

void Cluster::kill_scheduler(bool dark) {
  Process& process = *processes_[0];
  note(dark ? "the scheduler's machine loses its power" : "kill the scheduler");
  process.corpse = std::move(process.node);
  process.inbox.clear();
  process.kept_scheduler = nullptr;
  if (!home_->etcd) {
    home_->log.reset();
    if (dark) home_->disk.restart();
  }
  for (std::uint32_t p = 1; p < processes_.size(); ++p) {
    Process& other = *processes_[p];
    if (!other.runs()) continue;
    if (other.observer) {
      kill(p);
    } else if (other.map_epoch > 0 && connected(process, other) && home_->random.chance(0.7)) {
      at(now_ + scaled(limits::kPeerGrace, home_->random.unit()), [this, p] { tell_lost(p, kScheduler); });
    }
  }
}

void Cluster::restart_scheduler() {
  note("another scheduler comes");
  if (open_state()) return take_up();
  if (home_->etcd) at(now_ + kLooksAgain, [this] { restart_scheduler(); });
}

// What is kept, by the scheduler that has opened it.
void Cluster::take_up() {
  Process& process = *processes_[0];
  const Instant local = process.clock.local(now_);
  SchedulerOptions options = scheduler_options();
  options.observer = worker_node(wire::kFirstTemporary + births_);
  auto scheduler = std::make_unique<Scheduler>(std::move(options));
  if (home_->went_back) forget_unheard();
  std::map<ShardId, ReportId> newest;
  for (const KeptReport& report : home_->kept.reports) newest[report.shard] = report.number;
  for (const auto& [shard, number] : home_->answered) {
    if (newest.contains(shard) && newest.at(shard) >= number) continue;
    if (home_->went_back) {
      home_->older = true;
      continue;
    }
    findings_.add(Checker::kTakeOver, fmt::format("report {}.{} of shard {} was answered, and is forgotten",
                                                  number.epoch, number.index, shard.value));
  }
  work_.report_anew();
  const Status restored = home_->kept.image.empty()
                              ? Status(Code::kModel, "a job that has begun is forgotten")
                              : scheduler->restore(local, home_->kept.image, home_->kept.reports);
  if (!restored.ok()) return findings_.add(Checker::kTakeOver, restored.message());
  work_.note_loaded(scheduler->loaded());
  for (const auto& other : processes_) {
    const bool knows_more = other->runs() && other->map_epoch > scheduler->map().epoch;
    home_->older |= home_->went_back && knows_more;
  }
  process.corpse.reset();
  process.led = std::move(scheduler);
  process.scheduler = process.led.get();
  StateStore* const store = home_->way ? static_cast<StateStore*>(home_->way.get()) : home_->store();
  auto kept = std::make_unique<KeptScheduler>(*process.led, store, home_->kept);
  process.kept_scheduler = kept.get();
  process.node = std::move(kept);
  process.paused_since.reset();
  process.stopped_at.reset();
  process.over = false;
  process.life = home_->life;
  process.busy_until = process.armed = now_;
  patience_.on_restart(local, *process.scheduler);
  queue_.push(now_, {Event::Kind::kTimer, 0});
  processes_[start_worker({}, true)]->kept = plan_.spares_core;
  if (plan_.standby) lead_by_lease(process);
}

// What the scheduler says is known to whoever comes in its place: two maps of one epoch say the same.
void Cluster::watch_kept(const Frame& frame) {
  const Op op = frame.head.op;
  if (home_->older && op != Op::kHeartbeat && op != Op::kWaiting && op != Op::kStatusReply)
    findings_.add(Checker::kTakeOver,
                  "a scheduler goes on from a state that is older than what nodes were told");
  if (frame.head.op == Op::kReportReply && frame.head.code == Code::kOk &&
      (frame.head.flags & frame_flags::kEndOfWork) == 0) {
    ReportId& newest = home_->answered[frame.head.shard];
    newest = std::max(newest, numbered<ReportId>(frame.head));
  }
  if (op == Op::kMap) watch_map(*processes_[0], frame);
}

void Cluster::watch_map(const Process& scheduler, const Frame& frame) {
  const auto map = wire::decode_map(frame.first);
  if (!map) return;
  if (map->epoch > scheduler.kept_scheduler->kept_epoch())
    findings_.add(Checker::kTakeOver, fmt::format("a map of epoch {} is said that is not kept", map->epoch));
  Owners says{map->shards, map->placement};
  const auto [told, first] = home_->told.try_emplace(map->epoch, says);
  if (!first && told->second != says)
    findings_.add(Checker::kMaps, fmt::format("the map of epoch {} is another than before", map->epoch));
}

// What the scheduler's driver does when nobody has joined for as long as its patience lasts.
void Cluster::await_all(Process& process) {
  if (process.scheduler->started() || process.scheduler->stopped()) return;
  const Instant local = process.clock.local(now_);
  if (std::string missing = process.scheduler->missing(); missing != missing_) {
    missing_ = std::move(missing);
    missing_since_ = local;
  }
  if (local - missing_since_ < plan_.timeout) return;
  Outgoing out(*this, process);
  scheduler_turn(process, out, [&](Scheduler& scheduler, Instant at, Transport& gate) {
    scheduler.stop(at, {Code::kTimeout, missing_ + " did not join"}, gate);
  });
}

void Cluster::tell_all_of_scheduler(Instant when) {
  at(when, [this] {
    for (std::uint32_t p = 1; p < processes_.size(); ++p) tell_lost(p, kScheduler);
  });
}

void Cluster::ask_to_stop() {
  Process& process = *processes_[0];
  if (!process.runs()) return;
  note("the job is asked to stop");
  Outgoing out(*this, process);
  scheduler_turn(process, out, [](Scheduler& scheduler, Instant, Transport& gate) { scheduler.close(gate); });
  after_turn(0);
}

void Cluster::end(const Status& status) {
  Process& process = *processes_[0];
  if (!process.runs()) return;
  Outgoing out(*this, process);
  scheduler_turn(process, out, [&](Scheduler& scheduler, Instant local, Transport& gate) {
    scheduler.stop(local, status, gate);
  });
  after_turn(0);
}

}  // namespace thalweg::sim
