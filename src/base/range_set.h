// Any set of a table's key ranges, as ascending runs of neighbours.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
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

  // None is empty, and none begins where another ends. Valid until the set changes.
  std::span<const RangeSpan> runs() const {
    return many_.empty() ? std::span(few_).first(few_used_) : std::span<const RangeSpan>(many_);
  }
  bool empty() const { return runs().empty(); }
  std::size_t size() const;  // Ranges, not runs.
  bool contains(RangeId range) const;
  // All of `span`, which is not empty.
  bool contains(RangeSpan span) const;
  bool intersects(RangeSpan span) const;
  RangeSet in(RangeSpan span) const;  // Those that `span` has, too.
  void add(RangeSpan span);
  void remove(RangeSpan span);
  bool operator==(const RangeSet& other) const { return std::ranges::equal(runs(), other.runs()); }

 private:
  void append(RangeSpan run);

  std::array<RangeSpan, 4> few_ = {};  // Of sets of no more runs, as nearly all are, which so take no memory.
  std::size_t few_used_ = 0;
  std::vector<RangeSpan> many_;  // Of others.
};

RangeSet operator+(RangeSet a, const RangeSet& b);  // The ranges of both.
// The ranges of `a` that are not in `b`.
RangeSet operator-(RangeSet a, const RangeSet& b);
std::string text_of(const RangeSet& set);  // "[0,3) [5,8)"

}  // namespace thalweg
