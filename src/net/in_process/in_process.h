// The driver for a whole cluster inside one process: nodes are actors on a pool of threads, frames move by
// reference.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "net/in_process/home_queue.h"
#include "node/node.h"

namespace thalweg {

// Each node has a mailbox; its turns (one frame, or one on_time) run on any thread, never two at once.
// Frames sent during a turn are delivered, in order, when the turn ends. A node whose deadline has passed is
// run again behind all nodes that were ready before it, but for a few that are at home on another thread:
// each node is at home on one, which takes its own nodes first. What it then wants computed, the same thread
// computes while others run the node's turns. All functions may be called from any thread, but none that
// waits from inside a turn.
class InProcess {
 public:
  explicit InProcess(const Clock& clock);
  ~InProcess();  // Stops.
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  // `node` must outlive the driver. It gets a first turn even if nobody sends it anything.
  void add(NodeId id, Node& node);

  // `threads` may be 0: then only callers of wait_until() run turns.
  void start(std::size_t threads);
  // Waits for turns and computing in progress; mail that is left stays unread.
  void stop();

  // Runs `act` on the calling thread as a turn of the node, after the turn in progress if there is one.
  // False when there is no such node.
  bool turn(NodeId id, const std::function<void(Instant, Transport&)>& act);
  // Blocks until `done`, evaluated in turns of the node, is true; meanwhile the calling thread runs turns of
  // any node. False after `deadline`, stop() or when there is no such node.
  bool wait_until(NodeId id, const std::function<bool()>& done, Instant deadline = kNever);
  // Has callers of wait_until(id) evaluate `done` again; from inside turns of other nodes too.
  void look_again(NodeId id);
  // Whether the calling thread is inside what a node of this driver wants computed, which must not wait for
  // the node.
  bool computes_here() const;

  Instant now() const { return clock_.now(); }

 private:
  struct Actor;
  struct Mail;
  class Outbox;
  class Computing;
  struct Timer {
    Instant at;
    Actor* actor;
    bool operator<(const Timer& other) const { return other.at < at; }  // Earliest on top.
  };

  void work(std::size_t self);
  Actor* find(NodeId id) const;
  bool acquire_free(Actor& actor);     // For the pool: false when somebody else has the turn.
  void acquire_waiting(Actor& actor);  // For callers: waits, and comes before the pool.
  void release(Actor& actor, Outbox& out);
  Computation* run_turn(Actor& actor, Outbox& out);
  void compute(Actor& actor, Computation& work, Outbox& out);
  bool end_computing(Actor& actor, Outbox& out);
  void deliver(Actor& actor, Mail mail, std::vector<Actor*>& ready);
  void enqueue(const std::vector<Actor*>& ready, Actor* timed, Instant deadline, bool watched);
  // Called by a thread that runs no more turns after a release: what it made ready needs another one.
  void wake_another();
  // For the thread of that number; null when nothing is ready now.
  Actor* pop(std::unique_lock<std::mutex>& lock, std::size_t self);
  bool run_one(Outbox& out, std::size_t self);
  template <class Ready>
  void idle(const Ready& ready, Instant deadline);
  void finish(Actor& actor);

  const Clock& clock_;
  mutable std::shared_mutex directory_mutex_;
  std::map<NodeId, Actor*> directory_;  // A renamed node has two entries.
  std::vector<std::unique_ptr<Actor>> actors_;

  std::mutex mutex_;  // Guards what follows; never held while an actor's mutex is taken.
  std::condition_variable wake_;
  HomeQueue<Actor*> ready_;
  std::priority_queue<Timer> timers_;
  std::size_t sleepers_ = 0;
  std::atomic<std::size_t> ready_count_{0};
  std::atomic<std::int64_t> next_timer_ns_{kNever.ns};
  std::atomic<bool> stopping_{false};
  bool may_spin_ = false;
  std::size_t homes_ = 1;  // Threads that run turns: the pool's and a caller's.
  std::vector<std::thread> threads_;
};

}  // namespace thalweg
