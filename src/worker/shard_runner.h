// The programs of the data shards that a worker owns: which may go on, in turn, and how each ended.
#pragma once

#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "thalweg/task.h"
#include "wire/messages.h"
#include "worker/shard_store.h"

namespace thalweg {

// The work of one data shard, from store.step() on. Its failure fails the job. `job`: the job's first map
// that this worker saw.
using ShardProgram = std::function<Task<Status>(ShardStore& store, const wire::Map& job)>;

class ShardRunner {
 public:
  // `program` may be empty: then shards are used from outside.
  explicit ShardRunner(ShardProgram program) : program_(std::move(program)) {}

  // Under a job's first map and each that follows.
  void take_map(const wire::Map& map);

  // A shard is this worker's from now on. It starts at once, or when its former owners' marks are known.
  void add(ShardId shard, std::uint32_t owner_epoch);
  void start(ShardId shard, const wire::Marks& marks);
  void run(ShardId shard, const ShardProgram& program);
  // Lets go of it: its program finds that out at its next call. Its requests have ended.
  void drop(ShardId shard, const Status& why);
  // Of which owner epoch a shard is that was added; empty for others.
  std::optional<std::uint32_t> owner_epoch(ShardId shard) const;
  std::vector<ShardId> shards() const;  // All that were added, in order.
  // The store of a shard that has started; else null.
  ShardStore* store(ShardId shard);
  bool ended(ShardId shard) const;

  // What a request of the shard came to. A push: false when it is the first to fail.
  void answer(ShardId shard, Completion& completion, Answer answer);
  bool push_done(ShardId shard, Step step, const Status& status);
  // For what a program asks after its shard has failed.
  void refuse(ShardStore& store, Completion& completion);

  // Whether resume() has something to do.
  bool ready() const { return !ready_.empty() || !yielding_.empty(); }
  // Those that let others go first may go on.
  void wake_yielding();
  // Lets one program go on until it waits. The store whose calls are to be taken; null when none was ready.
  ShardStore* resume();
  void yield(ShardStore& store, std::shared_ptr<Completion> completion);
  // How programs have ended since the last call.
  std::vector<Status> take_ended();
  // Destroys what is left of the programs.
  void clear();

 private:
  struct Run {
    std::unique_ptr<ShardStore> store;
    std::optional<Task<Status>> task;
    bool started = false;
    bool ended = false;
  };
  struct Ready {
    ShardStore* store;
    std::coroutine_handle<> from;
  };
  void wake(ShardStore& store);

  ShardProgram program_;
  wire::Map job_;
  bool closes_ = false;
  std::map<ShardId, Run> runs_;
  std::vector<Run> retired_;  // Of shards that were dropped: their tasks have still to notice.
  std::deque<Ready> ready_;   // Tasks to resume, one a turn.
  std::vector<std::pair<ShardStore*, std::shared_ptr<Completion>>> yielding_;
};

}  // namespace thalweg
