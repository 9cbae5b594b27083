// One server's part of one table with its protocol state: marks, gate, contributions of open steps, replies
// to replay.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/frame.h"
#include "staleness/gate.h"
#include "staleness/marks.h"
#include "table/table.h"
#include "wire/messages.h"

namespace thalweg {

class TableHost {
 public:
  TableHost(std::unique_ptr<Table> table, RangeSpan owned, Consistency consistency, std::uint32_t shards);

  // What a push came to. kOk: applied or buffered, or a repeat of what was. kRetry: too far ahead of what
  // arrived.
  Status push(const Frame& frame);
  // The rows, or kRetry while the gate is shut.
  Result<Bytes> pull(const Frame& frame);
  wire::Waiting waiting_for(const FrameHeader& head) const;
  Step clock(ShardId shard) const { return gate_.clock(shard); }
  wire::Marks marks(ShardId shard) const {
    wire::Marks marks = reached_[shard.value];
    marks.low = clock(shard);
    return marks;
  }

  const Table& table() const { return *table_; }
  std::uint32_t staleness_max() const { return staleness_max_; }
  std::uint64_t repeats() const { return repeats_; }
  std::size_t steps_open() const { return open_steps_.size(); }
  std::size_t replies_remembered() const {
    std::size_t count = 0;
    for (const auto& of_shard : replays_) {
      for (const auto& [step, replies] : of_shard) count += replies.size();
    }
    return count;
  }
  // Grows whenever a waiting pull may have become answerable.
  std::uint64_t version() const { return version_; }

 private:
  // The contribution to a step of one shard, or of a block of them; holds the frame's payload, not a copy.
  struct Part {
    RangeSpan ranges;
    Bytes keys;
    Bytes values;
  };
  // By (first) shard; those of one shard are for different ranges.
  using StepParts = std::vector<std::vector<Part>>;
  // An answer given to a shard, so that its heir computes on the very same rows (sync mode).
  struct Replay {
    RangeSpan ranges;
    Bytes keys;
    Bytes rows;
  };

  Mark& mark(ShardId shard, std::uint16_t range) {
    return marks_[std::size_t{shard.value} * owned_.size() + (range - owned_.begin)];
  }
  Status check_push(const Frame& frame) const;
  // Adds to `fresh` the runs of ranges for which a push is new, of any of its shards; a re-split repeat may
  // be new for some ranges only.
  Status classify(const FrameHeader& head, std::vector<RangeSpan>& fresh);
  Status check_pull(const Frame& frame) const;
  bool too_far(Step step) const;
  void accept(const Frame& frame, RangeSpan ranges);
  void advance_clock(ShardId shard);
  void close_steps();
  Part cut(const Part& part, RangeSpan ranges) const;
  void supersede(StepParts& parts, const FrameHeader& block, RangeSpan ranges) const;
  const Replay* find_replay(const Frame& frame) const;
  Status remember_reply(const Frame& frame, const Bytes& rows);

  std::unique_ptr<Table> table_;
  RangeSpan owned_;
  bool sync_;
  Gate gate_;
  std::vector<Mark> marks_;           // shards x owned ranges
  std::vector<wire::Marks> reached_;  // By shard; `low` is the gate's.
  std::map<Step, StepParts> open_steps_;
  std::vector<std::map<Step, std::vector<Replay>>> replays_;  // By shard; the newest steps that pulled.
  std::uint32_t staleness_max_ = 0;
  std::uint64_t repeats_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace thalweg
