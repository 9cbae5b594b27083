// A job inside the application's own process: scheduler, servers and workers share a few threads and pass
// each other references, no sockets. Or one whose servers and workers are other processes, see node.h.
// docs/library.md shows the ways of use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/options.h"
#include "thalweg/rule.h"
#include "thalweg/status.h"
#include "thalweg/store.h"
#include "thalweg/task.h"

namespace thalweg {

using CustomRules = std::map<std::string, std::shared_ptr<const CustomRule>>;  // By RuleSpec::custom.

struct JobOptions {
  std::vector<TableSpec> tables;  // tables[i] is TableId{i}.
  std::uint32_t servers = 1;      // Each owns a part of every table's key ranges.
  // Servers that have each key range, 1 to 3: so many less one may be lost. Above 1 in sync, bounded and
  // async mode. 0: 2 there, where servers are at least two processes; 1 elsewhere.
  std::uint32_t replicas = 0;
  std::uint32_t workers = 1;      // Each runs its data shards' programs, one at a time.
  std::uint32_t data_shards = 1;  // In sync mode the result's bits depend on this number, on no other here.
  Consistency consistency;
  Combining combine;        // In sync mode and softsync; Combining::machine() adds up at one worker for all.
  std::size_t threads = 2;  // Of the job itself; a thread that waits in a call helps them.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // Of a wait in which nobody gets on.
  // Where nodes are processes: one that says nothing for so long counts as lost, 100 ms to `timeout`. 0: 10
  // s, or half of `timeout` where that is less.
  std::chrono::nanoseconds silence{};
  CustomRules rules;
  // Gets each Store::report() once, in a shard's order; one call at a time, on any thread.
  std::function<void(ShardId, ReportId, std::string_view)> on_report;
  // Asked ten times a second by each thread that waits in a call of a BlockingStore or in scan(); once it
  // says true, that call ends with kAborted, and its request stays under way.
  std::function<bool()> interrupted;
};

// The work of one data shard. When it returns OK, the shard ends its work (Store::end_work()) and the others
// go on; any other status ends the job. It must not wait for another program, nor call the Job that runs it
// (what would wait for the program itself is kUsage), but may compute for as long as others wait for it,
// JobOptions::timeout. Where workers are processes, it begins at Store::step().
using Program = std::function<Task<Status>(Store& store)>;

// Of all servers, now.
struct JobStats {
  std::uint64_t rows = 0;           // Stored by all tables.
  std::uint64_t table_bytes = 0;    // Allocated by all tables.
  std::uint32_t staleness_max = 0;  // Steps that a pull's shard led the slowest one, at most so far.
};

class Job;
struct NodeOptions;

// A data shard's Store for a thread of the application: the same calls, which return when they are done. One
// thread at a time for a shard; threads with different shards run at the same time. Must not outlive its
// Job. Errors: those of Store; kTimeout also when `timeout` passes first, and the message names who was
// waited for: the request stays under way, so a push must not be repeated; kUsage while programs run.
class BlockingStore {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kJobTimeout = Timeout::max();  // JobOptions::timeout alone decides.

  ShardId shard() const { return shard_; }
  Step step() const;
  // Done when every server concerned has `grads`, dim floats a key, in the order of `keys`.
  Status push(TableId table, Keys keys, Rows grads, Timeout timeout = kJobTimeout);
  // Rows: dim floats a key, in the order of `keys`.
  Result<Rows> pull(TableId table, Keys keys, Timeout timeout = kJobTimeout);
  Result<Rows> read(TableId table, Keys keys, Timeout timeout = kJobTimeout);
  // push(), advance(), then pull() of the same keys in the next step, in one round trip.
  Result<Rows> push_pull(TableId table, Keys keys, Rows grads, Timeout timeout = kJobTimeout);
  Status advance(Timeout timeout = kJobTimeout);
  Status end_epoch(Timeout timeout = kJobTimeout);
  Status end_work(Timeout timeout = kJobTimeout);
  Status barrier(BarrierId id, Timeout timeout = kJobTimeout);

 private:
  friend class Job;
  class Calls;
  BlockingStore(Calls& calls, ShardId shard) : calls_(&calls), shard_(shard) {}

  Calls* calls_;
  ShardId shard_;
};

// Functions may be called from any thread that is not running a program of the job; there run(), scan() and
// the calls of a BlockingStore are kUsage.
class Job {
 public:
  // Returns when every shard may be used. Errors: kUsage, naming the option that is wrong.
  static Result<Job> start(JobOptions options);
  // Makes this process the scheduler of the servers and workers that join it, see node.h, and returns when it
  // listens. The calls below wait for them first: kTimeout names those who are missing. Errors: kUsage, kIo.
  static Result<Job> listen(JobOptions options, const NodeOptions& node);
  Job(Job&& other) noexcept;
  Job& operator=(Job&& other) noexcept;
  ~Job();  // Ends the job on all nodes: calls and programs under way fail with kAborted.

  // Runs `program` once for each data shard, and returns when none runs any more: OK when all returned OK,
  // else the first failure. Once in a job; then read(), scan() and stats() show what came out. After listen()
  // the workers bring the program: run() takes none and waits for theirs.
  Status run(Program program = nullptr);
  // Precondition: `shard` is below JobOptions::data_shards. After listen() it can read() and nothing else.
  BlockingStore shard(ShardId shard);
  // The step that the shard's next push and pull belong to; after listen() and inside a program not known
  // here, and the first.
  Step clock(ShardId shard) const;
  // Calls `row` with each stored key (dense: row number) and its dim floats, in an order that depends on the
  // keys only. Shows what has been applied: in sync mode the steps that every shard has ended.
  Status scan(TableId table, const std::function<void(Key key, std::span<const float> row)>& row);
  JobStats stats() const;  // After listen(): as the servers said it, at most a second ago.
  // Asks the programs to end early, see Store::closing().
  void close();
  // Where it listens, after listen().
  const std::string& address() const;

 private:
  class Impl;
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
