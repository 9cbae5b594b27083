// Drives the operations of one rank over its fabric, whatever groups and threads they come from: a blocking
// one that is alone on its caller's thread, all others side by side on a thread of the driver's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/birth.h"
#include "client/group/group_routes.h"
#include "client/group/group_view.h"
#include "exchange/exchange.h"
#include "net/live_fabric.h"
#include "thalweg/group.h"

namespace thalweg {

class GroupDriver;

// Shared between who waits for an operation and who ends it.
struct GroupWork::State {
  void end(Status how);
  // Precondition: it has ended, and nobody waits.
  void begin_again() { done.store(false, std::memory_order_relaxed); }
  bool ended() const { return done.load(std::memory_order_acquire); }

  std::atomic<bool> done{false};
  std::mutex mutex;
  std::condition_variable changed;
  Status status;                        // Once done.
  std::coroutine_handle<> waiter;       // Resumed by end().
  const GroupDriver* driver = nullptr;  // Whose own thread ends it; null: none.
  const Birth birth;
};

// What tells an operation from the others of its group; the same at all its ranks.
struct GroupPlace {
  std::uint64_t kind = 0;  // Of which sequence: see CallNote::Place.
  std::uint64_t sequence = 0;
  std::uint16_t first_channel = 0;  // Of the view's.
  std::uint16_t channels = 1;
  std::uint64_t lane = 0;  // Point to point: which peer and way; their channel is the same.
  bool is_started() const {
    return first_channel >= GroupChannels::kStarted && first_channel < GroupChannels::kPointToPoint;
  }
  // Whether one of a group must wait for the other.
  bool shares_with(const GroupPlace& other) const {
    return lane == other.lane && first_channel < other.first_channel + other.channels &&
           other.first_channel < first_channel + channels;
  }
};

// An operation ends without its result, and with it the group.
inline void give_up(GroupView& view, const GroupPlace& place, const Status& why) {
  view.give_up(place.first_channel, place.sequence);
  view.fail(why);
}

class GroupSequel;

struct GroupJob {
  Call call;
  const Plan* plan = nullptr;
  std::shared_ptr<const void> plan_owner;
  std::shared_ptr<std::byte[]> scratch;  // What `call.in` points to, where it is not the caller's.
  std::shared_ptr<GroupView> view;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  GroupPlace place;
  Duration timeout{};
  std::shared_ptr<GroupSequel> sequel;  // Null: the call is all.
};

// The calls that follow one that was started, in its place, so that whatever is started besides does not come
// between them at one rank and behind them at another.
class GroupSequel {
 public:
  virtual ~GroupSequel() = default;
  // The last call ended with `how`. True: `job` is the next one's, but for its number. False: there is none,
  // and `how` is how all of it ended.
  virtual bool next(GroupJob& job, Status& how) = 0;
};

// Work of a driver's thread that is more than one operation.
class GroupTask {
 public:
  virtual ~GroupTask() = default;
  // Goes as far as it can. True when it is over; then the driver touches it no more. It may start operations.
  virtual bool advance(Instant now, bool any_lost) = 0;
  virtual Instant next_deadline() = 0;
};

// Takes what is started in the place of a driver's own thread: a group in virtual time.
class GroupStage {
 public:
  virtual ~GroupStage() = default;
  virtual void start(GroupJob job, std::shared_ptr<GroupWork::State> state) = 0;
  // What is under way ends here and now, as aborted.
  virtual void drop() = 0;
  // What chooses routes for a group of all ranks; null: the group itself.
  virtual RoutePlanner planner() { return nullptr; }
};

// Of a call that would block the thread which ends what it waits for. kUsage.
Status must_start();

class GroupDriver {
 public:
  // `stage`, which outlives the driver: where all operations go, which must be started then. Null: nowhere.
  explicit GroupDriver(std::unique_ptr<LiveFabric> fabric, GroupStage* stage = nullptr);
  ~GroupDriver();  // Waits for what was started.

  LiveFabric& fabric() { return *fabric_; }
  RoutePlanner planner() const { return stage_ != nullptr ? stage_->planner() : nullptr; }
  // Runs it to its end. Precondition: this is not the driver's own thread.
  Status run(Exchange& exchange, const std::shared_ptr<GroupView>& view, const GroupPlace& place,
             Duration timeout);
  // Sends a message to `peer` if its link takes it whole now and no rank was found guilty; else nothing has
  // happened.
  bool send_at_once(GroupView& view, const GroupPlace& place, const PrefaceOf& preface, std::uint32_t peer,
                    Piece data);
  // Receives a message of `size` bytes if it is there, or soon; else nothing has happened.
  bool receive_at_once(GroupView& view, const GroupPlace& place, const Preface& preface, std::uint32_t peer,
                       std::byte* into, std::size_t size);
  // An all-reduce of two ranks in one message each way, by recursive doubling: how far it came at once. What
  // was sent is what an exchange would have.
  enum class Sum : std::uint8_t { kNotBegun, kSent, kDone };
  Sum sum_at_once(GroupView& view, const GroupPlace& place, const PrefaceOf& preface, const Call& call);
  void start(GroupJob job, std::shared_ptr<GroupWork::State> state);
  // The same where its caller has made the exchange, and keeps it and the plan until the end.
  void start(Exchange& exchange, const GroupJob& job, std::shared_ptr<GroupWork::State> state);
  // Precondition: it is not under way.
  void start(GroupTask& task);
  void drain();                       // Waits for all that was started,
  void drain(const GroupView& view);  // or for what was started in one group.
  // Whether this is the thread that runs what was started, and must not wait for it.
  bool on_own_thread() const { return stage_ != nullptr || is_of_this_thread(this); }
  // The same without a stage, of a driver that may be gone by now.
  static bool is_of_this_thread(const GroupDriver* driver);

 private:
  struct Running;
  struct Watch;
  void start(std::unique_ptr<Running> running);
  bool borrow();
  void give_back();
  void take();
  bool run_here(Exchange& exchange, GroupView& view, Watch& watch);
  void work();
  bool take_incoming(std::vector<std::unique_ptr<Running>>& all, std::vector<GroupTask*>& tasks, bool idle);
  bool advance_tasks(std::vector<GroupTask*>& tasks, Instant now, Instant& earliest);
  Instant tell_of(const std::vector<std::unique_ptr<Running>>& all, Instant now);
  struct Ended {
    std::shared_ptr<GroupWork::State> state;
    Status status;
    std::shared_ptr<GroupView> counted;  // Where it was started, unless it was run.
  };
  void advance_all(std::vector<std::unique_ptr<Running>>& all, std::vector<Ended>& ended, Instant now,
                   Instant& earliest);
  bool advance(Running& running, Instant now);
  bool advance_to_end(Running& running, Instant now, Status& how);
  Status end_call(Running& running);
  void begin_work();  // With mutex_.
  void end_work(GroupView* counted = nullptr);
  void say(Ended& ended);

  const std::unique_ptr<LiveFabric> fabric_;
  GroupStage* const stage_;
  std::atomic<bool> in_use_{false};  // The fabric, by a caller's thread or by the own one while it has work.
  std::atomic<std::uint32_t> pending_{0};  // For the own thread.
  Instant tell_at_{};                      // When to tell others again; the own thread's alone, as the next.
  bool began_here_ = false;  // The own thread has started something since it last looked; its alone.
  std::mutex mutex_;         // Guards what follows.
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Running>> incoming_;
  std::vector<GroupTask*> incoming_tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace thalweg
