#include "server/table_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace thalweg {
namespace {

Contribution view(const Bytes& keys, const Bytes& values) {
  return {keys.as<std::uint64_t>(), values.as<float>()};
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

TableHost::TableHost(std::unique_ptr<Table> table, Consistency consistency, std::uint32_t shards)
    : table_(std::move(table)),
      consistency_(consistency),
      sync_(consistency.kind == Consistency::Kind::kSync),
      gate_(consistency, shards),
      marks_(table_->spec().ranges, shards),
      reached_(shards),
      open_steps_(shards),
      replies_(shards) {
  marks_.own(owned());
}

Status TableHost::check_push(const Frame& frame) const {
  const FrameHeader& head = frame.head;
  if (!owned().contains(head.ranges))
    return refused(head, fmt::format("this server owns ranges {}", text_of(owned())));
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
      Mark& known = marks_.at(ShardId{head.shard.value + i}, range);
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

void TableHost::accept(const Frame& frame, RangeSpan ranges) {
  const FrameHeader& head = frame.head;
  const LastOf ends = ends_of(head);
  for (std::uint32_t i = 0; i < (THALWEG_BUG(kBlockMarksFirst) ? 1 : head.shard_count()); ++i) {
    const ShardId shard{head.shard.value + i};
    for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
      Mark& known = marks_.at(shard, range);
      if (known.classify(head.step) == Arrival::kNew) known.record(head.step, ends);
    }
    reached_[shard.value].add({kEndOfWork, head.step.next(), ends != LastOf::kNothing});
  }
  Payload part{frame.first, frame.second};
  if (ranges != head.ranges) part = cut(table_->spec(), part, ranges);
  if (sync_) return open_steps_.add(table_->spec(), head, {ranges, std::move(part)});
  const Contribution one = view(part.keys, part.values);
  if (!part.empty()) table_->apply({&one, 1});
}

void TableHost::advance_clock(ShardId shard) {
  const Step low = marks_.low(shard);
  if (low <= gate_.clock(shard)) return;
  gate_.advance(shard, low);
  ++version_;
  if (sync_) close_steps();
}

void TableHost::close_steps() {
  const Step closed = THALWEG_BUG(kEarlyClose) ? gate_.slowest().next() : gate_.slowest();
  applied_ = std::max(applied_, closed);
  open_steps_.close(closed, [this](std::span<const Contribution> parts) { table_->apply(parts); });
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
  const RangeSpan ranges = frame.head.ranges;
  if (!dense) return table_->check_keys(keys, ranges);
  const std::uint64_t begin = range_first_row(ranges.begin, spec.ranges, spec.rows);
  const std::uint64_t end = range_first_row(ranges.end, spec.ranges, spec.rows);
  const bool inside = keys[0] >= begin && keys[0] <= end && rows <= end - keys[0];
  if (owned().contains(ranges) && inside) return Status::ok();
  return refused(frame.head,
                 fmt::format("rows [{},{}) asked for, those ranges have [{},{}); this server owns ranges {}",
                             keys[0], keys[0] + rows, begin, end, text_of(owned())));
}

Result<Bytes> TableHost::pull(const Frame& frame) {
  if (Status status = check_pull(frame); !status) return status;
  const FrameHeader& head = frame.head;
  const bool read_only = (head.flags & frame_flags::kReadOnly) != 0;
  const bool waits = head.shard != kNoShard;  // An observer looks at what there is.
  if (waits && !gate_.open(head.shard, head.step)) return Status(Code::kRetry, "the gate is shut");
  if (sync_ && !read_only) {
    if (const Bytes* rows = replies_.find(frame); rows != nullptr) return *rows;
  }
  if (!read_only && !THALWEG_BUG(kStalenessUnsaid))
    staleness_max_ = std::max(staleness_max_, gate_.lead(head.step));
  const bool dense = table_->spec().kind == TableSpec::Kind::kDense;
  const auto keys = frame.keys();
  const std::size_t floats = (dense ? keys[1] : keys.size()) * table_->spec().dim;
  const std::shared_ptr<float[]> out(new float[floats]);
  table_->read(dense ? keys.first(1) : keys, {out.get(), floats});
  // Asked for in other pieces before some range came here, or went.
  if (sync_ && !read_only && head.step < applied_)
    replies_.restore(table_->spec(), frame, {out.get(), floats});
  const Bytes bytes(out, std::as_bytes(std::span<const float>(out.get(), floats)));
  if (sync_ && !read_only) {
    if (Status status = replies_.remember(frame, bytes); !status) return status;
  }
  return bytes;
}

// The clocks follow from the marks of the ranges that are owned now, and may fall.
void TableHost::own_anew() {
  const std::uint32_t shards = gate_.shards();
  gate_ = Gate(consistency_, shards);
  for (std::uint32_t s = 0; s < shards && !owned().empty(); ++s)
    gate_.advance(ShardId{s}, marks_.low(ShardId{s}));
  ++version_;
  if (sync_ && !owned().empty()) close_steps();
}

std::vector<RangeState> TableHost::give_up(const RangeSet& ranges) {
  std::vector<RangeState> states;
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      RangeState& state = states.emplace_back();
      state.range = RangeId{range};
      table_->scan(state.range, [&](const RowsView& view) {
        state.keys.insert(state.keys.end(), view.keys.begin(), view.keys.end());
        state.rows.insert(state.rows.end(), view.rows.begin(), view.rows.end());
      });
      for (std::uint32_t s = 0; s < gate_.shards(); ++s) state.marks.push_back(marks_.at(ShardId{s}, range));
      state.reached = reached_;
      state.applied = applied_;
      state.open_steps = open_steps_.take(table_->spec(), state.range);
      state.replies = replies_.take(table_->spec(), state.range);
    }
  }
  table_->remove(ranges);
  marks_.own(owned());
  own_anew();
  return states;
}

Status TableHost::adopt(std::vector<RangeState> states) {
  RangeSet gained;
  for (const RangeState& state : states) {
    gained.add(only(state.range));
    THALWEG_CHECK(state.marks.size() == gate_.shards() && !owned().contains(state.range),
                  "a range of this job that somebody else gave up");
  }
  if (Status added = table_->add(gained); !added) return added;
  for (const RangeState& state : states) {
    if (Status loaded = table_->load(state.range, {state.keys, state.rows, table_->stored_width()});
        !loaded) {
      table_->remove(gained);
      return loaded;
    }
  }
  marks_.own(owned());
  for (RangeState& state : states) {
    for (std::uint32_t s = 0; s < gate_.shards(); ++s) {
      if (!THALWEG_BUG(kMarksLeftBehind)) marks_.at(ShardId{s}, state.range.value) = state.marks[s];
      reached_[s].add(state.reached[s]);
    }
    applied_ = std::max(applied_, state.applied);
    if (!THALWEG_BUG(kOpenStepsLeftBehind)) open_steps_.adopt(std::move(state.open_steps));
    if (!THALWEG_BUG(kRepliesLeftBehind)) replies_.adopt(std::move(state.replies));
  }
  own_anew();
  return Status::ok();
}

wire::Waiting TableHost::waiting_for(const FrameHeader& head) const {
  constexpr std::size_t kNamedMax = 16;
  return {version_, gate_.missing(head.shard, head.step, kNamedMax)};
}

}  // namespace thalweg
