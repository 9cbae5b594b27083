// The part of Cluster in which schedulers lead by leases: one stands by, and takes the job up when the lease
// has ended, whether the one before is dead or lives. That one goes on in a place of its own until it knows.
#include <fmt/format.h>

#include <array>
#include <string>

#include "sim/change/scheduler_home.h"
#include "sim/trace_line.h"

namespace thalweg::sim {
namespace {

// Where schedulers may be, one after the other.
constexpr std::array<const char*, 2> kAddresses = {"scheduler-0", "scheduler-1"};

}  // namespace

std::vector<std::string> Cluster::scheduler_addresses() const {
  if (!plan_.standby) return {};
  return {kAddresses.begin(), kAddresses.end()};
}

// Before the job is kept nobody can take it up.
void Cluster::stand_by() {
  at(now_ + kLooksAgain, [this] {
    if (gone_) return;
    const Process& leader = *processes_[0];
    if (leader.kept_scheduler != nullptr && leader.kept_scheduler->kept_epoch() == 0) return stand_by();
    const auto gone = home_->lead.gone(*home_->way, Duration{0});
    if (gone && *gone && take_lease()) {
      if (leader.runs()) step_aside();
      take_up();
    }
    stand_by();
  });
}

bool Cluster::take_lease() {
  SchedulerHome& home = *home_;
  if (!home.way)
    home.way =
        std::make_shared<EtcdWay>(*home.etcd, plan_.state_faults, Random(plan_.seed).split(29).split(0));
  auto lease = LeadLease::take(*home.way, "another scheduler", plan_.lease);
  if (!lease) return false;
  auto kept = take_lead(*home.way, home.number(plan_.seed));
  if (!kept) {
    const Code code = kept.status().code();
    if (code != Code::kTimeout && code != Code::kRetry)
      findings_.add(Checker::kTakeOver, "etcd's state cannot be opened: " + kept.status().message());
    lease->end(*home.way);
    return false;
  }
  home.kept = *std::move(kept);
  home.lease = *std::move(lease);
  ++home.life;
  return true;
}

// Another one comes to stand by.
void Cluster::lead_by_lease(Process& process) {
  SchedulerHome& home = *home_;
  process.term = home.kept.lead;
  process.way =
      std::exchange(home.way, std::make_shared<EtcdWay>(*home.etcd, plan_.state_faults,
                                                        Random(plan_.seed).split(29).split(home.life)));
  process.lease = std::exchange(home.lease, std::nullopt);
  keep_lease(process);
}

void Cluster::keep_lease(Process& process) {
  const Instant next = process.clock.world(process.clock.local(now_) + plan_.lease / 3);
  at(next, [this, &process, life = process.life] {
    if (!process.runs() || process.life != life) return;
    process.lease->keep(*process.way, process.term);
    by_driver(process.place, [](Process& its, Instant, Transport&) {
      its.kept_scheduler->doubt_lead(its.lease->in_doubt());
      if (its.lease->lost()) its.kept_scheduler->lose_lead();
    });
    keep_lease(process);
  });
}

// Nodes stay with it until it ends, or they have found who leads.
void Cluster::step_aside() {
  note("another scheduler comes while one lives");
  ++home_->replaced;
  kill_observers();
  auto next = std::make_unique<Process>();
  next->id = kScheduler;
  next->clock = draw_clock();
  Process& former = *processes_[0];
  former.place = static_cast<std::uint32_t>(processes_.size());
  processes_.push_back(std::exchange(processes_[0], std::move(next)));
  for (const auto& node : processes_) {
    if (node->scheduler == nullptr && node->runs() && node->map_epoch > 0 && node->follows == nullptr)
      node->follows = &former;
  }
  former.inbox_armed = !former.inbox.empty();
  if (former.inbox_armed) queue_.push(std::max(now_, former.busy_until), {Event::Kind::kInbox, former.place});
  former.armed = now_;
  queue_.push(now_, {Event::Kind::kTimer, former.place});
}

bool Cluster::replaced(const Process& process) const {
  const auto* const kept = process.kept_scheduler;
  return former(process) ||
         (plan_.standby && kept != nullptr && kept->fenced() && kept->fenced()->code() == Code::kRefused);
}

// One in whose place another one leads, or is about to.
void Cluster::on_replaced(Process& process) {
  note("a scheduler ends that leads no more");
  process.lease->end(*process.way);
  if (process.place == 0) {
    if (home_->etcd->leader() == writes_key(home_->kept.number))
      findings_.add(Checker::kTakeOver,
                    "the scheduler that leads ends: " + process.kept_scheduler->fenced()->message());
    ++home_->replaced;
    kill_observers();
  }
  for (const auto& node : processes_) {
    Process* const follows = node->follows != nullptr ? node->follows : processes_[0].get();
    if (node->scheduler != nullptr || !node->runs() || node->map_epoch == 0 || follows != &process) continue;
    at(now_ + scaled(limits::kPeerGrace, home_->random.unit()), [this, &process, its = node.get()] {
      if (its->follows == &process) its->follows = nullptr;
      tell_lost(its->place, kScheduler);
    });
  }
}

void Cluster::kill_observers() {
  for (std::uint32_t p = 1; p < processes_.size(); ++p) {
    if (processes_[p]->runs() && processes_[p]->observer) kill(p);
  }
}

// A node calls another address, and leaves its scheduler for who answers there.
void Cluster::look_for_scheduler(Process& node, std::string_view address) {
  Process* const former = node.follows;
  if (former == nullptr || address != kAddresses[home_->life % kAddresses.size()]) return;
  at(now_ + 2 * plan_.latency, [this, &node, former] {
    if (!node.runs() || node.follows != former || !processes_[0]->runs()) return;
    note([&] { return who(node.id) + " has found the scheduler that leads"; });
    node.follows = nullptr;
    ++home_->moved;
    at(now_ + limits::kPeerGrace, [this, former, id = node.id] {
      if (former->runs()) tell_lost(former->place, id);
    });
  });
}

// Whether two processes have a connection, where one of them is a scheduler.
bool Cluster::connected(const Process& scheduler, const Process& node) const {
  const Process* const follows = node.follows != nullptr ? node.follows : processes_[0].get();
  return follows == &scheduler;
}

// What it says is known to who leads: it was kept before that one came.
void Cluster::watch_former(const Process& process, const Frame& frame) {
  const Op op = frame.head.op;
  if (op == Op::kMap) return watch_map(process, frame);
  if (op != Op::kReportReply || frame.head.code != Code::kOk ||
      (frame.head.flags & frame_flags::kEndOfWork) != 0)
    return;
  const auto number = numbered<ReportId>(frame.head);
  for (const KeptReport& report : home_->kept.reports) {
    if (report.shard == frame.head.shard && report.number >= number) return;
  }
  findings_.add(Checker::kTakeOver,
                fmt::format("report {}.{} of shard {} is answered by a scheduler that leads no more, and "
                            "unknown to the one that does",
                            number.epoch, number.index, frame.head.shard.value));
}

}  // namespace thalweg::sim
