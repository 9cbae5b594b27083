// The part of TableHost that cuts what a table holds, for a checkpoint, and begins with it. In lockstep a
// step boundary is a consistent cut: all steps before it are in the rows, and what has come of later ones is
// held elsewhere and comes again. Chandy, Lamport, "Distributed Snapshots", ACM TOCS 1985, without their
// markers: steps are numbered. Else each range is cut where it is, together with its marks: they tell what
// comes again from what does not.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "server/table_host.h"

namespace thalweg {

// Ranges that came from a lost server may hold steps that others here have yet to close.
bool TableHost::cut_before(Step step, CutMark mark) {
  drop_cut();
  if (cut_clock() > step && (in_lockstep() || cut_clock() == kEndOfWork)) return false;
  cut_at_ = step;
  mark_ = mark;
  if (in_lockstep() ? policy_->closed(gate_.clocks()) == step : gate_.clocks().slowest() >= step) take_rows();
  return true;
}

Step TableHost::cut_clock() const {
  if (in_lockstep()) return applied_;
  for (const RangeSpan run : owned().runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
        if (marks_.at(ShardId{s}, range).ends_work()) return kEndOfWork;
      }
    }
  }
  return gate_.clocks().slowest();
}

void TableHost::take_rows() {
  cut_at_.reset();
  cut_ = TableCut{owned()};
  cut_->touched = touched_.cut(mark_, *table_);
  cut_->rows = table_->stats().rows;
  walk_.emplace(*table_, cut_->touched);
  add_known(*cut_);
}

void TableHost::add_known(TableCut& cut) const {
  cut.states.clear();
  if (!in_lockstep()) cut.states = known_of(owned());
}

TableCut TableHost::take_cut() {
  if (THALWEG_BUG(kCutRowsLate)) walk_.emplace(*table_, cut_->touched);
  if (THALWEG_BUG(kCutMarksLate)) add_known(*cut_);
  return *std::exchange(cut_, std::nullopt);
}

std::optional<LoadEntry> TableHost::next_of_cut(std::size_t bytes) {
  if (!walk_) return {};
  auto rows = walk_->next(bytes);
  if (!rows) walk_.reset();
  return rows;
}

// Of every change of rows but loads.
void TableHost::before_change(const Contribution& part) {
  if (walk_) walk_->before(part);
  touched_.add(part);
}

void TableHost::change_rows(std::span<const Contribution> parts) {
  for (const Contribution& part : parts) before_change(part);
  table_->apply(parts);
}

void TableHost::drop_cut() {
  cut_at_.reset();
  cut_.reset();
  walk_.reset();
}

bool TableHost::begins_alike(const RangeState& state) const {
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
    if (marks_.at(ShardId{s}, state.range.value) != state.marks[s]) return false;
  }
  return true;
}

Status TableHost::begin(const Frame& frame) {
  const FrameHeader& head = frame.head;
  const auto refused = [&](const char* why) { return Status(Code::kRefused, describe(head) + ": " + why); };
  if (in_lockstep()) return refused("in sync mode nothing but rows is known of a range that begins");
  if (head.ranges.size() != 1 || !owned().contains(head.ranges))
    return refused("expected a range that this server owns");
  auto state = decode_begin(frame.first, table_->spec(), gate_.clocks().shards());
  if (!state || state->range.value != head.ranges.begin || !frame.second.empty())
    return refused("it is no state of this range");
  if (begins_alike(*state)) return ok_status();
  if (has_pushes(state->range)) return refused("what is known comes before the first push");
  if (Status fits = check_rounds(*state); !fits.ok()) return fits;
  log_.add_begin(*state);
  take_on(*std::move(state));
  own_anew();
  return ok_status();
}

// As of rows, it may come behind pushes.
Status TableHost::replay(BeginEntry begin) {
  if (has_pushes(begin.state.range)) return ok_status();
  if (Status fits = check_rounds(begin.state); !fits.ok()) return fits;
  take_on(std::move(begin.state));
  own_anew();
  return ok_status();
}

}  // namespace thalweg
