// The part of TableHost that is about copies: what they begin with, how they follow, and what becomes of
// them.
#include <algorithm>
#include <utility>

#include "base/check.h"
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
  CopyState copy{known_of(range), table_->rows_of(range), copied_[range.value], images_.of(range)};
  copy.state.open_steps.clear();
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
    if (log_.on() && policy_->keeps_steps() && !THALWEG_BUG(kHeldCounted))
      copy.state.marks[s] = log_.told(ShardId{s}, range);
    if (THALWEG_BUG(kMarksUncopied)) copy.state.marks[s] = marks_.none();
  }
  return copy;
}

Payload TableHost::copied_rows(RangeId range, std::uint64_t from, std::size_t count) {
  redo(0);
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  table_->copy_rows(range, from, count, keys, rows);
  return {Bytes::of(std::move(keys)), Bytes::of(std::move(rows))};
}

Status TableHost::begin_copy(CopyState known) {
  const RangeId range = known.state.range;
  if (owned().contains(range)) drop(only(range));
  std::vector<RangeState> states;
  states.push_back(std::move(known.state));
  if (Status adopted = adopt(std::move(states)); !adopted.ok()) return adopted;
  table_->expect(range, std::min(known.rows, limits::kRowsExpectedMax));
  copied_[range.value] = known.copied;
  filled_[range] = 0;
  return ok_status();
}

Status TableHost::fill_copy(RangeId range, const Payload& rows, bool last) {
  const auto filled = filled_.find(range);
  THALWEG_CHECK(filled != filled_.end(), "a copy that lacks rows");
  const auto keys = rows.keys.as<std::uint64_t>();
  if (!keys.empty()) {
    if (keys.front() < filled->second) return {Code::kData, "its rows do not ascend"};
    Status loaded = table_->load(range, {keys, rows.values.as<float>(), table_->stored_width()});
    if (!loaded.ok()) return loaded;
    filled->second = keys.back() + 1;
  }
  if (last) filled_.erase(filled);
  return ok_status();
}

Status TableHost::end_copy(CopyState known) {
  const RangeId range = known.state.range;
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
    if (known.state.marks[s] != marks_.at(ShardId{s}, range.value))
      return {Code::kData, "entries tell of other pushes than have come"};
  }
  replies_.remove(table_->spec(), only(range));
  take_on(std::move(known.state));
  copied_[range.value] = std::max(copied_[range.value], known.copied);
  images_.put(range, std::move(known.images));
  return ok_status();
}

Payload TableHost::to_rows_there(RangeSpan ranges, Payload change) const {
  const auto filled = filled_.find(RangeId{ranges.begin});
  if (filled == filled_.end() || change.empty() || THALWEG_BUG(kCopiedAhead)) return change;
  const auto keys = change.keys.as<std::uint64_t>();
  std::size_t there = static_cast<std::size_t>(std::ranges::lower_bound(keys, filled->second) - keys.begin());
  THALWEG_REACHED(kChangedWhileCopied);
  if (table_->spec().kind == TableSpec::Kind::kDense && there > 0) {
    const std::size_t row = table_->spec().dim * sizeof(float);
    const std::size_t rows = std::min(change.values.size() / row, filled->second - keys[0]);
    return {change.keys, change.values.part(0, rows * row)};
  }
  if (there == 0) return {};
  const std::size_t row = change.values.size() / keys.size();
  return {change.keys.part(0, there * sizeof(std::uint64_t)), change.values.part(0, there * row)};
}

void TableHost::redo_later(Step step, RangeSpan ranges, Payload change) {
  change = to_rows_there(ranges, std::move(change));
  if (!change.empty()) redo_.add(step, ranges, std::move(change));
}

// The runs of those that are owned, which have come equally far, and lack no rows where they are several.
std::vector<RangeSpan> TableHost::copied_alike(RangeSpan ranges) const {
  std::vector<RangeSpan> runs;
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
    if (!owned().contains(RangeId{range})) continue;
    const auto next = static_cast<std::uint16_t>(range + 1);
    const auto whole = [this](unsigned of) {
      return !filled_.contains(RangeId{static_cast<std::uint16_t>(of)});
    };
    const bool goes_on = !runs.empty() && runs.back().end == range && copied_[range] == copied_[range - 1u] &&
                         whole(range) && whole(range - 1u);
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
    const Contribution all = contribution_of(change);
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
    redo_later(step, entry.ranges, sum);
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
  const auto all = load.rows.keys.as<std::uint64_t>();
  if (Status status = table_->check_keys(all, only(load.range)); !status.ok()) return status;
  const auto filled = filled_.find(load.range);
  const auto end = filled == filled_.end() ? all.end() : std::ranges::lower_bound(all, filled->second);
  const std::span<const std::uint64_t> keys(all.begin(), end);
  if (keys.empty()) return ok_status();
  return table_->load(load.range,
                      {keys, load.rows.values.as<float>().first(keys.size() * load.width), load.width});
}

}  // namespace thalweg
