#include "server/table_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/planted.h"

namespace thalweg {
namespace {

Contribution view(const Bytes& keys, const Bytes& values) {
  return {keys.as<std::uint64_t>(), values.as<float>()};
}

bool same_bytes(const Bytes& a, const Bytes& b) {
  return a.size() == b.size() && std::equal(a.span().begin(), a.span().end(), b.span().begin());
}

Status refused(const FrameHeader& head, std::string why) {
  return {Code::kRefused, fmt::format("{}: {}", describe(head), why)};
}

LastOf ends_of(const FrameHeader& head) {
  if ((head.flags & frame_flags::kEndOfWork) != 0) return LastOf::kWork;
  if ((head.flags & frame_flags::kEndOfEpoch) != 0 && !THALWEG_BUG(kEndForgotten)) return LastOf::kEpoch;
  return LastOf::kNothing;
}

}  // namespace

TableHost::TableHost(std::unique_ptr<Table> table, RangeSpan owned, Consistency consistency,
                     std::uint32_t shards)
    : table_(std::move(table)),
      owned_(owned),
      sync_(consistency.kind == Consistency::Kind::kSync),
      gate_(consistency, shards),
      marks_(std::size_t{shards} * owned.size()),
      reached_(shards),
      replays_(shards) {}

Status TableHost::check_push(const Frame& frame) const {
  const FrameHeader& head = frame.head;
  if (head.ranges.begin < owned_.begin || head.ranges.end > owned_.end || head.ranges.size() == 0) {
    return refused(head, fmt::format("this server owns ranges [{},{})", owned_.begin, owned_.end));
  }
  if (frame.first.size() % sizeof(std::uint64_t) != 0 || frame.second.size() % sizeof(float) != 0) {
    return refused(head, fmt::format("{} bytes of keys and {} of values are no whole numbers",
                                     frame.first.size(), frame.second.size()));
  }
  if (frame.first.empty() && frame.second.empty()) return Status::ok();
  return table_->check(view(frame.first, frame.second), head.ranges);
}

Status TableHost::push(const Frame& frame) {
  if (Status status = check_push(frame); !status) return status;
  const FrameHeader& head = frame.head;
  if (sync_ && too_far(head.step)) {
    return {Code::kRetry, fmt::format("{} is too far ahead of the slowest shard", describe(head))};
  }
  if (head.block > 0 && !sync_) return refused(head, "only sync mode combines pushes");
  std::vector<RangeSpan> fresh;
  if (Status status = classify(head, fresh); !status) {
    return THALWEG_BUG(kAckBeforeCheck) && status.code() == Code::kRetry ? Status::ok() : status;
  }
  if (fresh.empty()) ++repeats_;
  for (const RangeSpan run : fresh) accept(frame, run);
  for (std::uint32_t i = 0; i < head.shard_count(); ++i) advance_clock(ShardId{head.shard.value + i});
  return Status::ok();
}

Status TableHost::classify(const FrameHeader& head, std::vector<RangeSpan>& fresh) {
  for (std::uint16_t range = head.ranges.begin; range < head.ranges.end; ++range) {
    bool is_new = false;
    for (std::uint32_t i = 0; i < head.shard_count(); ++i) {
      Mark& known = mark(ShardId{head.shard.value + i}, range);
      switch (known.classify(head.step)) {
        case Arrival::kTooEarly:
          return {Code::kRetry,
                  fmt::format("{} is more than {} steps ahead", describe(head), limits::kStepWindow)};
        case Arrival::kRepeat:
          if (THALWEG_BUG(kPartialRepeat)) return fresh.clear(), Status::ok();
          if (ends_of(head) == LastOf::kWork) known.end_work_after(head.step);
          break;
        case Arrival::kNew:
          if (known.contradicts(head.step, ends_of(head)))
            return refused(head, "the shard's end says otherwise");
          is_new = true;
      }
    }
    if (!is_new) continue;
    if (!fresh.empty() && fresh.back().end == range) {
      ++fresh.back().end;
    } else {
      fresh.push_back({range, static_cast<std::uint16_t>(range + 1)});
    }
  }
  return Status::ok();
}

// Keeps the contributions of open steps within bounds when shards push and never pull.
bool TableHost::too_far(Step step) const {
  if (step <= gate_.slowest()) return false;
  return step.epoch > gate_.slowest().epoch + 1 || gate_.lead(step) >= limits::kStepWindow;
}

TableHost::Part TableHost::cut(const Part& part, RangeSpan ranges) const {
  if (ranges == part.ranges || part.keys.empty()) return {ranges, part.keys, part.values};
  const TableSpec& spec = table_->spec();
  const std::size_t row_bytes = spec.dim * sizeof(float);
  const auto keys = part.keys.as<std::uint64_t>();
  if (spec.kind == TableSpec::Kind::kSparse) {
    const auto at = [&](std::uint16_t range) {
      if (range >= spec.ranges) return keys.size();
      const auto first = range_first_key(range, spec.ranges);
      return static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), first) - keys.begin());
    };
    const std::size_t begin = at(ranges.begin), count = at(ranges.end) - begin;
    return {ranges, part.keys.part(begin * 8, count * 8),
            part.values.part(begin * row_bytes, count * row_bytes)};
  }
  const std::uint64_t first = keys[0], last = first + part.values.size() / row_bytes;
  const std::uint64_t begin = std::clamp(range_first_row(ranges.begin, spec.ranges, spec.rows), first, last);
  const std::uint64_t end = std::clamp(range_first_row(ranges.end, spec.ranges, spec.rows), first, last);
  if (begin == end) return {ranges, {}, {}};
  return {ranges, Bytes::of(std::vector<std::uint64_t>{begin}),
          part.values.part((begin - first) * row_bytes, (end - begin) * row_bytes)};
}

// Drops what had come of the block's shards, singly or as smaller blocks: it is in the block as well, for a
// contribution is a function of its shard and step.
void TableHost::supersede(StepParts& parts, const FrameHeader& block, RangeSpan ranges) const {
  if (THALWEG_BUG(kBlockAddedTwice)) return;
  for (std::uint32_t s = block.shard.value; s < block.shard.value + block.shard_count(); ++s) {
    for (const Part& part : std::exchange(parts[s], {})) {
      const std::uint16_t begin = std::max(part.ranges.begin, ranges.begin);
      const std::uint16_t end = std::min(part.ranges.end, ranges.end);
      if (begin >= end) {
        parts[s].push_back(part);
        continue;
      }
      for (const RangeSpan left : {RangeSpan{part.ranges.begin, begin}, RangeSpan{end, part.ranges.end}}) {
        Part rest = left.size() > 0 ? cut(part, left) : Part();
        if (!rest.keys.empty()) parts[s].push_back(std::move(rest));
      }
    }
  }
}

void TableHost::accept(const Frame& frame, RangeSpan ranges) {
  const FrameHeader& head = frame.head;
  const LastOf ends = ends_of(head);
  for (std::uint32_t i = 0; i < (THALWEG_BUG(kBlockMarksFirst) ? 1 : head.shard_count()); ++i) {
    const ShardId shard{head.shard.value + i};
    for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
      if (mark(shard, range).classify(head.step) == Arrival::kNew) mark(shard, range).record(head.step, ends);
    }
    reached_[shard.value].add({kEndOfWork, head.step.next(), ends != LastOf::kNothing});
  }
  Part part = cut({head.ranges, frame.first, frame.second}, ranges);
  if (!sync_) {
    const Contribution one = view(part.keys, part.values);
    if (!part.keys.empty()) table_->apply({&one, 1});
    return;
  }
  const bool known = open_steps_.count(head.step) > 0;
  if (part.keys.empty() && !(known && head.block > 0)) return;
  StepParts& parts = open_steps_[head.step];
  parts.resize(gate_.shards());
  if (head.block > 0) supersede(parts, head, ranges);
  if (part.keys.empty()) return;
  std::size_t place = head.shard.value;
  if (THALWEG_BUG(kArrivalOrder))
    for (place = 0; place + 1 < parts.size() && !parts[place].empty();) ++place;
  parts[place].push_back(std::move(part));
}

void TableHost::advance_clock(ShardId shard) {
  Step low = mark(shard, owned_.begin).low();
  for (std::uint16_t range = owned_.begin; range < owned_.end; ++range)
    low = std::min(low, mark(shard, range).low());
  if (low <= gate_.clock(shard)) return;
  gate_.advance(shard, low);
  ++version_;
  if (sync_) close_steps();
}

void TableHost::close_steps() {
  std::vector<Contribution> contributions;
  while (!open_steps_.empty()) {
    const auto first = open_steps_.begin();
    const Step closed_before = THALWEG_BUG(kEarlyClose) ? gate_.slowest().next() : gate_.slowest();
    if (first->first >= closed_before) return;
    contributions.clear();
    const StepParts& shards = first->second;
    for (std::uint32_t s = 0; s < shards.size(); ++s) {
      for (const Part& part : shards[s])
        contributions.push_back({part.keys.as<std::uint64_t>(), part.values.as<float>(), s});
    }
    if (!contributions.empty()) table_->apply(contributions);
    open_steps_.erase(first);
  }
}

Status TableHost::check_pull(const Frame& frame) const {
  const TableSpec& spec = table_->spec();
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  if (frame.first.size() % sizeof(std::uint64_t) != 0 || (dense && frame.first.size() != 16)) {
    return refused(frame.head, fmt::format("{} bytes are no keys of this table", frame.first.size()));
  }
  const auto keys = frame.keys();
  const std::uint64_t rows = dense ? keys[1] : keys.size();
  if (rows > (limits::kFrameBytesMax - kHeaderBytes) / sizeof(float) / spec.dim) {
    return refused(frame.head, fmt::format("{} rows of {} floats exceed a frame", rows, spec.dim));
  }
  if (!dense) return table_->check_keys(keys, frame.head.ranges);
  const std::uint64_t begin = range_first_row(owned_.begin, spec.ranges, spec.rows);
  const std::uint64_t end = range_first_row(owned_.end, spec.ranges, spec.rows);
  if (keys[0] >= begin && keys[0] <= end && rows <= end - keys[0]) return Status::ok();
  return refused(frame.head, fmt::format("rows [{},{}) asked for, this server owns [{},{})", keys[0],
                                         keys[0] + rows, begin, end));
}

Result<Bytes> TableHost::pull(const Frame& frame) {
  if (Status status = check_pull(frame); !status) return status;
  const FrameHeader& head = frame.head;
  const bool read_only = (head.flags & frame_flags::kReadOnly) != 0;
  const bool waits = head.shard != kNoShard;  // An observer looks at what there is.
  if (waits && !gate_.open(head.shard, head.step)) return Status(Code::kRetry, "the gate is shut");
  if (sync_ && !read_only) {
    if (const Replay* replay = find_replay(frame); replay != nullptr) return replay->rows;
  }
  if (!read_only && !THALWEG_BUG(kStalenessUnsaid))
    staleness_max_ = std::max(staleness_max_, gate_.lead(head.step));
  const bool dense = table_->spec().kind == TableSpec::Kind::kDense;
  const auto keys = frame.keys();
  const std::size_t floats = (dense ? keys[1] : keys.size()) * table_->spec().dim;
  const std::shared_ptr<float[]> out(new float[floats]);
  table_->read(dense ? keys.first(1) : keys, {out.get(), floats});
  const Bytes bytes(out, std::as_bytes(std::span<const float>(out.get(), floats)));
  if (sync_ && !read_only) {
    if (Status status = remember_reply(frame, bytes); !status) return status;
  }
  return bytes;
}

const TableHost::Replay* TableHost::find_replay(const Frame& frame) const {
  if (THALWEG_BUG(kNoReplayCache)) return nullptr;
  const auto& replays = replays_[frame.head.shard.value];
  const auto of_step = replays.find(frame.head.step);
  if (of_step == replays.end()) return nullptr;
  for (const Replay& replay : of_step->second) {
    if (replay.ranges == frame.head.ranges && same_bytes(replay.keys, frame.first)) return &replay;
  }
  return nullptr;
}

Status TableHost::remember_reply(const Frame& frame, const Bytes& rows) {
  if (THALWEG_BUG(kNoReplayCache)) return Status::ok();
  auto& replays = replays_[frame.head.shard.value];
  auto& of_step = replays[frame.head.step];
  if (of_step.size() == limits::kPullsRememberedMax) {
    return refused(frame.head, fmt::format("more than {} different pulls in one step of sync mode",
                                           limits::kPullsRememberedMax));
  }
  of_step.push_back({frame.head.ranges, frame.first, rows});
  if (replays.size() > limits::kStepsInFlightSync) replays.erase(replays.begin());
  return Status::ok();
}

wire::Waiting TableHost::waiting_for(const FrameHeader& head) const {
  constexpr std::size_t kNamedMax = 16;
  return {version_, gate_.missing(head.shard, head.step, kNamedMax)};
}

}  // namespace thalweg
