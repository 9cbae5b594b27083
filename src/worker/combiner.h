// Adds up the pushes of several data shards before they travel: those of aligned blocks, by the tree of
// table/reduce.h, so that no bit of the result tells. It answers nobody and remembers no push that has left:
// who asked is handed on with what is sent, and what a map change makes it forget comes again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/instant.h"
#include "table/reduce.h"

namespace thalweg {

// Who sent a push and waits for its answer.
struct Asker {
  NodeId from;
  FrameHeader head;
};

class Combiner {
 public:
  // A push to send on, and those that it answers.
  struct Batch {
    Frame frame;
    std::vector<Asker> askers;
  };

  // For whom a push waits here, for limits::kCombineHold at most: for all of its step, as whoever reads in
  // the next one does anyway, or for what left here before it to be answered.
  enum class WaitFor : std::uint8_t { kStep, kAnswer };

  // Forgets all pushes. From now on those of `expected` come through here, out of `shards`.
  void reset(std::span<const TableSpec> tables, std::uint32_t shards, std::vector<ShardId> expected,
             WaitFor wait_for = WaitFor::kStep);
  // Precondition: `push` is well-formed, and from this combiner's shards.
  void add(Instant now, NodeId from, Frame push);
  // What waits for nothing, or has waited for long.
  std::vector<Batch> take(Instant now);
  // One of the batches about these ranges is answered, or will never be.
  void on_answered(TableId table, RangeSpan ranges);
  Instant next_deadline() const { return due_; }  // kNever when nothing waits.

 private:
  struct Waiting {
    Frame frame;
    std::vector<Asker> askers;
  };
  using Lane = std::tuple<TableId, std::uint16_t, std::uint16_t>;  // A table's ranges.
  // Pushes of one lane and step that end the same.
  struct Group {
    Instant due;
    std::map<std::uint32_t, Waiting> waiting;  // By first shard; disjoint blocks.
  };
  using GroupKey = std::tuple<Lane, Step, std::uint8_t>;
  using Block = std::vector<Waiting*>;  // In order of their shards.

  bool complete(const GroupKey& key) const;
  bool held(Instant now, const GroupKey& key, const Group& group) const;
  void cover(Group& group, std::vector<Batch>& out);
  std::optional<Frame> sum(const Block& block);
  std::optional<Frame> sum_parts(std::span<const Contribution> parts, Frame frame);

  std::vector<TableSpec> tables_;
  std::uint32_t shards_ = 0;
  std::vector<ShardId> expected_;
  std::map<Lane, std::vector<Step>> next_;  // By shard: the first step whose push has not been here.
  std::map<GroupKey, Group> groups_;
  WaitFor wait_for_ = WaitFor::kStep;
  std::map<Lane, std::size_t> unanswered_;  // Batches; none where nothing waits for answers.
  bool news_ = false;                       // Since the last take().
  Instant due_ = kNever;
  SparseReducer sparse_;
  DenseReducer dense_;
};

}  // namespace thalweg
