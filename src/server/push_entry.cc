// clang-format off
// Grammar, all integers little-endian; array and set as in state_codec.h:
//   entry := shard:u32 shards:u32 epoch:u32 index:u32 ends:u8 set set stale begin:u16 end:u16 keys:array values:array
//   stale := count:u32 (begin:u16 end:u16 updates:u32)*
// clang-format on
#include "server/push_entry.h"

#include <algorithm>
#include <bit>

#include "server/state_codec.h"
#include "table/validate.h"

namespace thalweg {
namespace {

void put_stale(Writer& out, const std::vector<StaleRun>& runs) {
  out.put(static_cast<std::uint32_t>(runs.size()));
  for (const StaleRun& run : runs) {
    put_span(out, run.ranges);
    out.put(run.updates);
  }
}

// All of `fresh`, or nothing.
std::vector<StaleRun> get_stale(Reader& in, std::uint16_t ranges, const RangeSet& fresh) {
  constexpr std::size_t kRunBytes = 8;
  std::vector<StaleRun> runs(in.get_count(ranges, kRunBytes));
  RangeSet covered;
  std::uint32_t free = 0;
  for (StaleRun& run : runs) {
    run = {get_span(in, ranges), in.get<std::uint32_t>()};
    if (!in.ok() || run.ranges.begin < free) return in.fail(), runs;
    free = run.ranges.end;
    covered.add(run.ranges);
  }
  if (!runs.empty() && covered != fresh) in.fail();
  return runs;
}

bool is_well_formed(const PushEntry& entry, const TableSpec& spec) {
  if (!(entry.fresh - entry.ranges).empty() || !(entry.ended - entry.ranges).empty()) return false;
  if (entry.payload.keys.empty() && entry.payload.values.empty()) return true;
  return check_contribution(spec, entry.ranges,
                            {entry.payload.keys.as<std::uint64_t>(), entry.payload.values.as<float>()},
                            entry.ranges)
      .ok();
}

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

void put(Writer& out, const PushEntry& entry) {
  out.put(entry.shard.value).put(entry.shards);
  put_step(out, entry.step);
  out.put(entry.ends);
  put_set(out, entry.fresh);
  put_set(out, entry.ended);
  put_stale(out, entry.stale);
  put_span(out, entry.ranges);
  put_array(out, entry.payload.keys.as<std::uint64_t>());
  put_array(out, entry.payload.values.as<float>());
}

std::optional<PushEntry> get_push_entry(Reader& in, const TableSpec& spec, std::uint32_t shards) {
  PushEntry entry;
  entry.shard.value = in.get<std::uint32_t>();
  entry.shards = in.get<std::uint32_t>();
  entry.step = get_step(in);
  entry.ends = static_cast<LastOf>(in.get<std::uint8_t>());
  entry.fresh = get_set(in, spec.ranges);
  entry.ended = get_set(in, spec.ranges);
  entry.stale = get_stale(in, spec.ranges, entry.fresh);
  entry.ranges = get_span(in, spec.ranges);
  entry.payload.keys = Bytes::of(get_array<std::uint64_t>(in));
  entry.payload.values = Bytes::of(get_array<float>(in));
  const bool block = std::has_single_bit(entry.shards) && entry.shard.value % entry.shards == 0;
  const bool known = std::uint64_t{entry.shard.value} + entry.shards <= shards;
  if (!in.ok() || !block || !known || entry.ends > LastOf::kWork || !is_well_formed(entry, spec)) return {};
  return entry;
}

}  // namespace thalweg
