// The part of TableHost that takes a table's rows at a step boundary. In lockstep a boundary is a consistent
// cut: all steps before it are in the rows, and what has come of later ones is held elsewhere and comes
// again. Chandy, Lamport, "Distributed Snapshots", ACM TOCS 1985, without their markers: steps are numbered.
#include <utility>

#include "base/planted.h"
#include "server/table_host.h"

namespace thalweg {

// Ranges that came from a lost server may hold steps that others here have yet to close.
bool TableHost::cut_before(Step step) {
  drop_cut();
  if (applied_ > step) return false;
  cut_at_ = step;
  if (policy_->closed(gate_.clocks()) == step) take_rows();
  return true;
}

void TableHost::take_rows() {
  cut_at_.reset();
  cut_.emplace();
  for (const RangeSpan run : owned().runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      std::vector<std::uint64_t> keys;
      std::vector<float> rows;
      table_->scan(RangeId{range}, [&](const RowsView& view) {
        keys.insert(keys.end(), view.keys.begin(), view.keys.end());
        rows.insert(rows.end(), view.rows.begin(), view.rows.end());
      });
      if (keys.empty()) continue;
      cut_->push_back(
          {RangeId{range}, table_->stored_width(), {Bytes::of(std::move(keys)), Bytes::of(std::move(rows))}});
    }
  }
}

std::vector<LoadEntry> TableHost::take_cut() { return *std::exchange(cut_, std::nullopt); }

void TableHost::drop_cut() {
  cut_at_.reset();
  cut_.reset();
}

}  // namespace thalweg
