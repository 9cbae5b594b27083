#include "base/range_set.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg {

std::size_t RangeSet::size() const {
  std::size_t size = 0;
  for (const RangeSpan run : runs_) size += run.size();
  return size;
}

bool RangeSet::contains(RangeId range) const {
  return std::ranges::any_of(runs_, [&](RangeSpan run) { return run.contains(range); });
}

bool RangeSet::contains(RangeSpan span) const {
  return span.begin < span.end && std::ranges::any_of(runs_, [&](RangeSpan run) {
           return run.begin <= span.begin && span.end <= run.end;
         });
}

bool RangeSet::intersects(RangeSpan span) const {
  return span.begin < span.end &&
         std::ranges::any_of(runs_, [&](RangeSpan run) { return run.overlaps(span); });
}

void RangeSet::add(RangeSpan span) {
  if (span.begin >= span.end) return;
  if (runs_.empty() || runs_.back().end < span.begin) return runs_.push_back(span);
  if (runs_.back().end == span.begin) {
    runs_.back().end = span.end;
    return;
  }
  std::vector<RangeSpan> apart;
  for (const RangeSpan run : runs_) {
    if (run.end < span.begin || span.end < run.begin) {
      apart.push_back(run);
    } else {
      span = {std::min(span.begin, run.begin), std::max(span.end, run.end)};
    }
  }
  apart.insert(std::ranges::upper_bound(apart, span.begin, {}, &RangeSpan::begin), span);
  runs_ = std::move(apart);
}

void RangeSet::remove(RangeSpan span) {
  if (span.begin >= span.end) return;
  std::vector<RangeSpan> left;
  for (const RangeSpan run : runs_) {
    const RangeSpan before{run.begin, std::min(run.end, span.begin)};
    const RangeSpan behind{std::max(run.begin, span.end), run.end};
    if (before.begin < before.end) left.push_back(before);
    if (behind.begin < behind.end) left.push_back(behind);
  }
  runs_ = std::move(left);
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
