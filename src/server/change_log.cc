#include "server/change_log.h"

#include <algorithm>

#include "base/limits.h"

namespace thalweg {
namespace {

RangeSet inside(const RangeSet& set, RangeSpan span) { return set - (set - RangeSet(span)); }

// What a push changes in these ranges.
PushEntry part_of(const PushEntry& push, RangeSpan span) {
  PushEntry part{push.shard, push.shards, push.step, push.ends, {}, {}, {}, push.ranges, {}};
  part.fresh = inside(push.fresh, span);
  part.ended = inside(push.ended, span);
  return part;
}

// Neighbouring shards to which the same has happened, one after the other, become one entry. Their order
// stays: of a block and of one of its shards the first counts.
void merge_neighbours(std::vector<PushEntry>& arrivals) {
  std::vector<PushEntry> merged;
  for (PushEntry& arrival : arrivals) {
    if (!merged.empty()) {
      PushEntry& last = merged.back();
      const bool next = arrival.step == last.step && arrival.shard.value == last.shard.value + last.shards;
      if (next && arrival.ends == last.ends && arrival.fresh == last.fresh && arrival.ended == last.ended) {
        last.shards += arrival.shards;
        continue;
      }
    }
    merged.push_back(std::move(arrival));
  }
  arrivals = std::move(merged);
}

}  // namespace

void ChangeLog::follow(std::vector<RangeSpan> runs) {
  runs_ = std::move(runs);
  if (!runs_.empty()) return;
  arrivals_.clear();
  sums_.clear();
  entries_.clear();
}

void ChangeLog::add_push(const PushEntry& push) {
  for (const RangeSpan run : runs_) {
    if (!run.overlaps(push.ranges)) continue;
    PushEntry part = part_of(push, run);
    if (!part.changes()) continue;
    part.ranges = {std::max(run.begin, push.ranges.begin), std::min(run.end, push.ranges.end)};
    part.payload = part.ranges == push.ranges ? push.payload : cut(*spec_, push.payload, part.ranges);
    entries_.emplace_back(std::move(part));
  }
}

void ChangeLog::add_load(LoadEntry load) {
  const auto covers = [&](RangeSpan run) { return run.contains(load.range); };
  if (std::ranges::any_of(runs_, covers)) entries_.emplace_back(std::move(load));
}

void ChangeLog::await(const PushEntry& push) {
  if (!on() || !push.changes()) return;
  arrivals_.push_back({push, push.payload.empty()});
  arrivals_.back().push.payload = {};
}

void ChangeLog::await_sum(Step step, const Contribution& sum) {
  sums_.emplace_back(step, Payload{Bytes::of(std::vector<std::uint64_t>(sum.keys.begin(), sum.keys.end())),
                                   Bytes::of(std::vector<float>(sum.grads.begin(), sum.grads.end()))});
}

// An open step needs no sum to be known of where all that shards have pushed to it is nothing. But a shard's
// steps become known in their order, for no copy sees beyond an epoch that has not ended.
std::vector<PushEntry> ChangeLog::take_due(Step closed) {
  std::vector<PushEntry> due;
  std::vector<bool> waits(shards_);  // Shards of which something stays.
  std::erase_if(arrivals_, [&](Held& held) {
    const auto first = waits.begin() + held.push.shard.value, end = first + held.push.shards;
    if (held.push.step < closed || (held.bare && std::find(first, end, true) == end)) {
      due.push_back(std::move(held.push));
      return true;
    }
    std::fill(first, end, true);
    return false;
  });
  return due;
}

// In pieces that fit a frame.
void ChangeLog::add_steps(Step closed) {
  std::vector<PushEntry> arrivals = take_due(closed);
  const Sums sums = std::exchange(sums_, {});
  if (arrivals.empty() && sums.empty()) return;
  merge_neighbours(arrivals);
  std::size_t bytes = 0;
  for (const auto& [step, sum] : sums) bytes += sum.keys.size() + sum.values.size();
  for (const RangeSpan run : runs_) {
    const std::size_t pieces = std::min<std::size_t>(run.size(), bytes / limits::kRequestBytesTarget + 1);
    const auto bound = [&](std::size_t piece) {
      return static_cast<std::uint16_t>(run.begin + run.size() * piece / pieces);
    };
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      StepEntry entry{closed, {bound(piece), bound(piece + 1)}, {}, {}};
      for (const auto& [step, sum] : sums) {
        if (Payload part = cut(*spec_, sum, entry.ranges); !part.empty())
          entry.sums.emplace_back(step, std::move(part));
      }
      for (const PushEntry& arrival : arrivals) {
        if (PushEntry part = part_of(arrival, entry.ranges); part.changes())
          entry.arrivals.push_back(std::move(part));
      }
      if (!entry.sums.empty() || !entry.arrivals.empty()) entries_.emplace_back(std::move(entry));
    }
  }
}

bool ChangeLog::holds_back(ShardId first, std::uint32_t shards, Step step) const {
  return std::ranges::any_of(arrivals_, [&](const Held& held) {
    const PushEntry& push = held.push;
    return push.step == step && push.shard.value < first.value + shards &&
           first.value < push.shard.value + push.shards;
  });
}

Step ChangeLog::first_open(ShardId shard, Step clock) const {
  for (const Held& held : arrivals_) {
    const PushEntry& push = held.push;
    const bool of_shard = shard.value >= push.shard.value && shard.value - push.shard.value < push.shards;
    if (of_shard) clock = std::min(clock, push.step);
  }
  return clock;
}

}  // namespace thalweg
