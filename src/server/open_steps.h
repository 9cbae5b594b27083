// What has come and is no update yet: sync mode, for steps that some shard has still to push to. Where pushes
// are counted, an update's epoch and number take the place of a step, and a push's number in it that of its
// shard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "server/push_entry.h"
#include "server/range_state.h"
#include "table/table.h"

namespace thalweg {

class OpenSteps {
 public:
  explicit OpenSteps(std::uint32_t shards) : shards_(shards) {}

  // Keeps a push's part for ranges where it is new. A block takes the place of what its shards sent singly.
  void add(const TableSpec& spec, const PushEntry& push, StepPart part);
  // Hands out the steps before `closed`, earliest first, each with its contributions in order of their
  // shards, and forgets them.
  void close(Step closed, const std::function<void(Step, std::span<const Contribution>)>& apply);
  // Keeps what is pushed as the place-th part of a step. Precondition: of those ranges there is none at it.
  void keep(Step step, std::size_t place, StepPart part);
  // Hands out what there is of one step for these ranges, in order of places, and forgets it.
  void close(const TableSpec& spec, Step step, RangeSpan ranges,
             const std::function<void(std::span<const Contribution>)>& apply);
  std::size_t size() const { return steps_.size(); }
  bool any_before(Step step) const { return !steps_.empty() && steps_.begin()->first < step; }
  // One past the newest; the first of all where there is none.
  Step end() const { return steps_.empty() ? Step{} : steps_.rbegin()->first.next(); }
  // Of all values that are kept.
  std::uint64_t value_bytes() const { return value_bytes_; }

  // What there is of one range.
  std::map<Step, StepParts> of(const TableSpec& spec, RangeId range) const;
  void remove(const TableSpec& spec, const RangeSet& ranges);
  void adopt(std::map<Step, StepParts> steps);

 private:
  void supersede(const TableSpec& spec, StepParts& parts, const PushEntry& block, RangeSpan ranges);

  std::uint32_t shards_;
  std::map<Step, StepParts> steps_;
  std::uint64_t value_bytes_ = 0;
};

}  // namespace thalweg
