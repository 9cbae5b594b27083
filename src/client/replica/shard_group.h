// The group that the data shards of a job form, one rank each.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/collective/sparse_all_reduce.h"
#include "thalweg/group.h"
#include "thalweg/options.h"
#include "thalweg/store.h"
#include "thalweg/task.h"

namespace thalweg {

// How a rank waits for what it has started where it must not block: in virtual time.
class GroupWaiter {
 public:
  virtual ~GroupWaiter() = default;
  virtual Task<Status> wait(GroupWork work) = 0;
};

// What one rank has of it. A program that fails gives its own up, so that the others do not wait for it.
struct ShardGroup {
  std::optional<Group> group;
  GroupWaiter* waiter = nullptr;  // Null: waiting blocks. Else it outlives this.
  RouteChoice route;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // Of an exchange.
  bool overlaps = false;  // Dense gradients travel while others are computed; the same at all ranks.
  // Whether ranks are threads of this process, so that one can be lost only by a failure that its own program
  // tells of.
  bool of_threads = false;

  std::uint32_t rank() const { return group->rank(); }
  std::uint32_t size() const { return group->size(); }

  // Runs what blocks until other ranks have done their part.
  template <class Wait>
  auto wait(Wait&& wait) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = wait();
    waited_ += std::chrono::steady_clock::now() - begin;
    return result;
  }
  // The same as tasks, which block or are suspended until then. What the call points to stays as it is.
  Task<Status> run(GroupCall call);
  Task<Status> all_reduce_sparse(SparseCall call);
  Task<Status> finish(GroupWork work);
  // To be called before the memory of what is under way goes: where waiting must not block, that ends now.
  void stop();
  // Since the last call.
  Exchanged take_exchanged();

 private:
  std::chrono::nanoseconds waited_{0};
  std::uint64_t bytes_told_ = 0;
};

// Of an all-reduce of a vector where it is.
GroupCall sum_in_place(std::span<float> vector, const RouteChoice& route);

// For ranks that are threads: by data shard.
std::vector<std::shared_ptr<ShardGroup>> shard_groups(std::uint32_t shards, const RouteChoice& route,
                                                      std::chrono::nanoseconds timeout);

// The table, behind a job's own ones, by which shard 0 tells the others where it listens.
TableSpec meeting_table();
struct MeetingPlace {
  std::string host = "127.0.0.1";  // Where other ranks reach rank 0: an IPv4 address.
  GroupOptions options;            // But for rank, size, host and port.
};
// For ranks that are processes, as each shard's program begins; takes the shard's first step.
Task<Status> meet(Store& shared, TableId meeting, std::uint32_t shards, MeetingPlace place, ShardGroup& made);

// The status of an operation, for the program: where another rank's failure is behind it, the task does not
// end, for the job is about to.
Task<Status> or_wait_for_the_end(ShardGroup& ranks, Status status);

}  // namespace thalweg
