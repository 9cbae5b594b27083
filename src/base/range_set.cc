#include "base/range_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace thalweg {

std::size_t RangeSet::size() const {
  std::size_t size = 0;
  for (const RangeSpan run : runs()) size += run.size();
  return size;
}

bool RangeSet::contains(RangeId range) const {
  return std::ranges::any_of(runs(), [&](RangeSpan run) { return run.contains(range); });
}

bool RangeSet::contains(RangeSpan span) const {
  return span.begin < span.end && std::ranges::any_of(runs(), [&](RangeSpan run) {
           return run.begin <= span.begin && span.end <= run.end;
         });
}

bool RangeSet::intersects(RangeSpan span) const {
  return span.begin < span.end &&
         std::ranges::any_of(runs(), [&](RangeSpan run) { return run.overlaps(span); });
}

RangeSet RangeSet::in(RangeSpan span) const {
  RangeSet both;
  for (const RangeSpan run : runs()) both.add({std::max(run.begin, span.begin), std::min(run.end, span.end)});
  return both;
}

void RangeSet::append(RangeSpan run) {
  if (many_.empty() && few_used_ < few_.size()) {
    few_[few_used_++] = run;
    return;
  }
  if (many_.empty()) many_.assign(few_.begin(), few_.end());
  many_.push_back(run);
}

void RangeSet::add(RangeSpan span) {
  if (span.begin >= span.end) return;
  if (empty() || runs().back().end < span.begin) return append(span);
  RangeSet sum;
  bool added = false;
  for (const RangeSpan run : runs()) {
    if (run.end < span.begin) {
      sum.append(run);
    } else if (run.begin <= span.end) {
      span = {std::min(span.begin, run.begin), std::max(span.end, run.end)};
    } else {
      if (!std::exchange(added, true)) sum.append(span);
      sum.append(run);
    }
  }
  if (!added) sum.append(span);
  *this = std::move(sum);
}

void RangeSet::remove(RangeSpan span) {
  if (!intersects(span)) return;
  RangeSet left;
  for (const RangeSpan run : runs()) {
    const RangeSpan before{run.begin, std::min(run.end, span.begin)};
    const RangeSpan behind{std::max(run.begin, span.end), run.end};
    if (before.begin < before.end) left.append(before);
    if (behind.begin < behind.end) left.append(behind);
  }
  *this = std::move(left);
}

RangeSet operator+(RangeSet a, const RangeSet& b) {
  for (const RangeSpan run : b.runs()) a.add(run);
  return a;
}

RangeSet operator-(RangeSet a, const RangeSet& b) {
  for (const RangeSpan run : b.runs()) a.remove(run);
  return a;
}

std::string text_of(const RangeSet& set) {
  std::string text;
  for (const RangeSpan run : set.runs())
    text += fmt::format("{}[{},{})", text.empty() ? "" : " ", run.begin, run.end);
  return text.empty() ? "no ranges" : text;
}

}  // namespace thalweg
