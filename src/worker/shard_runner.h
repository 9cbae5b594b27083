// The programs of the data shards that a worker owns: which may go on, one at a time, and how each ended. One
// computes outside the worker's turns: until it has come to a halt, nobody touches its store, and what there
// is to tell it waits.
#pragma once

#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "node/node.h"
#include "staleness/reached.h"
#include "thalweg/task.h"
#include "wire/messages.h"
#include "worker/shard_store.h"
#include "worker/turn.h"

namespace thalweg {

// The work of one data shard, from store.step() on. Its failure fails the job. `job`: the job's first map
// that this worker saw.
using ShardProgram = std::function<Task<Status>(ShardStore& store, const wire::Map& job)>;

class ShardRunner {
 public:
  // `turn` outlives the runner. `program` may be empty: then shards are used from outside.
  ShardRunner(const WorkerTurn& turn, ShardProgram program) : turn_(turn), program_(std::move(program)) {}

  // Under a job's first map and each that follows.
  void take_map(const wire::Map& map);

  // A shard is this worker's from now on. It starts at once, or when its former owners' marks are known.
  void add(ShardId shard, std::uint32_t owner_epoch);
  void start(ShardId shard, const Reached& marks);
  void run(ShardId shard, const ShardProgram& program);
  // Lets go of it: its program finds that out at its next call. Its requests have ended, or been told to.
  void drop(ShardId shard, const Status& why);
  // Of which owner epoch a shard is that was added; empty for others.
  std::optional<std::uint32_t> owner_epoch(ShardId shard) const;
  std::vector<ShardId> shards() const;  // All that were added, in order.
  bool started(ShardId shard) const;
  // The store of a shard that has started and does not compute; else null.
  ShardStore* store(ShardId shard);
  // Whether it is that of a shard that was not dropped.
  bool keeps(const ShardStore& store) const;
  bool ended(ShardId shard) const;

  // Calls `news` with the shard's store once it does not compute: now, or in the turn of computed().
  using News = std::function<void(ShardStore& store)>;
  void tell(ShardId shard, News news);
  void tell(ShardStore& store, News news);

  // Whether choose() has something to do.
  bool ready() const { return !computing() && (!ready_.empty() || !yielding_.empty()); }
  // Those that let others go first may go on. Does nothing while one computes.
  void wake_yielding();
  // Takes the next program that may go on, if there is one and none computes.
  void choose();
  bool computing() const { return work_.store != nullptr; }
  // The work chosen, once; then null.
  Computation* take_work();
  // It has been done. The store whose calls are to be taken.
  ShardStore& computed();
  void yield(ShardStore& store, std::shared_ptr<Completion> completion);
  // How programs have ended since the last call. Precondition: none computes.
  std::vector<Status> take_ended();
  // Of all programs of data shards, from their begin to their latest halt or return from one; `waited`: of
  // that, until what a program waited for had been answered, or exchanged on a way of its own. Who lets
  // others go first waits for no answer, nor does one that may go on while another computes.
  struct Times {
    Duration total{}, waited{};
    std::uint64_t exchanged_bytes = 0;  // Sent on ways of their own.
  };
  const Times& times() const { return times_; }
  // Destroys what is left of the programs. Precondition: none computes.
  void clear();

 private:
  struct Run {
    std::unique_ptr<ShardStore> store;
    std::optional<Task<Status>> task;
    bool started = false;
    bool ended = false;
  };
  // A part of a program goes on until it waits again, unless another part has ended it meanwhile.
  struct Resumption final : Computation {
    void compute() override {
      if (const auto waiter = std::exchange(answered->waiter, {})) waiter.resume();
    }
    ShardStore* store = nullptr;  // Null: nothing computes.
    std::shared_ptr<Completion> answered;
    bool taken = false;
  };
  void wake(ShardStore& store);
  void count_time(ShardStore& store);

  const WorkerTurn& turn_;
  ShardProgram program_;
  Times times_;
  wire::Map job_;
  bool closes_ = false;
  std::map<ShardId, Run> runs_;
  std::vector<Run> retired_;  // Of shards that were dropped: their programs have still to notice.
  std::deque<std::pair<ShardStore*, std::shared_ptr<Completion>>> ready_;
  Resumption work_;
  std::vector<News> held_;  // For the store that computes.
  std::vector<std::pair<ShardStore*, std::shared_ptr<Completion>>> yielding_;
};

}  // namespace thalweg
