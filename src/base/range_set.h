// Any set of a table's key ranges, as ascending runs of neighbours.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/range.h"

namespace thalweg {

class RangeSet {
 public:
  RangeSet() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a span is a set of one run.
  RangeSet(RangeSpan span) { add(span); }
  RangeSet(std::uint16_t begin, std::uint16_t end) : RangeSet(RangeSpan{begin, end}) {}

  // None is empty, and none begins where another ends.
  const std::vector<RangeSpan>& runs() const { return runs_; }
  bool empty() const { return runs_.empty(); }
  std::size_t size() const;  // Ranges, not runs.
  bool contains(RangeId range) const;
  // All of `span`, which is not empty.
  bool contains(RangeSpan span) const;
  bool intersects(RangeSpan span) const;
  void add(RangeSpan span);
  void remove(RangeSpan span);
  bool operator==(const RangeSet&) const = default;

 private:
  std::vector<RangeSpan> runs_;
};

RangeSet operator+(RangeSet a, const RangeSet& b);  // The ranges of both.
// The ranges of `a` that are not in `b`.
RangeSet operator-(RangeSet a, const RangeSet& b);
std::string text_of(const RangeSet& set);  // "[0,3) [5,8)"

}  // namespace thalweg
