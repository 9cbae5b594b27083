#include "net/in_process/in_process.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "net/relax.h"

namespace thalweg {
namespace {

constexpr Duration kSpin = std::chrono::microseconds(20);
// A due deadline waits for at most this many frames.
constexpr std::size_t kFramesPerDeadline = 16;
constexpr std::size_t kCaller = 0;  // The home of callers of wait_until(); those of the pool count from 1.

}  // namespace

struct InProcess::Mail {
  NodeId from;
  Frame frame;
};

struct InProcess::Actor {
  Actor(NodeId its_id, Node& its_node, std::size_t its_home) : home(its_home), id(its_id), node(&its_node) {}

  const std::size_t home;  // Nodes added one after another are at home on different threads.

  std::mutex mutex;
  std::condition_variable freed;
  std::vector<Mail> mailbox;
  bool running = false;
  bool computing = false;
  bool computed = false;  // What was computed, the next turn is to hear of.
  bool queued = false;
  std::size_t claims = 0;  // Callers that wait for the turn.
  bool gone = false;       // Finished: takes no mail.

  // The turn's owner only.
  NodeId id;
  Node* node;
  std::vector<Mail> batch;
  std::size_t batch_at = 0;
  std::size_t frames_since_deadline = 0;

  Instant armed = kNever;                // Guarded by InProcess::mutex_.
  std::atomic<std::uint64_t> turns{0};   // Ended so far.
  std::atomic<std::size_t> watchers{0};  // Callers inside wait_until().
};

class InProcess::Outbox final : public Transport {
 public:
  struct Sent {
    NodeId to;
    Frame frame;
  };
  void send(NodeId to, Frame frame) override { sent.push_back({to, std::move(frame)}); }
  void introduce(NodeId, std::string_view) override {}
  void rename_self(NodeId id, std::uint64_t) override { renamed = id; }

  std::vector<Sent> sent;
  std::optional<NodeId> renamed;
  std::vector<Actor*> ready;
};

// Where a thread is inside a computation, which may wait for another driver and compute for that one
// meanwhile.
class InProcess::Computing {
 public:
  explicit Computing(const InProcess& driver) : driver_(driver), outer_(std::exchange(innermost_, this)) {}
  ~Computing() { innermost_ = outer_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

  static bool any_of(const InProcess& driver) {
    const Computing* at = innermost_;
    while (at != nullptr && &at->driver_ != &driver) at = at->outer_;
    return at != nullptr;
  }

 private:
  static thread_local const Computing* innermost_;
  const InProcess& driver_;
  const Computing* const outer_;
};

thread_local const InProcess::Computing* InProcess::Computing::innermost_ = nullptr;

bool InProcess::computes_here() const { return Computing::any_of(*this); }

InProcess::InProcess(const Clock& clock) : clock_(clock) {}

InProcess::~InProcess() { stop(); }

void InProcess::add(NodeId id, Node& node) {
  Actor* actor = nullptr;
  {
    const std::unique_lock lock(directory_mutex_);
    actors_.push_back(std::make_unique<Actor>(id, node, actors_.size()));
    actor = actors_.back().get();
    actor->queued = true;
    const bool fresh = directory_.emplace(id, actor).second;
    THALWEG_CHECK(fresh, "a node id is added once");
  }
  const std::unique_lock lock(mutex_);
  ready_.push(actor, actor->home);
  ready_count_.store(ready_.size(), std::memory_order_relaxed);
  if (sleepers_ > 0) wake_.notify_one();
}

void InProcess::start(std::size_t threads) {
  THALWEG_CHECK(threads_.empty(), "started once");
  stopping_ = false;
  may_spin_ = threads <= std::thread::hardware_concurrency();
  {
    const std::unique_lock lock(mutex_);
    homes_ = threads + 1;
  }
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { work(i + 1); });
}

void InProcess::stop() {
  {
    const std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void InProcess::work(std::size_t self) {
  Outbox out;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!run_one(out, self)) idle([] { return false; }, kNever);
  }
}

bool InProcess::turn(NodeId id, const std::function<void(Instant, Transport&)>& act) {
  Actor* actor = find(id);
  if (actor == nullptr) return false;
  acquire_waiting(*actor);
  Outbox out;
  act(clock_.now(), out);
  if (actor->node->finished()) finish(*actor);
  release(*actor, out);
  wake_another();
  return true;
}

bool InProcess::wait_until(NodeId id, const std::function<bool()>& done, Instant deadline) {
  Actor* actor = find(id);
  if (actor == nullptr) return false;
  actor->watchers.fetch_add(1);
  Outbox out;
  bool holds = false;
  for (;;) {
    acquire_waiting(*actor);
    const std::uint64_t seen = actor->turns.load() + 1;  // What the release below makes it.
    holds = done();
    release(*actor, out);
    if (holds) break;
    const auto changed = [&] { return actor->turns.load() != seen; };
    const auto over = [&] { return stopping_.load() || clock_.now() >= deadline; };
    while (!changed() && !over()) {
      if (!run_one(out, kCaller)) idle(changed, deadline);
    }
    if (over() && !changed()) break;
  }
  actor->watchers.fetch_sub(1);
  wake_another();
  return holds;
}

void InProcess::look_again(NodeId id) {
  Actor* actor = find(id);
  if (actor == nullptr) return;
  actor->turns.fetch_add(1);
  const std::unique_lock lock(mutex_);
  if (sleepers_ > 0) wake_.notify_all();
}

InProcess::Actor* InProcess::find(NodeId id) const {
  const std::shared_lock lock(directory_mutex_);
  const auto it = directory_.find(id);
  return it == directory_.end() ? nullptr : it->second;
}

bool InProcess::acquire_free(Actor& actor) {
  const std::unique_lock lock(actor.mutex);
  actor.queued = false;
  // Whoever holds or gets the turn queues the actor again on release.
  if (actor.running || actor.claims > 0) return false;
  actor.running = true;
  return true;
}

void InProcess::acquire_waiting(Actor& actor) {
  std::unique_lock lock(actor.mutex);
  ++actor.claims;
  actor.freed.wait(lock, [&] { return !actor.running; });
  --actor.claims;
  actor.running = true;
}

// What is to be computed now that the turn is over.
Computation* InProcess::run_turn(Actor& actor, Outbox& out) {
  if (end_computing(actor, out)) return nullptr;
  Computation* work = nullptr;
  if (actor.batch_at == actor.batch.size()) {
    actor.batch.clear();
    actor.batch_at = 0;
    const std::unique_lock lock(actor.mutex);
    if (actor.gone) return nullptr;
    std::swap(actor.batch, actor.mailbox);
  }
  const Instant now = clock_.now();
  const bool mail = actor.batch_at < actor.batch.size();
  const bool due = actor.node->next_deadline() <= now;
  if (mail && (!due || actor.frames_since_deadline < kFramesPerDeadline)) {
    ++actor.frames_since_deadline;
    Mail& next = actor.batch[actor.batch_at++];
    actor.node->on_frame(now, next.from, std::move(next.frame), out);
  } else if (due) {
    actor.frames_since_deadline = 0;
    actor.node->on_time(now, out);
    work = actor.node->take_work();
    if (work != nullptr) {
      const std::unique_lock lock(actor.mutex);
      actor.computing = true;
    }
  }
  if (actor.node->finished()) finish(actor);
  return work;
}

// A node that computes is let go of after that.
void InProcess::finish(Actor& actor) {
  {
    const std::unique_lock lock(actor.mutex);
    if (actor.computing || std::exchange(actor.gone, true)) return;
    actor.mailbox.clear();
  }
  actor.batch.clear();
  actor.batch_at = 0;
}

void InProcess::deliver(Actor& actor, Mail mail, std::vector<Actor*>& ready) {
  const std::unique_lock lock(actor.mutex);
  if (actor.gone) return;
  actor.mailbox.push_back(std::move(mail));
  if (actor.running || actor.queued) return;
  actor.queued = true;
  ready.push_back(&actor);
}

void InProcess::release(Actor& actor, Outbox& out) {
  if (out.renamed) {
    const std::unique_lock lock(directory_mutex_);
    directory_[*out.renamed] = &actor;
    actor.id = *out.renamed;
    out.renamed.reset();
  }
  for (Outbox::Sent& sent : out.sent) {
    if (Actor* to = find(sent.to)) deliver(*to, Mail{actor.id, std::move(sent.frame)}, out.ready);
  }
  out.sent.clear();
  Instant deadline = kNever;
  bool unread = actor.batch_at < actor.batch.size();
  {
    const std::unique_lock lock(actor.mutex);
    if (!actor.gone) deadline = actor.node->next_deadline();
    unread = unread || !actor.mailbox.empty();
    actor.running = false;
    actor.turns.fetch_add(1);
    const bool due = deadline != kNever && deadline <= clock_.now();
    if ((unread || due || actor.computed) && !actor.queued) {
      actor.queued = true;
      out.ready.push_back(&actor);
    }
    if (due) deadline = kNever;
    if (actor.claims > 0) actor.freed.notify_all();
  }
  enqueue(out.ready, &actor, deadline, actor.watchers.load() > 0);
  out.ready.clear();
}

void InProcess::enqueue(const std::vector<Actor*>& ready, Actor* timed, Instant deadline, bool watched) {
  if (ready.empty() && deadline == kNever && !watched) return;
  const std::unique_lock lock(mutex_);
  for (Actor* actor : ready) ready_.push(actor, actor->home);
  ready_count_.store(ready_.size(), std::memory_order_relaxed);
  if (deadline < timed->armed) {
    timed->armed = deadline;
    timers_.push({deadline, timed});
    const bool earliest = deadline.ns < next_timer_ns_.load(std::memory_order_relaxed);
    if (earliest) next_timer_ns_.store(deadline.ns, std::memory_order_relaxed);
    if (earliest && sleepers_ > 0) wake_.notify_all();
  }
  if (watched && sleepers_ > 0) wake_.notify_all();
}

void InProcess::wake_another() {
  const std::unique_lock lock(mutex_);
  if (!ready_.empty() && sleepers_ > 0) wake_.notify_one();
}

InProcess::Actor* InProcess::pop(std::unique_lock<std::mutex>& lock, std::size_t self) {
  if (!timers_.empty()) {
    const Instant now = clock_.now();
    std::vector<Actor*> due;
    while (!timers_.empty() && timers_.top().at <= now) {
      Actor* actor = timers_.top().actor;
      if (actor->armed == timers_.top().at) actor->armed = kNever, due.push_back(actor);
      timers_.pop();
    }
    next_timer_ns_ = timers_.empty() ? kNever.ns : timers_.top().at.ns;
    if (!due.empty()) {
      lock.unlock();
      std::erase_if(due, [](Actor* actor) {
        const std::unique_lock its(actor->mutex);
        return actor->running || std::exchange(actor->queued, true);
      });
      lock.lock();
      for (Actor* actor : due) ready_.push(actor, actor->home);
    }
  }
  Actor* actor = nullptr;
  if (!ready_.empty()) actor = ready_.take(self, homes_);
  ready_count_.store(ready_.size(), std::memory_order_relaxed);
  if (!ready_.empty() && sleepers_ > 0) wake_.notify_one();
  return actor;
}

bool InProcess::run_one(Outbox& out, std::size_t self) {
  std::unique_lock lock(mutex_);
  Actor* actor = pop(lock, self);
  lock.unlock();
  if (actor == nullptr) return false;
  if (acquire_free(*actor)) {
    Computation* work = run_turn(*actor, out);
    release(*actor, out);
    if (work != nullptr) compute(*actor, *work, out);
  }
  return true;
}

// Between turns of the actor, on the thread that had the last one: nothing is handed over.
void InProcess::compute(Actor& actor, Computation& work, Outbox& out) {
  wake_another();
  {
    const Computing here(*this);
    work.compute();
  }
  {
    const std::unique_lock lock(actor.mutex);
    actor.computed = true;
    if (actor.running) return;  // Whoever has the turn queues the actor on release.
    actor.running = true;
  }
  run_turn(actor, out);
  release(actor, out);
}

// The turn after a computation, if there was one.
bool InProcess::end_computing(Actor& actor, Outbox& out) {
  if (!actor.computing) return false;
  {
    const std::unique_lock lock(actor.mutex);
    if (!actor.computed) return false;
    actor.computing = actor.computed = false;
  }
  actor.node->on_computed(clock_.now(), out);
  if (actor.node->finished()) finish(actor);
  return true;
}

// Returns when a turn may be ready, `ready` holds, the driver stops or `deadline` passes; or for no reason.
template <class Ready>
void InProcess::idle(const Ready& ready, Instant deadline) {
  const auto over = [&] {
    return ready_count_.load(std::memory_order_relaxed) > 0 || ready() ||
           stopping_.load(std::memory_order_relaxed);
  };
  const auto timer = [&] { return Instant{next_timer_ns_.load(std::memory_order_relaxed)}; };
  if (may_spin_) {
    const Instant until = std::min(deadline, clock_.now() + kSpin);
    while (!over()) {
      const Instant now = clock_.now();
      if (now >= timer()) return;
      if (now >= until) break;
      for (int i = 0; i < 16; ++i) relax();
    }
  }
  std::unique_lock lock(mutex_);
  if (over()) return;
  const Instant until = std::min(deadline, timer());
  const Instant now = clock_.now();
  if (until <= now) return;
  ++sleepers_;
  if (until == kNever) {
    wake_.wait(lock);
  } else {
    wake_.wait_for(lock, until - now);
  }
  --sleepers_;
}

}  // namespace thalweg
