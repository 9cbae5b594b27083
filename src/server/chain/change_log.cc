#include "server/chain/change_log.h"

#include <algorithm>

#include "base/limits.h"
#include "base/planted.h"

namespace thalweg {
namespace {

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

LogEntry part_of(const TableSpec& spec, const LogEntry& entry, RangeSpan ranges) {
  if (const auto* push = std::get_if<PushEntry>(&entry)) return part_of(spec, *push, ranges);
  const auto* step = std::get_if<StepEntry>(&entry);
  if (step == nullptr) return entry;  // What ranges begin with is of one of them.
  StepEntry part{step->closed, ranges, {}, {}};
  for (const auto& [of, sum] : step->sums) {
    if (Payload rows = cut(spec, sum, ranges); !rows.empty()) part.sums.emplace_back(of, std::move(rows));
  }
  for (const PushEntry& arrival : step->arrivals) {
    if (PushEntry marks = marks_part(arrival, ranges); marks.changes())
      part.arrivals.push_back(std::move(marks));
  }
  return part;
}

void ChangeLog::follow(std::vector<RangeSpan> runs, const RangeMarks& arrived) {
  if (!on() && !runs.empty()) told_ = arrived;
  runs_ = std::move(runs);
}

void ChangeLog::own(const RangeSet& owned) {
  if (!on()) return;
  if (const RangeSet lost = told_->owned() - owned; !lost.empty()) {
    for (Held& held : arrivals_) {
      held.push.fresh = held.push.fresh - lost;
      held.push.ended = held.push.ended - lost;
    }
  }
  told_->own(owned);
}

void ChangeLog::tell(RangeId range, const std::vector<Mark>& marks) {
  for (std::uint32_t s = 0; on() && s < shards_; ++s) told_->at(ShardId{s}, range.value) = marks[s];
}

void ChangeLog::add_push(const PushEntry& push) {
  for (const RangeSpan run : runs_) {
    if (!run.overlaps(push.ranges)) continue;
    if (PushEntry part = part_of(*spec_, push, run); part.changes()) entries_.emplace_back(std::move(part));
  }
}

void ChangeLog::add_load(LoadEntry load) {
  const auto covers = [&](RangeSpan run) { return run.contains(load.range); };
  if (std::ranges::any_of(runs_, covers)) entries_.emplace_back(std::move(load));
}

void ChangeLog::add_begin(const RangeState& state) {
  const auto covers = [&](RangeSpan run) { return run.contains(state.range); };
  if (std::ranges::any_of(runs_, covers) && !THALWEG_BUG(kStateUncopied))
    entries_.emplace_back(BeginEntry{state});
}

void ChangeLog::await(const PushEntry& push) {
  if (!on() || !push.changes()) return;
  arrivals_.push_back({push, push.payload.empty()});
  arrivals_.back().push.payload = {};
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
  for (const PushEntry& arrival : arrivals) {
    for (std::uint32_t i = 0; i < arrival.shards; ++i)
      told_->record(ShardId{arrival.shard.value + i}, arrival);
  }
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
        if (PushEntry part = marks_part(arrival, entry.ranges); part.changes())
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
