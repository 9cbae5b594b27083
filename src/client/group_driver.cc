#include "client/group_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "net/group_control.h"

namespace thalweg {
namespace {

Status ended(const Exchange& exchange, const Status& why) {
  return {why.code(), fmt::format("{}: {}; in {}", exchange.name(), why.message(), exchange.waiting().step)};
}

// Why the ranks of this group can end no operation, if it is so: one of them was found guilty of that.
Status verdict_on(const GroupView& view, std::uint32_t ranks, GroupControl* control) {
  if (!control || !control->failed()) return {};
  const Verdict verdict = control->verdict();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (view.fabric_rank(rank) == verdict.guilty) return verdict.status;
  }
  return {};
}

// Takes the exchange as far as it goes. A peer that was lost before has sent all that it ever will, so what
// still waits for it afterwards has failed.
bool advance_or_fail(Exchange& exchange, GroupView& view, bool any_lost) {
  if (!any_lost) return exchange.advance(view.fabric());
  for (;;) {
    GroupControl* control = view.control();
    const Status verdict = verdict_on(view, exchange.ranks(), control);
    const std::uint32_t peer = exchange.waiting().peer;
    const Status lost = verdict ? view.peer_status(peer) : verdict;
    if (exchange.advance(view.fabric())) return true;
    const bool others = exchange.waiting().peer != peer || view.peer_status(peer);
    if (lost || (verdict && others)) return false;
    const bool asks = verdict && control;
    exchange.fail(ended(exchange, asks ? control->explain_loss(view.fabric_rank(peer), lost).status : lost));
    return true;
  }
}

// Time is up: who is to blame?
void fail_late(Exchange& exchange, GroupView& view, Duration timeout) {
  const Exchange::Waiting waiting = exchange.waiting();
  const double seconds = std::chrono::duration<double>(timeout).count();
  if (GroupControl* control = view.control()) {
    const Verdict verdict =
        control->accuse(view.fabric_rank(waiting.peer), fmt::format("{}, {}", exchange.name(), waiting.step));
    const std::string why = fmt::format("not done within {} s: {}", seconds, verdict.status.message());
    exchange.fail(ended(exchange, {verdict.status.code(), why}));
    return;
  }
  exchange.fail(ended(exchange, {Code::kTimeout, fmt::format("rank {} was waited for in vain within {} s",
                                                             waiting.peer, seconds)}));
}

// Tells the other ranks, now and again, what this one waits for.
void tell(std::uint64_t operation, const Exchange& exchange, GroupView& view) {
  const Exchange::Waiting waiting = exchange.waiting();
  view.control()->tell(operation, view.fabric_rank(waiting.peer),
                       fmt::format("{}, {}", exchange.name(), waiting.step));
}

// An operation that failed for a reason of this rank's own ends for all.
void give_up_if_failed(const Exchange& exchange, GroupView& view, std::uint32_t rank) {
  GroupControl* control = view.control();
  if (!control || exchange.status() || control->failed()) return;
  const Status& why = exchange.status();
  const std::uint32_t self = view.fabric_rank(rank);
  control->give_up(self, {why.code(), fmt::format("rank {} gave up {}", self, why.message())});
}

}  // namespace

void GroupWork::State::end(Status how) {
  std::coroutine_handle<> resumed;
  {
    const std::lock_guard lock(mutex);
    status = std::move(how);
    done.store(true, std::memory_order_release);
    resumed = std::exchange(waiter, {});
    changed.notify_all();
  }
  if (resumed) resumed.resume();
}

struct GroupDriver::Running {
  GroupJob job;
  std::shared_ptr<GroupWork::State> state;
  std::unique_ptr<Exchange> exchange;  // Once it is this one's turn.
  std::uint64_t operation = 0;         // As GroupControl numbers it.
  Instant deadline{};
};

GroupDriver::GroupDriver(std::unique_ptr<LiveFabric> fabric) : fabric_(std::move(fabric)) {}

GroupDriver::~GroupDriver() {
  if (!thread_.joinable()) return;
  drain();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Status GroupDriver::run(Exchange& exchange, GroupView& view, Duration timeout) {
  GroupControl* control = fabric_->control();
  const std::uint64_t operation = control ? control->enter() : 0;
  Instant deadline{}, tell_at = kNever;
  // The clock is read only while there is nothing else to do.
  for (bool any_lost = false; !advance_or_fail(exchange, view, any_lost); any_lost = fabric_->any_lost()) {
    const Instant now = live_now();
    if (deadline == Instant{}) {
      deadline = now + timeout;
      if (control) tell_at = now + GroupControl::kTellEvery;
    }
    if (deadline <= now) {
      fail_late(exchange, view, timeout);
      break;
    }
    if (tell_at <= now) {
      tell(operation, exchange, view);
      tell_at = now + GroupControl::kTellEvery;
    }
    fabric_->wait(std::min(deadline, tell_at));
  }
  if (control) control->leave(operation);
  if (!exchange.status()) give_up_if_failed(exchange, view, exchange.rank());
  return exchange.status();
}

void GroupDriver::start(GroupJob job, std::shared_ptr<GroupWork::State> state) {
  auto running = std::make_unique<Running>();
  running->job = std::move(job);
  running->state = std::move(state);
  const std::lock_guard lock(mutex_);
  incoming_.push_back(std::move(running));
  begin_work();
}

void GroupDriver::start(GroupTask& task) {
  const std::lock_guard lock(mutex_);
  incoming_tasks_.push_back(&task);
  begin_work();
}

// What comes from the driver's own thread is taken before that thread waits.
void GroupDriver::begin_work() {
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (on_own_thread()) {
    began_here_ = true;
    return;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  fabric_->wake();
}

void GroupDriver::end_work() {
  const std::lock_guard lock(mutex_);
  pending_.fetch_sub(1, std::memory_order_release);
  changed_.notify_all();
}

void GroupDriver::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pending_.load(std::memory_order_relaxed) == 0; });
}

void GroupDriver::work() {
  own_thread_.store(std::this_thread::get_id());
  std::vector<std::unique_ptr<Running>> all;  // In the order in which they were started.
  std::vector<GroupTask*> tasks;
  for (;;) {
    const bool idle = all.empty() && tasks.empty();
    if (!take_incoming(all, tasks, idle)) return;
    const Instant now = live_now();
    Instant earliest = kNever;
    const bool task_ended = advance_tasks(tasks, now, earliest);
    const bool ended = advance_all(all, now, earliest);
    if (ended || task_ended) continue;  // What ended may have let another begin.
    if (!std::exchange(began_here_, false)) fabric_->wait(std::min(earliest, tell_of(all, now)));
  }
}

// Tells the other ranks, now and again, what the oldest operation waits for; returns when to do so next.
Instant GroupDriver::tell_of(const std::vector<std::unique_ptr<Running>>& all, Instant now) {
  const auto first =
      std::find_if(all.begin(), all.end(), [](const auto& running) { return bool{running->exchange}; });
  if (!fabric_->control() || first == all.end()) return kNever;
  if (now >= tell_at_) {
    tell((*first)->operation, *(*first)->exchange, *(*first)->job.view);
    tell_at_ = now + GroupControl::kTellEvery;
  }
  return tell_at_;
}

// False when it is time to stop. Waits where the thread has nothing else to do.
bool GroupDriver::take_incoming(std::vector<std::unique_ptr<Running>>& all, std::vector<GroupTask*>& tasks,
                                bool idle) {
  std::unique_lock lock(mutex_);
  const auto any = [this] { return !incoming_.empty() || !incoming_tasks_.empty(); };
  if (idle) changed_.wait(lock, [&] { return stopping_ || any(); });
  if (idle && !any()) return false;
  for (auto& running : incoming_) all.push_back(std::move(running));
  incoming_.clear();
  tasks.insert(tasks.end(), incoming_tasks_.begin(), incoming_tasks_.end());
  incoming_tasks_.clear();
  return true;
}

// Whether one has ended; `earliest` becomes the next deadline.
bool GroupDriver::advance_tasks(std::vector<GroupTask*>& tasks, Instant now, Instant& earliest) {
  bool ended = false;
  for (GroupTask*& task : tasks) {
    if (task->advance(now, fabric_->any_lost())) {
      task = nullptr;
      ended = true;
      end_work();
    } else {
      earliest = std::min(earliest, task->next_deadline());
    }
  }
  std::erase(tasks, nullptr);
  return ended;
}

bool GroupDriver::advance_all(std::vector<std::unique_ptr<Running>>& all, Instant now, Instant& earliest) {
  bool ended = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto before_it = [&](const std::unique_ptr<Running>& other) {
      return other && other->job.view == all[i]->job.view && other->job.order == all[i]->job.order;
    };
    const auto me = all.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(all.begin(), me, before_it)) continue;
    if (!advance(*all[i], now)) {
      earliest = std::min(earliest, all[i]->deadline);
      continue;
    }
    end(*all[i], all[i]->exchange ? all[i]->exchange->status() : all[i]->job.view->failure());
    all[i].reset();
    ended = true;
  }
  std::erase(all, nullptr);
  return ended;
}

// True when it has ended.
bool GroupDriver::advance(Running& running, Instant now) {
  GroupJob& job = running.job;
  if (!running.exchange) {
    if (job.view->failed()) return true;
    running.exchange = std::make_unique<Exchange>(std::move(job.call), *job.plan, job.rank, job.ranks,
                                                  job.sequence, job.first_channel);
    running.deadline = now + job.timeout;
    if (GroupControl* control = fabric_->control()) running.operation = control->enter();
  }
  if (advance_or_fail(*running.exchange, *job.view, fabric_->any_lost())) return true;
  if (now < running.deadline) return false;
  fail_late(*running.exchange, *job.view, job.timeout);
  return true;
}

void GroupDriver::end(Running& running, Status how) {
  if (!how) running.job.view->fail(how);
  GroupControl* control = fabric_->control();
  if (running.exchange && control) {
    control->leave(running.operation);
    give_up_if_failed(*running.exchange, *running.job.view, running.job.rank);
  }
  running.exchange.reset();
  end_work();
  running.state->end(std::move(how));
}

}  // namespace thalweg
