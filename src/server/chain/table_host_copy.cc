// The part of TableHost that is about copies: what they begin with, how they follow, and what becomes of
// them.
#include <algorithm>
#include <utility>

#include "base/coverage/reached.h"
#include "base/limits.h"
#include "base/planted.h"
#include "server/table_host.h"

namespace thalweg {

void TableHost::log_changes(std::vector<RangeSpan> runs) {
  const bool begins = !log_.on() && !runs.empty();
  if (begins && !THALWEG_BUG(kOpenStepsUncopied)) logged_from_ = open_steps_.end();
  log_.follow(std::move(runs), marks_);
}

// What has come for steps that are open is in no copy yet, so that its pushers send it again.
CopyState TableHost::copy_state(RangeId range) {
  redo(0);
  CopyState copy{state_of(range), copied_[range.value], images_.of(range)};
  copy.state.open_steps.clear();
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
    if (log_.on() && policy_->keeps_steps() && !THALWEG_BUG(kHeldCounted))
      copy.state.marks[s] = log_.told(ShardId{s}, range);
    if (THALWEG_BUG(kMarksUncopied)) copy.state.marks[s] = marks_.none();
  }
  return copy;
}

Status TableHost::join(CopyState copy) {
  const RangeId range = copy.state.range;
  if (owned().contains(range)) drop(only(range));
  std::vector<RangeState> states;
  states.push_back(std::move(copy.state));
  if (Status adopted = adopt(std::move(states)); !adopted.ok()) return adopted;
  copied_[range.value] = copy.copied;
  images_.put(range, std::move(copy.images));
  return ok_status();
}

// The runs of those that are owned, which have come equally far.
std::vector<RangeSpan> TableHost::copied_alike(RangeSpan ranges) const {
  std::vector<RangeSpan> runs;
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
    if (!owned().contains(RangeId{range})) continue;
    const auto next = static_cast<std::uint16_t>(range + 1);
    const bool goes_on = !runs.empty() && runs.back().end == range && copied_[range] == copied_[range - 1u];
    if (goes_on) {
      runs.back().end = next;
    } else {
      runs.push_back({range, next});
    }
  }
  return runs;
}

void TableHost::redo(std::size_t steps_left) {
  redo_.redo(steps_left, [this](Step step, RangeSpan ranges, const Payload& change) {
    const Contribution all{change.keys.as<std::uint64_t>(), change.values.as<float>()};
    images_.keep(*table_, step, ranges, all);
    change_rows({&all, 1});
  });
}

Status TableHost::replay(LogEntry entry) {
  defers_ = true;
  const Status status = replay_owned(std::move(entry));
  if (redo_.bytes() > limits::kRedoBytesMax) redo(policy_->steps_replayed());
  return status;
}

Status TableHost::replay_owned(LogEntry entry) {
  const auto replay_part = [this](LogEntry part) {
    return std::visit([this](auto& of_kind) { return replay(std::move(of_kind)); }, part);
  };
  const RangeSpan whole = ranges_of(entry);
  for (const RangeSpan run : copied_alike(whole)) {
    if (run == whole) return replay_part(std::move(entry));
    if (Status status = replay_part(part_of(table_->spec(), entry, run)); !status.ok()) return status;
  }
  return ok_status();
}

Status TableHost::replay(PushEntry push) {
  PushEntry news = push;
  news.fresh = news.ended = {};
  FrameHeader head;
  head.ranges = push.ranges;
  head.step = push.step;
  if (Status status = find_news(head, news); !status.ok()) return status;
  const RangeSet known = push.fresh - news.fresh;
  push.fresh = push.fresh - known;
  if (push.changes()) apply(std::move(push));
  return ok_status();
}

// Sums of steps that the copies have, as where a chain has lost a link, are left out.
Status TableHost::replay(const StepEntry& entry) {
  std::map<Step, RangeSet> closed;
  for (const PushEntry& arrival : entry.arrivals) closed[arrival.step] = closed[arrival.step] + arrival.fresh;
  for (const auto& [step, ranges] : closed) {
    if (step < entry.closed) images_.on_closed(step, ranges);
  }
  for (const auto& [step, sum] : entry.sums) {
    if (step < copied_[entry.ranges.begin] && !THALWEG_BUG(kEntryTwice)) {
      THALWEG_REACHED(kSumKnown);
      continue;
    }
    redo_.add(step, entry.ranges, sum);
  }
  for (const PushEntry& arrival : entry.arrivals) mark(arrival);
  for (std::uint16_t range = entry.ranges.begin; range < entry.ranges.end; ++range)
    copied_[range] = std::max(copied_[range], entry.closed);
  applied_ = std::max(applied_, entry.closed);
  return ok_status();
}

// Where a chain has lost a link it may come behind pushes, which hold it already.
Status TableHost::replay(const LoadEntry& load) {
  if (has_pushes(load.range) && !THALWEG_BUG(kLoadTakesBack)) {
    THALWEG_REACHED(kLoadKnown);
    return ok_status();
  }
  const auto keys = load.rows.keys.as<std::uint64_t>();
  if (Status status = table_->check_keys(keys, only(load.range)); !status.ok()) return status;
  return table_->load(load.range, {keys, load.rows.values.as<float>(), load.width});
}

}  // namespace thalweg
