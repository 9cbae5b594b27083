// What a copy has been told of and has not put into its rows yet. Haerder, Reuter, "Principles of
// Transaction-Oriented Database Recovery", ACM Computing Surveys 1983, section 3 (REDO).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/payload.h"
#include "base/range.h"
#include "thalweg/ids.h"

namespace thalweg {

class RedoLog {
 public:
  using Apply = std::function<void(Step step, RangeSpan ranges, const Payload& change)>;

  void add(Step step, RangeSpan ranges, Payload change);
  // All but the changes of the `steps_left` newest steps, in the order in which they were added.
  // Precondition: unless `steps_left` is 0, no range's steps go back in that order.
  void redo(std::size_t steps_left, const Apply& apply);
  // That are kept.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Record {
    Step step;
    RangeSpan ranges;
    Payload change;
    std::size_t bytes() const { return sizeof *this + change.keys.size() + change.values.size(); }
  };

  std::vector<Record> records_;
  std::size_t bytes_ = 0;
};

}  // namespace thalweg
