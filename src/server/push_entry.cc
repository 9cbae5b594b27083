#include "server/push_entry.h"

#include <algorithm>

namespace thalweg {

PushEntry marks_part(const PushEntry& push, RangeSpan ranges) {
  PushEntry part{push.shard, push.shards, push.step, push.ends, {}, {}, {}, push.ranges, {}};
  part.fresh = push.fresh.in(ranges);
  part.ended = push.ended.in(ranges);
  return part;
}

PushEntry part_of(const TableSpec& spec, const PushEntry& push, RangeSpan ranges) {
  PushEntry part = marks_part(push, ranges);
  part.ranges = {std::max(ranges.begin, push.ranges.begin), std::min(ranges.end, push.ranges.end)};
  part.payload = part.ranges == push.ranges ? push.payload : cut(spec, push.payload, part.ranges);
  return part;
}

}  // namespace thalweg
