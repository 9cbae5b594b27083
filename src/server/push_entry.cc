#include "server/push_entry.h"

#include <algorithm>

namespace thalweg {
namespace {

RangeSet only_in(const RangeSet& set, RangeSpan span) { return set - (set - RangeSet(span)); }

}  // namespace

PushEntry marks_part(const PushEntry& push, RangeSpan ranges) {
  PushEntry part{push.shard, push.shards, push.step, push.ends, {}, {}, {}, push.ranges, {}};
  part.fresh = only_in(push.fresh, ranges);
  part.ended = only_in(push.ended, ranges);
  return part;
}

PushEntry part_of(const TableSpec& spec, const PushEntry& push, RangeSpan ranges) {
  PushEntry part = marks_part(push, ranges);
  part.ranges = {std::max(ranges.begin, push.ranges.begin), std::min(ranges.end, push.ranges.end)};
  part.payload = part.ranges == push.ranges ? push.payload : cut(spec, push.payload, part.ranges);
  return part;
}

}  // namespace thalweg
