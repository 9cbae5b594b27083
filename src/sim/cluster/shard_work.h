// The programs of the data shards: they do the workload and check, as any application could, what comes back.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "sim/cluster/workload.h"
#include "sim/findings.h"
#include "worker/worker.h"

namespace thalweg::sim {

// Of a table: all rows in ascending key order, state included.
struct Contents {
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  std::size_t width = 0;
};

class ShardWork {
 public:
  ShardWork(const Workload& workload, Findings& findings, std::function<Instant()> now)
      : workload_(workload), findings_(findings), now_(std::move(now)) {}

  ShardProgram program();
  // Loads what the plan says; waits until all shards are done, then reads every row of every table and keeps
  // it, as if to save it.
  ShardProgram observer();
  // By table; none until the observer is through.
  const std::vector<Contents>& saved() const { return saved_; }
  // Every shard's program has come to its end in some worker.
  bool all_done() const { return done_.size() == workload_.plan().shards; }
  // Another scheduler tells all reports again, and has another observer.
  void report_anew() { reported_.clear(); }
  void note_loaded(bool loaded) { loaded_ = loaded; }
  void on_report(ShardId shard, ReportId number, std::string_view text);
  // Time that tasks spent waiting for pulls, summed over all shards.
  Duration pull_wait() const { return pull_wait_; }
  // The most steps that a shard was past one that was unanswered.
  std::uint64_t behind_max() const { return behind_max_; }

 private:
  // What one task knows, from the step where it took the shard over.
  struct Run {
    bool heir = false;  // Some of its steps may have been done, in part, by an earlier owner.
    std::deque<Pending> unanswered;
    std::optional<Pending> ending;
    std::map<std::pair<TableId, ShardId>, float> counters;  // As last read.
  };

  Task<Status> run(ShardStore& store);
  Task<Status> observe(ShardStore& store);
  Task<Status> load_all(ShardStore& store);
  Task<Status> read_all(ShardStore& store);
  Task<Status> one_step(ShardStore& store, Run& run);
  Task<Status> settle(Run& run, std::size_t keep);
  Task<Status> end_epoch(ShardStore& store, Run& run);
  Task<Status> meet(ShardStore& store, Run& run, std::uint32_t epoch);
  Task<Status> barrier(ShardStore& store, BarrierId id);
  // As the observer, at what a pass has left.
  Task<Status> look(ShardStore& store, std::uint32_t epoch);
  void check_window(const ShardStore& store);
  void check_pull(const ShardStore& store, Run& run, TableId table, const RowSet& set,
                  std::span<const float> read);
  void check_counter(const ShardStore& store, Run& run, TableId table, ShardId counted, float value);
  std::size_t check_scan(TableId table, const std::map<Key, std::vector<float>>& sums, const Answer& answer);
  void check_look(const ShardStore& store, const Run& run, TableId table, std::uint32_t epoch,
                  const RowSet& set, std::span<const float> read);

  const Workload& workload_;
  Findings& findings_;
  std::function<Instant()> now_;
  std::set<ShardId> done_;
  std::map<BarrierId, std::set<ShardId>> came_to_barrier_;
  std::set<std::uint32_t> looked_;  // Passes that the observer has looked at.
  std::map<ShardId, ReportId> reported_;
  std::vector<Contents> saved_;
  bool loaded_ = false;  // Before the observer came.
  Duration pull_wait_{};
  std::uint64_t behind_max_ = 0;
};

}  // namespace thalweg::sim
