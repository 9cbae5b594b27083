#include "server/table_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "base/planted.h"

namespace thalweg {
namespace {

Status refused(const FrameHeader& head, std::string why) {
  return {Code::kRefused, fmt::format("{}: {}", describe(head), why)};
}

// Ranges that are found in ascending order, put into a set a run at a time.
class Run {
 public:
  explicit Run(RangeSet& set) : set_(set) {}
  ~Run() { set_.add(run_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  void take(std::uint16_t range) {
    if (range < run_.end) return;  // Once more.
    if (range > run_.end || run_.begin == run_.end) {
      set_.add(run_);
      run_.begin = range;
    }
    run_.end = static_cast<std::uint16_t>(range + 1);
  }
  void drop() { set_ = {}, run_ = {}; }

 private:
  RangeSet& set_;
  RangeSpan run_;
};

// For rules that follow a gradient; what others are given is no step of a length.
Payload scaled(const TableSpec& spec, Payload payload, float factor) {
  if (spec.rule.kind == RuleKind::kAdd || spec.rule.kind == RuleKind::kAssign || factor == 1.0f)
    return payload;
  const auto values = payload.values.as<float>();
  std::vector<float> scaled(values.begin(), values.end());
  for (float& value : scaled) value *= factor;
  payload.values = Bytes::of(std::move(scaled));
  return payload;
}

LastOf ends_of(const FrameHeader& head) {
  if ((head.flags & frame_flags::kEndOfWork) != 0) return LastOf::kWork;
  if ((head.flags & frame_flags::kEndOfEpoch) != 0 && !THALWEG_BUG(kEndForgotten)) return LastOf::kEpoch;
  return LastOf::kNothing;
}

}  // namespace

TableHost::TableHost(std::unique_ptr<Table> table, Consistency consistency, std::uint32_t shards, Step first,
                     bool heirs_come)
    : table_(std::move(table)),
      policy_(step_policy(consistency)),
      gate_(*policy_, shards),
      marks_(table_->spec().ranges, shards, first),
      reached_(shards),
      counted_(shards),
      open_steps_(shards),
      rounds_(policy_->pushes_an_update(shards), table_->spec().ranges, shards),
      replies_(shards, policy_->steps_replayed(), heirs_come),
      log_(table_->spec(), shards),
      images_(policy_->steps_replayed()),
      copied_(table_->spec().ranges, first),
      applied_(first) {
  marks_.own(owned());
  rounds_.own(owned());
  for (std::uint32_t s = 0; s < shards && !owned().empty(); ++s) gate_.advance(ShardId{s}, first);
}

Status TableHost::check_payload(const Frame& push) const {
  const FrameHeader& head = push.head;
  if (!owned().contains(head.ranges))
    return refused(head, fmt::format("this server owns ranges {}", text_of(owned())));
  if (push.first.size() % sizeof(std::uint64_t) != 0 || push.second.size() % sizeof(float) != 0) {
    return refused(head, fmt::format("{} bytes of keys and {} of values are no whole numbers",
                                     push.first.size(), push.second.size()));
  }
  if (push.first.empty() && push.second.empty()) return ok_status();
  return table_->check({push.keys(), push.values()}, head.ranges);
}

Status TableHost::check_room(const Frame& push, std::uint64_t room) const {
  const auto keys = push.keys();
  if (table_->spec().kind == TableSpec::Kind::kDense || keys.size() <= room / row_bytes()) return ok_status();
  const std::size_t absent = table_->count_absent(keys);
  if (absent <= room / row_bytes()) return ok_status();
  return {Code::kData,
          fmt::format("{}: {} new rows of {} bytes, with optimizer state, do not fit into the {} "
                      "bytes that tables may still take here",
                      describe(push.head), absent, row_bytes(), room)};
}

std::uint64_t TableHost::bytes_in_use() const {
  const std::uint64_t to_come = open_steps_.value_bytes() / (table_->spec().dim * sizeof(float));
  const bool grows = table_->spec().kind == TableSpec::Kind::kSparse;
  return stats().bytes + (grows ? to_come * row_bytes() : 0);
}

Result<PushEntry> TableHost::check(const Frame& push, std::uint64_t room) const {
  const FrameHeader& head = push.head;
  if (Status payload = check_payload(push); !payload.ok()) return payload;
  if (!policy_->takes(gate_.clocks(), head.step))
    return Status(Code::kRetry, fmt::format("{} is too far ahead of the slowest shard", describe(head)));
  if (head.block > 0 && !policy_->combines()) return refused(head, "this mode combines no pushes");
  PushEntry entry{head.shard, head.shard_count(), head.step, ends_of(head), {}, {}, {}, head.ranges, {}};
  if (Status news = find_news(head, entry); !news.ok()) return news;
  if (entry.fresh.empty()) return entry;
  if (Status fits = check_room(push, room); !fits.ok()) return fits;
  entry.payload = {push.first, push.second};
  entry.stale = head.version > 0 ? rounds_.staleness(head.version - 1, entry.fresh)
                                 : rounds_.staleness(entry.shard, entry.shards, entry.fresh);
  return entry;
}

Status TableHost::push(const Frame& frame, std::uint64_t room) {
  Result<PushEntry> entry = check(frame, room);
  if (!entry) {
    const bool retry = entry.status().code() == Code::kRetry;
    return THALWEG_BUG(kAckBeforeCheck) && retry ? ok_status() : entry.status();
  }
  if (entry->fresh.empty()) THALWEG_REACHED(kPushRepeated), ++repeats_;
  apply(*std::move(entry));
  return ok_status();
}

Status TableHost::load(const Frame& frame, std::uint64_t room) {
  const FrameHeader& head = frame.head;
  if (head.ranges.size() != 1 || !owned().contains(head.ranges))
    return refused(head, fmt::format("expected one of ranges {}, which this server owns", text_of(owned())));
  if (has_pushes(RangeId{head.ranges.begin}) && !THALWEG_BUG(kLoadedLate))
    return refused(head, "rows are loaded before the first push");
  const std::size_t rows = frame.first.size() / sizeof(std::uint64_t);
  const std::size_t width = rows == 0 ? 0 : frame.second.size() / sizeof(float) / rows;
  if (rows == 0 || frame.first.size() != rows * sizeof(std::uint64_t) ||
      frame.second.size() != rows * width * sizeof(float)) {
    return refused(head, fmt::format("{} bytes of keys and {} of rows, expected some of both",
                                     frame.first.size(), frame.second.size()));
  }
  if (Status keys = table_->check_keys(frame.keys(), head.ranges); !keys.ok()) return keys;
  if (Status fits = check_room(frame, room); !fits.ok()) return fits;
  if (walk_) walk_->before_rows(frame.keys());
  touched_.add_rows(frame.keys());
  if (Status loaded = table_->load(RangeId{head.ranges.begin}, {frame.keys(), frame.values(), width});
      !loaded.ok())
    return loaded;
  log_.add_load({RangeId{head.ranges.begin}, width, {frame.first, frame.second}});
  return ok_status();
}

bool TableHost::has_pushes(RangeId range) const {
  for (std::uint32_t s = 0; s < gate_.clocks().shards(); ++s) {
    if (marks_.at(ShardId{s}, range.value) != marks_.none()) return true;
  }
  return false;
}

Status TableHost::find_news(const FrameHeader& head, PushEntry& entry) const {
  Run fresh(entry.fresh), ended(entry.ended);
  for (std::uint16_t range = head.ranges.begin; range < head.ranges.end; ++range) {
    std::uint32_t news = 0;
    for (std::uint32_t i = 0; i < entry.shards; ++i) {
      const Mark& known = marks_.at(ShardId{entry.shard.value + i}, range);
      switch (known.classify(entry.step)) {
        case Arrival::kTooEarly:
          return {Code::kRetry,
                  fmt::format("{} is more than {} steps ahead", describe(head), limits::kStepWindow)};
        case Arrival::kRepeat:
          if (THALWEG_BUG(kPartialRepeat)) return fresh.drop(), ok_status();
          if (entry.ends == LastOf::kWork && known.may_end_with(entry.step)) ended.take(range);
          break;
        case Arrival::kNew:
          if (known.contradicts(entry.step, entry.ends))
            return refused(head, "the shard's end says otherwise");
          fresh.take(range);
          ++news;
      }
    }
    const bool in_part = news > 0 && news < entry.shards;
    if (in_part) THALWEG_REACHED(kSumAppliedInPart);
    if (rounds_.counts() && in_part)
      return {Code::kRetry, fmt::format("{}: some of it is applied, and a sum has no parts", describe(head))};
  }
  return ok_status();
}

void TableHost::mark(const PushEntry& entry) {
  const std::uint32_t shards = THALWEG_BUG(kBlockMarksFirst) ? 1 : entry.shards;
  for (std::uint32_t s = entry.shard.value; s < entry.shard.value + shards; ++s) {
    marks_.record(ShardId{s}, entry);
    if (!entry.fresh.empty())
      reached_[s].add({kEndOfWork, entry.step.next(), entry.ends != LastOf::kNothing});
  }
}

void TableHost::apply(PushEntry entry) {
  mark(entry);
  policy_->keeps_steps() ? log_.await(entry) : log_.add_push(entry);
  if (keeps_images_) open_arrivals_.insert(entry.step);
  if (is_late(entry.step)) {
    THALWEG_REACHED(kPushLate);
    if (entry.ends == LastOf::kNothing && !entry.fresh.empty()) ++dropped_;
  } else if (!rounds_.counts()) {
    for (const RangeSpan run : entry.fresh.runs()) apply_part(entry, run);
  } else if (entry.ends == LastOf::kNothing || !entry.payload.empty()) {  // A mere end is no gradient.
    rounds_.count(entry.stale, entry.shards);
    for (const StaleRun& run : entry.stale) apply_counted(entry, run);
    rounds_.on_pushed(entry.shard, entry.shards, entry.fresh);
  }
  for (std::uint32_t i = 0; i < entry.shards; ++i) advance_clock(ShardId{entry.shard.value + i});
  log_closed();
}

void TableHost::log_closed() {
  if (log_.on() && policy_->keeps_steps()) log_.add_steps(policy_->closed(gate_.clocks()));
}

bool TableHost::is_late(Step step) const {
  return policy_->drops_late() && step < std::max(applied_, policy_->closed(gate_.clocks()));
}

void TableHost::apply_part(const PushEntry& entry, RangeSpan ranges) {
  Payload part = ranges == entry.ranges ? entry.payload : cut(table_->spec(), entry.payload, ranges);
  if (entry.step >= policy_->closed(gate_.clocks())) {
    open_steps_.add(table_->spec(), entry, {ranges, std::move(part)});
  } else if (defers_) {
    redo_later(entry.step, ranges, std::move(part));
  } else if (!part.empty()) {
    const Contribution now = contribution_of(part);
    change_rows({&now, 1});
  }
}

// Scaling a gradient is scaling the rate where the rule is linear in it, as SGD and momentum are.
void TableHost::apply_counted(const PushEntry& entry, StaleRun run) {
  const TableSpec& spec = table_->spec();
  Payload whole = run.ranges == entry.ranges ? entry.payload : cut(spec, entry.payload, run.ranges);
  const float parts = static_cast<float>(rounds_.pushes_an_update());
  whole = scaled(spec, std::move(whole), 1.0f / (parts * static_cast<float>(std::max(run.updates, 1u))));
  for (const RangeSpan alike : rounds_.runs_alike(run.ranges)) {
    Payload part = alike == run.ranges ? whole : cut(spec, whole, alike);
    Round round = rounds_.round(RangeId{alike.begin});
    if (round.pushes == 0) round.epoch = entry.step.epoch;
    const Step update{round.epoch, round.version};
    open_steps_.keep(update, round.pushes, {alike, std::move(part)});
    if (!rounds_.take(alike, entry.step.epoch, entry.shards)) continue;
    open_steps_.close(spec, update, alike,
                      [this](std::span<const Contribution> parts_of) { change_rows(parts_of); });
    ++version_;
  }
}

void TableHost::advance_clock(ShardId shard) {
  const Step low = marks_.low(shard);
  if (low <= clock(shard)) return;
  gate_.advance(shard, low);
  ++version_;
  close_steps();
}

void TableHost::close_steps() {
  const Step closed = policy_->closed(gate_.clocks());
  if (cut_at_ && in_lockstep() && closed >= *cut_at_) {
    close_before(*cut_at_);
    take_rows();
  }
  close_before(closed);
  rounds_.end_epochs_before(closed.epoch);
  if (cut_at_ && !in_lockstep() && gate_.clocks().slowest() >= *cut_at_) take_rows();
}

Instant TableHost::closes_at(Instant now) {
  const Duration limit = policy_->waits_at_most();
  if (limit <= Duration{} || owned().empty()) return kNever;
  const Step open = policy_->closed(gate_.clocks());
  if (!gate_.clocks().any_past(open)) return kNever;
  if (timed_out_ == kNever || timed_ != open) {
    timed_ = open;
    timed_out_ = now + limit;
  }
  return timed_out_;
}

void TableHost::close_expired(Instant now) {
  if (closes_at(now) > now) return;
  THALWEG_REACHED(kStepExpired);
  gate_.expire(timed_.next());
  timed_out_ = kNever;
  ++version_;
  close_steps();
}

void TableHost::close_before(Step closed) {
  applied_ = std::max(applied_, closed);
  while (!open_arrivals_.empty() && *open_arrivals_.begin() < closed)
    images_.on_closed(open_arrivals_.extract(open_arrivals_.begin()).value(), owned());
  open_steps_.close(closed, [this](Step step, std::span<const Contribution> parts) {
    if (!log_.follows() && !keeps_images_) return change_rows(parts);
    table_->apply(parts, [&](const Payload& sum) {
      if (log_.follows()) log_.await_sum(step, sum);
      if (keeps_images_) images_.keep(*table_, step, {0, table_->spec().ranges}, contribution_of(sum));
      before_change(contribution_of(sum));
    });
  });
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
  if (owned().contains(ranges) && inside) return ok_status();
  return refused(frame.head,
                 fmt::format("rows [{},{}) asked for, those ranges have [{},{}); this server owns ranges {}",
                             keys[0], keys[0] + rows, begin, end, text_of(owned())));
}

// A step's lead is counted when it is read first, and again where it leads further than any, as it may when
// clocks have fallen with ranges that came.
void TableHost::count_read(const FrameHeader& head) {
  Step& counted = counted_[head.shard.value];
  const std::uint32_t lead = gate_.clocks().lead(head.step);
  const bool first = head.step >= counted || lead > leads_.most();
  if (first && !THALWEG_BUG(kStalenessUnsaid)) leads_.add(lead);
  counted = std::max(counted, head.step.next());
  if (head.step == clock(head.shard)) rounds_.on_read(head.shard, head.ranges);
}

Result<Bytes> TableHost::pull(const Frame& frame) {
  if (Status status = check_pull(frame); !status.ok()) return status;
  const FrameHeader& head = frame.head;
  const bool read_only = (head.flags & frame_flags::kReadOnly) != 0;
  const bool waits = head.shard != kNoShard;  // An observer looks at what there is.
  if (waits && !gate_.open(head.shard, head.step)) return Status(Code::kRetry, "the gate is shut");
  if ((head.flags & frame_flags::kNewer) != 0) {
    if (!rounds_.counts()) return refused(head, "this mode counts no updates");
    if (version_of(head.ranges) <= head.version) return Status(Code::kRetry, "there are none newer");
  }
  if (!read_only) {
    if (const Bytes* rows = replies_.find(frame); rows != nullptr) return *rows;
  }
  if (!read_only && waits) count_read(head);
  const bool dense = table_->spec().kind == TableSpec::Kind::kDense;
  const auto keys = frame.keys();
  const std::size_t floats = (dense ? keys[1] : keys.size()) * table_->spec().dim;
  const std::shared_ptr<float[]> out(new float[floats]);
  const std::span<float> rows(out.get(), floats);
  if (!dense && !read_only && waits && policy_->keeps_steps()) {
    table_->show(head.step, head.shard.value, {keys, frame.first.owner()}, rows);
  } else {
    table_->read(dense ? keys.first(1) : keys, rows);
  }
  const Bytes bytes(out, std::as_bytes(std::span<const float>(out.get(), floats)));
  if (read_only) return bytes;
  // Asked for in other pieces before some range came here, or went.
  if (head.step < applied_) {
    THALWEG_REACHED(kShownAgain);
    images_.restore(table_->spec(), frame, {out.get(), floats});
    replies_.restore(table_->spec(), frame, {out.get(), floats});
  }
  if (Status status = replies_.remember(frame, bytes); !status.ok()) return status;
  return bytes;
}

wire::Waiting TableHost::waiting_for(const FrameHeader& head) const {
  constexpr std::size_t kNamedMax = 16;
  return {version_, gate_.missing(head.shard, head.step, kNamedMax)};
}

}  // namespace thalweg
