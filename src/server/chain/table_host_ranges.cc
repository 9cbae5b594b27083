// The part of TableHost that is about ranges which come and go.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "server/table_host.h"
#include "table/parts/move_ranges.h"

namespace thalweg {

// The clocks follow from the marks of the ranges that are owned now, and may fall.
void TableHost::own_anew() {
  const std::uint32_t shards = gate_.clocks().shards();
  gate_ = Gate(*policy_, shards);
  for (std::uint32_t s = 0; s < shards && !owned().empty(); ++s)
    gate_.advance(ShardId{s}, marks_.low(ShardId{s}));
  gate_.expire(applied_);
  ++version_;
  if (!owned().empty()) close_steps();
  log_closed();
}

RangeState TableHost::state_of(RangeId range) const {
  THALWEG_CHECK(redo_.bytes() == 0, "what is told of a range is what its rows hold");
  RangeState state = known_of(range);
  table_->copy_rows(range, 0, ~std::size_t{0}, state.keys, state.rows);
  return state;
}

RangeState TableHost::known_of(RangeId range) const {
  RangeState state;
  state.range = range;
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s)
    state.marks.push_back(marks_.at(ShardId{s}, range.value));
  state.reached = reached_;
  state.applied = applied_;
  state.open_steps = open_steps_.of(table_->spec(), range);
  if (rounds_.counts()) state.round = rounds_.round(range), state.read = rounds_.read(range);
  state.replies = replies_.of(table_->spec(), range);
  return state;
}

std::vector<RangeState> TableHost::known_of(const RangeSet& ranges) const {
  std::vector<RangeState> states;
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range)
      states.push_back(known_of(RangeId{range}));
  }
  return states;
}

std::vector<RangeState> TableHost::give_up(const RangeSet& ranges) {
  redo(0);
  std::vector<RangeState> states = known_of(ranges);
  for (RangeState& state : states) table_->copy_rows(state.range, 0, ~std::size_t{0}, state.keys, state.rows);
  drop(ranges);
  return states;
}

void TableHost::drop(const RangeSet& ranges) {
  redo(0);
  drop_cut();
  table_->remove(ranges);
  forget(ranges);
}

// All but the rows, which are gone.
void TableHost::forget(const RangeSet& ranges) {
  touched_.add_all(ranges);
  open_steps_.remove(table_->spec(), ranges);
  replies_.remove(table_->spec(), ranges);
  images_.remove(ranges);
  std::erase_if(filled_, [&](const auto& copy) { return ranges.contains(copy.first); });
  marks_.own(owned());
  rounds_.own(owned());
  log_.own(owned());
  own_anew();
}

// What is collected of a range is what its round says.
Status TableHost::check_rounds(const RangeState& state) const {
  if (!rounds_.counts()) return ok_status();
  const Round& round = state.round;
  bool fits = state.read.size() == gate_.clocks().shards() && round.pushes < rounds_.pushes_an_update();
  for (const auto& [step, parts] : state.open_steps) {
    fits = fits && step == Step{round.epoch, round.version};
    for (std::size_t place = round.pushes; fits && place < parts.size(); ++place) fits = parts[place].empty();
    for (const auto& at : parts) fits = fits && at.size() <= 1;
  }
  if (fits) return ok_status();
  return {Code::kData, fmt::format("range {}: what it collects is not what it counts", state.range.value)};
}

Status TableHost::check_gain(const std::vector<RangeState>& states) const {
  for (const RangeState& state : states) {
    THALWEG_CHECK(state.marks.size() == gate_.clocks().shards() && !owned().contains(state.range),
                  "a range of this job that somebody else gave up");
    if (Status fits = check_rounds(state); !fits.ok()) return fits;
  }
  return ok_status();
}

Status TableHost::adopt(std::vector<RangeState> states) {
  if (Status fits = check_gain(states); !fits.ok()) return fits;
  RangeSet gained;
  for (const RangeState& state : states) gained.add(only(state.range));
  drop_cut();
  if (Status added = table_->add(gained); !added.ok()) return added;
  for (const RangeState& state : states) {
    if (Status loaded = table_->load(state.range, {state.keys, state.rows, table_->stored_width()});
        !loaded.ok()) {
      table_->remove(gained);
      return loaded;
    }
  }
  gain(std::move(states));
  return ok_status();
}

// Their rows are there.
void TableHost::gain(std::vector<RangeState> states) {
  marks_.own(owned());
  rounds_.own(owned());
  log_.own(owned());
  for (RangeState& state : states) take_on(std::move(state));
  own_anew();
}

Status TableHost::take_over(TableHost& copies, const RangeSet& ranges) {
  copies.redo(0);
  images_.take(copies.images_, ranges);
  keep_images();
  std::vector<RangeState> states = copies.known_of(ranges);
  if (Status fits = check_gain(states); !fits.ok()) return fits;
  copies.drop_cut();
  drop_cut();
  if (Status moved = move_ranges(*copies.table_, *table_, ranges); !moved.ok()) return moved;
  copies.forget(ranges);
  gain(std::move(states));
  return ok_status();
}

// All but its rows, which are there.
void TableHost::take_on(RangeState state) {
  log_.tell(state.range, state.marks);
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
    if (!THALWEG_BUG(kMarksLeftBehind)) marks_.at(ShardId{s}, state.range.value) = state.marks[s];
    reached_[s].add(state.reached[s]);
  }
  applied_ = std::max(applied_, state.applied);
  if (rounds_.counts()) rounds_.restore(state.range, state.round, std::move(state.read));
  if (!THALWEG_BUG(kOpenStepsLeftBehind)) open_steps_.adopt(std::move(state.open_steps));
  if (!THALWEG_BUG(kRepliesLeftBehind)) replies_.adopt(std::move(state.replies));
}

}  // namespace thalweg
