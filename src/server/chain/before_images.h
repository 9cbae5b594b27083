// What the rows of ranges were before the last steps that were closed in them. So a server can show a shard's
// heir the rows that the shard saw, though another server, which is lost, showed them. Haerder,
// Reuter, "Principles of Transaction-Oriented Database Recovery", ACM Computing Surveys 1983, section 3.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/payload.h"
#include "base/range_set.h"
#include "table/table.h"

namespace thalweg {

class BeforeImages {
 public:
  // Of as many steps of each range; with 0 it keeps nothing.
  explicit BeforeImages(std::size_t steps) : steps_(steps) {}

  // A step was closed in these ranges. Precondition: those of a range do not go back.
  void on_closed(Step step, const RangeSet& ranges);
  // The rows that the sum of a step that was closed is about to change. Precondition: sums of earlier steps
  // have been applied.
  void keep(const Table& table, Step step, RangeSpan ranges, const Contribution& sum);
  // Puts rows as they were before the pull's step in the place of those in `rows`, one for each of its keys.
  void restore(const TableSpec& spec, const Frame& pull, std::span<float> rows) const;
  // Takes what another has of these ranges, of which there is nothing here.
  void take(BeforeImages& other, const RangeSet& ranges);
  void remove(const RangeSet& ranges);

  struct OfRange {
    std::vector<Step> steps;                       // The newest, ascending.
    std::vector<std::pair<Step, Payload>> images;  // Of these steps, ascending.
  };
  OfRange of(RangeId range) const { return range.value < kept_.size() ? kept_[range.value] : OfRange(); }
  void put(RangeId range, OfRange images) { at(range.value) = std::move(images); }

 private:
  OfRange& at(std::uint16_t range);

  std::size_t steps_;
  std::vector<OfRange> kept_;  // By range.
};

}  // namespace thalweg
