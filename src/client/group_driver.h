// Drives the operations of one rank over its fabric: a blocking one on the caller's thread, those that were
// started side by side on a thread of the driver's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/group_view.h"
#include "exchange/exchange.h"
#include "net/live_fabric.h"
#include "thalweg/group.h"

namespace thalweg {

// Shared between who waits for an operation and who ends it.
struct GroupWork::State {
  void end(Status how);
  bool ended() const { return done.load(std::memory_order_acquire); }

  std::atomic<bool> done{false};
  std::mutex mutex;
  std::condition_variable changed;
  Status status;                   // Once done.
  std::coroutine_handle<> waiter;  // Resumed by end().
};

struct GroupJob {
  Call call;
  const Plan* plan = nullptr;
  std::shared_ptr<const void> plan_owner;
  std::shared_ptr<std::byte[]> scratch;  // What `call.in` points to, where it is not the caller's.
  std::shared_ptr<GroupView> view;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint64_t sequence = 0;
  std::uint16_t first_channel = 0;  // Of the view's.
  // Jobs of one view with the same order run one after another.
  std::uint64_t order = 0;
  Duration timeout{};
};

// Work of a driver's thread that is more than one operation.
class GroupTask {
 public:
  virtual ~GroupTask() = default;
  // Goes as far as it can. True when it is over; then the driver touches it no more. It may start operations.
  virtual bool advance(Instant now, bool any_lost) = 0;
  virtual Instant next_deadline() = 0;
};

class GroupDriver {
 public:
  explicit GroupDriver(std::unique_ptr<LiveFabric> fabric);
  ~GroupDriver();  // Waits for what was started.

  LiveFabric& fabric() { return *fabric_; }
  // Whether started operations are under way, so that a blocking one must be started too.
  bool busy() const { return pending_.load(std::memory_order_acquire) > 0; }
  // Runs it to its end on this thread. Precondition: not busy.
  Status run(Exchange& exchange, GroupView& view, Duration timeout);
  void start(GroupJob job, std::shared_ptr<GroupWork::State> state);
  // Precondition: it is not under way.
  void start(GroupTask& task);
  void drain();
  // Whether this is the thread that runs what was started, and must not wait for it.
  bool on_own_thread() const { return own_thread_.load() == std::this_thread::get_id(); }

 private:
  struct Running;
  void work();
  bool take_incoming(std::vector<std::unique_ptr<Running>>& all, std::vector<GroupTask*>& tasks, bool idle);
  bool advance_tasks(std::vector<GroupTask*>& tasks, Instant now, Instant& earliest);
  Instant tell_of(const std::vector<std::unique_ptr<Running>>& all, Instant now);
  bool advance_all(std::vector<std::unique_ptr<Running>>& all, Instant now, Instant& earliest);
  bool advance(Running& running, Instant now);
  void end(Running& running, Status how);
  void begin_work();  // With mutex_.
  void end_work();

  const std::unique_ptr<LiveFabric> fabric_;
  std::atomic<std::uint32_t> pending_{0};
  std::atomic<std::thread::id> own_thread_{};
  Instant tell_at_{};        // When to tell others again; the own thread's alone, as the next.
  bool began_here_ = false;  // The own thread has started something since it last looked; its alone.
  std::mutex mutex_;         // Guards what follows.
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Running>> incoming_;
  std::vector<GroupTask*> incoming_tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace thalweg
