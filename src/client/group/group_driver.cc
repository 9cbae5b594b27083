#include "client/group/group_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/group/call_notes.h"
#include "client/group/group_ending.h"
#include "exchange/preface.h"
#include "net/group/call_board.h"
#include "net/group/group_control.h"

namespace thalweg {
namespace {

// Tells the other ranks, now and again, what this one waits for.
void tell(std::uint64_t operation, const Exchange& exchange, GroupView& view, bool started) {
  view.control()->tell(operation, view.fabric_rank(exchange.waits_for()), what_waits(exchange, started));
}

// An operation that failed for a reason of this rank's own ends for all.
void give_up_if_failed(const Exchange& exchange, GroupView& view) {
  const Status& why = exchange.status();
  CallBoard* calls = view.calls();
  if (why.ok() || !calls || calls->found()) return;
  const std::uint32_t self = view.fabric_rank(exchange.rank());
  if (why.code() == Code::kRefused) {
    calls->judge({self, why});
  } else if (view.control()) {
    calls->judge({self, {why.code(), fmt::format("rank {} gave up {}", self, why.message())}});
  }
}

thread_local const GroupDriver* own_driver = nullptr;

}  // namespace

Status must_start() {
  return {Code::kUsage, "a coroutine on the group's own thread must start operations and await them"};
}

bool GroupDriver::is_of_this_thread(const GroupDriver* driver) {
  return driver != nullptr && driver == own_driver;
}

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

// What is to be done while an operation waits, and once it has ended.
struct GroupDriver::Watch {
  // The operation has begun.
  Watch(GroupView& view, const GroupPlace& place, Duration its_timeout)
      : at{place.kind, place.sequence}, started(place.is_started()), timeout(its_timeout) {
    if (GroupControl* control = view.control()) operation = control->enter();
  }
  void end(Exchange& exchange, GroupView& view) {
    note(exchange, view);
    find_first_difference(exchange, view, at);
    if (exchange.bytes_sent() > 0) view.add_sent(exchange.bytes_sent());
    if (GroupControl* control = view.control()) control->leave(operation);
    give_up_if_failed(exchange, view);
  }
  // It waits, at first since `now`.
  void wait(Instant now, const Exchange& exchange, GroupView& view) {
    if (deadline != Instant{}) return;
    note(exchange, view);
    deadline = now + timeout;
    tell_at = now + GroupControl::kTellEvery;
  }
  // Whether it was time to tell others what this rank waits for.
  bool tell(Instant now, const Exchange& exchange, GroupView& view) {
    if (now < tell_at) return false;
    tell_at = now + GroupControl::kTellEvery;
    if (CallBoard* calls = view.calls())
      calls->show(view.fabric_rank(exchange.waits_for()), note_of(exchange, view, at));
    return true;
  }
  Instant next() const { return std::min(deadline, tell_at); }

  CallNote::Place at;
  bool started;
  Duration timeout;
  std::uint64_t operation = 0;  // As GroupControl numbers it.
  Instant deadline{};
  Instant tell_at = kNever;
  bool noted = false;

 private:
  // Others may ask from now on; what has sent already does not keep its bytes waiting for this.
  void note(const Exchange& exchange, GroupView& view) {
    if (std::exchange(noted, true)) return;
    if (CallBoard* calls = view.calls()) calls->note(note_of(exchange, view, at));
  }
};

struct GroupDriver::Running {
  GroupJob job;
  std::shared_ptr<GroupWork::State> state;
  std::unique_ptr<Exchange> own;  // Once it is this one's turn, unless it came with one.
  Exchange* exchange = nullptr;
  std::optional<Watch> watch;  // Of the exchange.
  CopyTuner::Trial trial;      // Where it was started.
  bool begun = false;          // It may have sent bytes, and goes on before all that shares its links.
  bool counts = false;         // Among what was started in its group.
};

GroupDriver::GroupDriver(std::unique_ptr<LiveFabric> fabric, GroupStage* stage)
    : fabric_(std::move(fabric)), stage_(stage) {}

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

// Whether the fabric is this thread's now. Each side says first what it does and then looks at the other's
// word, so that a caller and the own thread never both go ahead.
bool GroupDriver::borrow() {
  if (pending_.load() > 0 || in_use_.exchange(true)) return false;
  if (pending_.load() == 0) return true;
  give_back();
  return false;
}

void GroupDriver::give_back() {
  in_use_.store(false);
  if (pending_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

// For the own thread, to which callers give way.
void GroupDriver::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !in_use_.exchange(true); });
}

Status GroupDriver::run(Exchange& exchange, const std::shared_ptr<GroupView>& view, const GroupPlace& place,
                        Duration timeout) {
  Watch watch(*view, place, timeout);
  const bool begun = borrow();
  if (begun) {
    const bool over = run_here(exchange, *view, watch);
    give_back();
    if (over) {
      watch.end(exchange, *view);
      return outcome(exchange, *view, place.first_channel);
    }
  }
  auto running = std::make_unique<Running>();
  running->job.view = view;
  running->job.place = place;
  running->exchange = &exchange;
  running->begun = begun;
  running->watch = watch;
  running->state = std::make_shared<GroupWork::State>();
  GroupWork work(running->state);
  {
    const std::lock_guard lock(mutex_);
    incoming_.push_back(std::move(running));
    begin_work();
  }
  return work.wait();
}

namespace {

bool write_message(GroupView& view, Link to, const Preface& preface, Piece data) {
  const void* const head = &preface;
  const Piece pieces[] = {{static_cast<const std::byte*>(head), sizeof preface}, data};
  return view.fabric().write_whole(to, pieces);
}

// Gives `use` the message that is there, or comes soon, if it is the one that was expected.
template <class Use>
bool take_message(GroupView& view, Link from, const Preface& expected, std::size_t size, const Use& use) {
  Fabric& fabric = view.fabric();
  const std::size_t total = sizeof expected + size;
  const Piece shown = fabric.peek_soon(from, total);
  if (shown.size != total || std::memcmp(shown.data, &expected, sizeof expected) != 0) return false;
  use(shown.data + sizeof expected);
  fabric.consume(from, total);
  return true;
}

}  // namespace

bool GroupDriver::send_at_once(GroupView& view, const GroupPlace& place, const PrefaceOf& preface,
                               std::uint32_t peer, Piece data) {
  if (view.control() && view.control()->failed()) return false;
  if (!borrow()) return false;
  const bool sent = write_message(view, {peer, place.first_channel}, preface.preface, data);
  if (sent && view.control()) view.control()->pass();
  give_back();
  if (!sent) return false;
  view.add_sent(data.size);
  if (CallBoard* calls = view.calls()) calls->note(note_of(preface, view, {place.kind, place.sequence}));
  return true;
}

// A message that this rank did not expect is left for an exchange, which says what is wrong.
bool GroupDriver::receive_at_once(GroupView& view, const GroupPlace& place, const Preface& preface,
                                  std::uint32_t peer, std::byte* into, std::size_t size) {
  if (!borrow()) return false;
  const bool expected = take_message(view, {peer, place.first_channel}, preface, size,
                                     [&](const std::byte* data) { std::memcpy(into, data, size); });
  if (expected && view.control()) view.control()->pass();
  give_back();
  return expected;
}

GroupDriver::Sum GroupDriver::sum_at_once(GroupView& view, const GroupPlace& place, const PrefaceOf& preface,
                                          const Call& call) {
  if (!borrow()) return Sum::kNotBegun;
  const Link other{1 - preface.rank, place.first_channel};
  const Arithmetic& how = call.arithmetic;
  const std::size_t size = call.count * how.element_bytes;
  Sum sum = write_message(view, other, preface.preface, {call.in, size}) ? Sum::kSent : Sum::kNotBegun;
  const auto add = [&](const std::byte* theirs) {
    how.apply(call.out, call.in, theirs, call.count);
    how.finish(call.out, call.count, 2);
  };
  if (sum == Sum::kSent && take_message(view, other, preface.preface, size, add)) sum = Sum::kDone;
  if (sum == Sum::kDone && view.control()) view.control()->pass();
  give_back();
  if (sum != Sum::kDone) return sum;
  view.add_sent(size);
  if (CallBoard* calls = view.calls()) calls->note(note_of(preface, view, {place.kind, place.sequence}));
  return sum;
}

// Whether it has ended; else another thread wants the fabric too.
bool GroupDriver::run_here(Exchange& exchange, GroupView& view, Watch& watch) {
  // The clock is read only while there is nothing else to do.
  for (bool any_lost = false; !advance_or_fail(exchange, view, any_lost); any_lost = fabric_->any_lost()) {
    if (pending_.load() > 0) return false;
    const Instant now = live_now();
    watch.wait(now, exchange, view);
    if (watch.deadline <= now) {
      fail_late(exchange, view, watch.timeout, watch.started);
      break;
    }
    if (watch.tell(now, exchange, view) && view.control())
      tell(watch.operation, exchange, view, watch.started);
    fabric_->wait(watch.next());
  }
  return true;
}

void GroupDriver::start(GroupJob job, std::shared_ptr<GroupWork::State> state) {
  if (stage_ != nullptr) return stage_->start(std::move(job), std::move(state));
  auto running = std::make_unique<Running>();
  running->job = std::move(job);
  running->state = std::move(state);
  start(std::move(running));
}

void GroupDriver::start(Exchange& exchange, const GroupJob& job, std::shared_ptr<GroupWork::State> state) {
  auto running = std::make_unique<Running>();
  running->job.plan = job.plan;
  running->job.view = job.view;
  running->job.rank = job.rank;
  running->job.place = job.place;
  running->job.timeout = job.timeout;
  running->exchange = &exchange;
  running->state = std::move(state);
  start(std::move(running));
}

void GroupDriver::start(std::unique_ptr<Running> running) {
  const std::lock_guard lock(mutex_);
  ++running->job.view->under_way;
  ++running->job.view->unsaid;
  running->counts = true;
  running->state->driver = this;
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
  pending_.fetch_add(1);
  if (on_own_thread()) {
    began_here_ = true;
    return;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  fabric_->wake();
}

void GroupDriver::end_work(GroupView* counted) {
  const std::lock_guard lock(mutex_);
  pending_.fetch_sub(1);
  if (counted) --counted->under_way;
  changed_.notify_all();
}

// To whoever waits for it. Another may be started in its place by then.
void GroupDriver::say(Ended& ended) {
  ended.state->end(std::move(ended.status));
  if (!ended.counted) return;
  const std::lock_guard lock(mutex_);
  --ended.counted->unsaid;
  changed_.notify_all();
}

void GroupDriver::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pending_.load(std::memory_order_relaxed) == 0; });
}

void GroupDriver::drain(const GroupView& view) {
  if (stage_ != nullptr) return stage_->drop();
  std::unique_lock lock(mutex_);
  // On the own thread what ends is being said further up.
  const bool own = on_own_thread();
  changed_.wait(lock, [&view, own] { return view.under_way.load() == 0 && (own || view.unsaid == 0); });
}

void GroupDriver::work() {
  own_driver = this;
  std::vector<std::unique_ptr<Running>> all;  // In the order in which they were started.
  std::vector<GroupTask*> tasks;
  std::vector<Ended> ended;
  bool holds = false;  // The fabric.
  for (;;) {
    if (!take_incoming(all, tasks, all.empty() && tasks.empty())) return;
    if (!std::exchange(holds, true)) take();
    const Instant now = live_now();
    Instant earliest = kNever;
    const bool task_ended = advance_tasks(tasks, now, earliest);
    advance_all(all, ended, now, earliest);
    const bool idle = all.empty() && tasks.empty();
    if (idle && std::exchange(holds, false)) give_back();  // Before those who wait may want it.
    for (Ended& one : ended) say(one);
    const bool any_ended = !ended.empty();
    ended.clear();
    if (any_ended || task_ended || idle) continue;  // What ended may have let another begin.
    if (!std::exchange(began_here_, false)) fabric_->wait(std::min(earliest, tell_of(all, now)));
  }
}

// Tells the other ranks, now and again, what the oldest operation waits for; returns when to do so next.
Instant GroupDriver::tell_of(const std::vector<std::unique_ptr<Running>>& all, Instant now) {
  const auto first =
      std::find_if(all.begin(), all.end(), [](const auto& running) { return running->watch.has_value(); });
  if (!fabric_->control() || first == all.end()) return kNever;
  if (now >= tell_at_) {
    tell((*first)->watch->operation, *(*first)->exchange, *(*first)->job.view, (*first)->watch->started);
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

void GroupDriver::advance_all(std::vector<std::unique_ptr<Running>>& all, std::vector<Ended>& ended,
                              Instant now, Instant& earliest) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Running& running = *all[i];
    const auto goes_before = [&running](const std::unique_ptr<Running>& other) {
      return other && other->job.view == running.job.view && other->job.place.shares_with(running.job.place);
    };
    const auto me = all.begin() + static_cast<std::ptrdiff_t>(i);
    if (!running.begun && std::any_of(all.begin(), me, goes_before)) continue;
    Status how;
    if (!advance_to_end(running, now, how)) {
      earliest = std::min(earliest, running.watch->next());
      continue;
    }
    end_work(running.counts ? running.job.view.get() : nullptr);
    ended.push_back({running.state, std::move(how), running.counts ? running.job.view : nullptr});
    all[i].reset();
  }
  std::erase(all, nullptr);
}

// True when it has ended, with all calls that follow it.
bool GroupDriver::advance_to_end(Running& running, Instant now, Status& how) {
  while (advance(running, now)) {
    how = end_call(running);
    if (!running.job.sequel || !running.job.sequel->next(running.job, how)) return true;
    ++running.job.place.sequence;
  }
  return false;
}

// True when its call has ended.
bool GroupDriver::advance(Running& running, Instant now) {
  GroupJob& job = running.job;
  if (!running.begun && job.view->failed()) return true;
  running.begun = true;
  if (!running.exchange) {
    running.own = std::make_unique<Exchange>(std::move(job.call), *job.plan, job.rank, job.ranks,
                                             job.place.sequence, job.place.first_channel, job.view->id());
    running.exchange = running.own.get();
  }
  if (!running.watch) {
    running.trial = job.view->begin_copies(running.exchange->call(), *job.plan, job.rank);
    running.exchange->call().copies = running.trial.way;
    running.watch.emplace(*job.view, job.place, job.timeout);
  }
  Watch& watch = *running.watch;
  watch.wait(now, *running.exchange, *job.view);
  if (advance_or_fail(*running.exchange, *job.view, fabric_->any_lost())) return true;
  watch.tell(now, *running.exchange, *job.view);
  if (now < watch.deadline) return false;
  fail_late(*running.exchange, *job.view, watch.timeout, watch.started);
  return true;
}

// Says how; afterwards the call's memory is its caller's.
Status GroupDriver::end_call(Running& running) {
  GroupView& view = *running.job.view;
  if (running.watch) running.watch->end(*running.exchange, view);
  const Status how =
      running.begun ? outcome(*running.exchange, view, running.job.place.first_channel) : view.failure();
  if (!how.ok()) give_up(view, running.job.place, how);
  if (running.watch) view.end_copies(running.trial, *running.exchange);
  running.exchange = nullptr;
  running.own.reset();
  running.watch.reset();
  return how;
}

}  // namespace thalweg
