// What a host changes in ranges of which others keep copies, as entries for those who do. Where steps are
// kept until they close, pushes and sums are held back until their steps have. Once there have been copies
// that is so of all ranges, for whoever comes to keep a copy of one must get what has been acknowledged.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "server/chain/log_entry.h"
#include "server/range_marks.h"
#include "table/table.h"

namespace thalweg {

// What of an entry concerns some of its ranges, of which these are.
LogEntry part_of(const TableSpec& spec, const LogEntry& entry, RangeSpan ranges);

class ChangeLog {
 public:
  // `spec` outlives this.
  ChangeLog(const TableSpec& spec, std::uint32_t shards) : spec_(&spec), shards_(shards) {}

  // Logs changes in these runs, an entry being of one; ascending, and no two overlap. `arrived`: what has
  // come so far.
  void follow(std::vector<RangeSpan> runs, const RangeMarks& arrived);
  bool follows() const { return !runs_.empty(); }
  // Whether there have ever been such runs.
  bool on() const { return told_.has_value(); }
  // Ranges that stay keep what has been told of them.
  void own(const RangeSet& owned);
  void tell(RangeId range, const std::vector<Mark>& marks);
  // What has come and is not held back: a copy has these marks. Precondition: on(), and the range is owned.
  const Mark& told(ShardId shard, RangeId range) const { return told_->at(shard, range.value); }

  void add_push(const PushEntry& push);
  void add_load(LoadEntry load);
  void add_begin(const RangeState& state);
  void await(const PushEntry& push);
  void await_sum(Step step, const Payload& sum) { sums_.emplace_back(step, sum); }
  // What is held back of the steps before `closed`, and pushes of nothing behind which nothing is.
  void add_steps(Step closed);
  std::vector<LogEntry> take() { return std::exchange(entries_, {}); }

  // Whether a push of some of these shards to this step is held back.
  bool holds_back(ShardId first, std::uint32_t shards, Step step) const;
  // The shard's first step that is held back, or `clock` where none is.
  Step first_open(ShardId shard, Step clock) const;

 private:
  using Sums = std::vector<std::pair<Step, Payload>>;  // Ascending by step.
  struct Held {
    PushEntry push;     // Without what was pushed.
    bool bare = false;  // That was nothing.
  };
  std::vector<PushEntry> take_due(Step closed);

  const TableSpec* spec_;
  std::uint32_t shards_;
  std::vector<RangeSpan> runs_;
  std::optional<RangeMarks> told_;
  std::vector<Held> arrivals_;  // In the order in which they came.
  Sums sums_;
  std::vector<LogEntry> entries_;
};

}  // namespace thalweg
