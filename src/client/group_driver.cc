#include "client/group_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace thalweg {
namespace {

// Why the exchange cannot go on: who is lost, or who was waited for when time was up.
Status explain(const Exchange& exchange, const Status& lost, Duration timeout) {
  const Exchange::Waiting waiting = exchange.waiting();
  if (!lost)
    return {lost.code(), fmt::format("{}: {}; in {}", exchange.name(), lost.message(), waiting.step)};
  return {Code::kTimeout,
          fmt::format("{}: rank {} was waited for in vain within {} s; in {}", exchange.name(), waiting.peer,
                      std::chrono::duration<double>(timeout).count(), waiting.step)};
}

// Takes the exchange as far as it goes. A peer that was lost before has sent all that it ever will, so what
// still waits for it afterwards has failed.
bool advance_or_fail(Exchange& exchange, GroupView& view, bool any_lost) {
  if (!any_lost) return exchange.advance(view.fabric());
  for (;;) {
    const std::uint32_t peer = exchange.waiting().peer;
    const Status lost = view.peer_status(peer);
    if (exchange.advance(view.fabric())) return true;
    if (lost || exchange.waiting().peer != peer) return false;
    exchange.fail(explain(exchange, lost, {}));
    return true;
  }
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
  Instant deadline{};
  bool any_lost = false;
  while (!advance_or_fail(exchange, view, any_lost)) {
    if (deadline == Instant{}) deadline = live_now() + timeout;
    fabric_->wait(deadline);
    any_lost = fabric_->any_lost();
    if (deadline <= live_now() && !exchange.advance(view.fabric())) {
      exchange.fail(explain(exchange, Status::ok(), timeout));
    }
  }
  return exchange.status();
}

void GroupDriver::start(GroupJob job, std::shared_ptr<GroupWork::State> state) {
  auto running = std::make_unique<Running>();
  running->job = std::move(job);
  running->state = std::move(state);
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  pending_.fetch_add(1, std::memory_order_relaxed);
  incoming_.push_back(std::move(running));
  changed_.notify_all();
  fabric_->wake();
}

void GroupDriver::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pending_.load(std::memory_order_relaxed) == 0; });
}

void GroupDriver::work() {
  own_thread_.store(std::this_thread::get_id());
  std::vector<std::unique_ptr<Running>> all;  // In the order in which they were started.
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (all.empty()) changed_.wait(lock, [this] { return stopping_ || !incoming_.empty(); });
      if (all.empty() && incoming_.empty()) return;
      for (auto& running : incoming_) all.push_back(std::move(running));
      incoming_.clear();
    }
    const Instant now = live_now();
    Instant earliest = kNever;
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
    all.erase(std::remove(all.begin(), all.end(), nullptr), all.end());
    if (!ended) fabric_->wait(earliest);  // What ended may have let another begin.
  }
}

// True when it has ended.
bool GroupDriver::advance(Running& running, Instant now) {
  GroupJob& job = running.job;
  if (!running.exchange) {
    if (job.view->failed()) return true;
    running.exchange = std::make_unique<Exchange>(std::move(job.call), *job.plan, job.rank, job.ranks,
                                                  job.sequence, job.first_channel);
    running.deadline = now + job.timeout;
  }
  if (advance_or_fail(*running.exchange, *job.view, fabric_->any_lost())) return true;
  if (now < running.deadline) return false;
  running.exchange->fail(explain(*running.exchange, Status::ok(), job.timeout));
  return true;
}

void GroupDriver::end(Running& running, Status how) {
  if (!how) running.job.view->fail(how);
  running.exchange.reset();
  {
    const std::lock_guard lock(mutex_);
    pending_.fetch_sub(1, std::memory_order_release);
    changed_.notify_all();
  }
  running.state->end(std::move(how));
}

}  // namespace thalweg
