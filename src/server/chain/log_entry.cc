// clang-format off
// Grammar, all integers little-endian; set and span as in state_codec.h:
//   first   := bytes:u32 head padding key:u64*    padding: zeros up to a multiple of 8; `bytes` of head
//   second  := value:f32*
//   head    := kind:u8 (push | step | load | begin)
//   push    := arrival stale span rows
//   stale   := count:u32 (begin:u16 end:u16 updates:u32)*
//   step    := epoch:u32 index:u32 span count:u32 sum* count:u32 arrival*
//   sum     := epoch:u32 index:u32 rows
//   arrival := shard:u32 shards:u32 epoch:u32 index:u32 ends:u8 fresh:set ended:set
//   load    := range:u16 width:u32 rows
//   begin   := array(state)                     as in state_codec.h and range_state.cc
//   rows    := keys:u32 values:u32                the next so many of those in the segments
// clang-format on
#include "server/chain/log_entry.h"

#include <bit>
#include <cstring>
#include <memory>

#include "base/frame.h"
#include "base/limits.h"
#include "server/state_codec.h"
#include "table/validate.h"

namespace thalweg {
namespace {

enum class EntryKind : std::uint8_t { kPush, kStep, kLoad, kBegin };

class EntryWriter {
 public:
  EntryWriter() { head_.expect(kHeadBytes); }
  void operator()(const PushEntry& push) {
    head_.put(EntryKind::kPush);
    put_arrival(push);
    head_.put(static_cast<std::uint32_t>(push.stale.size()));
    for (const StaleRun& run : push.stale) {
      put_span(head_, run.ranges);
      head_.put(run.updates);
    }
    put_span(head_, push.ranges);
    put_rows(push.payload);
  }
  void operator()(const StepEntry& step) {
    head_.put(EntryKind::kStep);
    put_step(head_, step.closed);
    put_span(head_, step.ranges);
    head_.put(static_cast<std::uint32_t>(step.sums.size()));
    for (const auto& [of, sum] : step.sums) {
      put_step(head_, of);
      put_rows(sum);
    }
    head_.put(static_cast<std::uint32_t>(step.arrivals.size()));
    for (const PushEntry& arrival : step.arrivals) put_arrival(arrival);
  }
  void operator()(const LoadEntry& load) {
    head_.put(EntryKind::kLoad).put(load.range.value).put(static_cast<std::uint32_t>(load.width));
    put_rows(load.rows);
  }
  void operator()(const BeginEntry& begin) {
    head_.put(EntryKind::kBegin);
    put_array<std::byte>(head_, encode(begin.state).span());
  }

  EntrySegments take() {
    if (values_.size() == 1) return {first(), values_.front()};
    std::vector<float> all;
    for (const Bytes& values : values_) {
      const auto floats = values.as<float>();
      all.insert(all.end(), floats.begin(), floats.end());
    }
    return {first(), Bytes::of(std::move(all))};
  }

 private:
  void put_arrival(const PushEntry& push) {
    head_.put(push.shard.value).put(push.shards);
    put_step(head_, push.step);
    head_.put(push.ends);
    put_set(head_, push.fresh);
    put_set(head_, push.ended);
  }
  void put_rows(const Payload& rows) {
    head_.put(static_cast<std::uint32_t>(rows.keys.size() / sizeof(std::uint64_t)));
    head_.put(static_cast<std::uint32_t>(rows.values.size() / sizeof(float)));
    keys_.push_back(rows.keys);
    values_.push_back(rows.values);
  }
  Bytes first() {
    const std::string_view head = head_.text();
    const auto bytes = static_cast<std::uint32_t>(head.size());
    std::size_t size = Frame::padded(sizeof bytes + head.size());
    for (const Bytes& keys : keys_) size += keys.size();
    const auto words = std::make_shared_for_overwrite<std::uint64_t[]>(size / sizeof(std::uint64_t));
    auto* const at = static_cast<std::byte*>(static_cast<void*>(words.get()));
    std::size_t end = Frame::padded(sizeof bytes + head.size());
    std::memset(at + end - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
    std::memcpy(at, &bytes, sizeof bytes);
    std::memcpy(at + sizeof bytes, head.data(), head.size());
    for (const Bytes& keys : keys_) {
      if (!keys.empty()) std::memcpy(at + end, keys.span().data(), keys.size());
      end += keys.size();
    }
    return {words, {at, size}};
  }

  static constexpr std::size_t kHeadBytes = 512;  // Of an entry of few shards.

  Writer head_;
  std::vector<Bytes> keys_, values_;
};

class EntryReader {
 public:
  EntryReader(const EntrySegments& bytes, const TableSpec& spec, std::uint32_t shards)
      : in_(head_of(bytes.first)), spec_(spec), shards_(shards), keys_(bytes.first), values_(bytes.second) {
    const std::size_t padded = Frame::padded(sizeof(std::uint32_t) + head_of(bytes.first).size());
    if (padded > keys_.size()) in_.fail();
    keys_at_ = std::min(padded, keys_.size());
    for (const std::byte zero : keys_.span().first(keys_at_).subspan(head_end(bytes.first)))
      if (zero != std::byte{0}) in_.fail();
  }

  std::optional<LogEntry> read() {
    std::optional<LogEntry> entry;
    switch (in_.get<EntryKind>()) {
      case EntryKind::kPush:
        entry = push();
        break;
      case EntryKind::kStep:
        entry = step();
        break;
      case EntryKind::kLoad:
        entry = load();
        break;
      case EntryKind::kBegin:
        entry = begin();
        break;
      default:
        return {};
    }
    const bool whole = keys_at_ == keys_.size() && values_at_ == values_.size();
    return in_.done() && whole ? std::move(entry) : std::nullopt;
  }

 private:
  // Nothing where its length is not what there is.
  static std::span<const std::byte> head_of(const Bytes& first) {
    std::uint32_t bytes = 0;
    if (first.size() < sizeof bytes) return {};
    std::memcpy(&bytes, first.span().data(), sizeof bytes);
    const auto rest = first.span().subspan(sizeof bytes);
    return bytes <= rest.size() ? rest.first(bytes) : std::span<const std::byte>();
  }
  static std::size_t head_end(const Bytes& first) {
    return std::min(first.size(), sizeof(std::uint32_t) + head_of(first).size());
  }

  PushEntry push() {
    PushEntry entry = arrival();
    entry.stale = stale(entry.fresh);
    entry.ranges = get_span(in_, spec_.ranges);
    entry.payload = rows();
    const bool block = std::has_single_bit(entry.shards) && entry.shard.value % entry.shards == 0;
    const bool empty = entry.payload.keys.empty() && entry.payload.values.empty();
    if (!in_.ok() || !block || !inside(entry) || !(empty || holds(entry.payload, entry.ranges))) in_.fail();
    return entry;
  }

  StepEntry step() {
    constexpr std::size_t kSumBytesMin = 16, kArrivalBytesMin = 25;
    StepEntry entry;
    entry.closed = get_step(in_);
    entry.ranges = get_span(in_, spec_.ranges);
    for (auto left = in_.get_count(~0u, kSumBytesMin); left > 0 && in_.ok(); --left) {
      const Step of = get_step(in_);
      if (of >= entry.closed || (!entry.sums.empty() && of < entry.sums.back().first)) in_.fail();
      entry.sums.emplace_back(of, rows());
      if (!holds(entry.sums.back().second, entry.ranges)) in_.fail();
    }
    for (auto left = in_.get_count(~0u, kArrivalBytesMin); left > 0 && in_.ok(); --left) {
      entry.arrivals.push_back(arrival());
      entry.arrivals.back().ranges = entry.ranges;
      if (!inside(entry.arrivals.back())) in_.fail();
    }
    return entry;
  }

  LoadEntry load() {
    LoadEntry entry;
    entry.range = RangeId{in_.get<std::uint16_t>()};
    entry.width = in_.get<std::uint32_t>();
    entry.rows = rows();
    const std::size_t count = entry.rows.keys.size() / sizeof(std::uint64_t);
    if (entry.range.value >= spec_.ranges || count == 0 || entry.width == 0 ||
        entry.rows.values.size() / sizeof(float) / entry.width != count ||
        entry.rows.values.size() % (entry.width * sizeof(float)) != 0)
      in_.fail();
    return entry;
  }

  std::optional<LogEntry> begin() {
    const Bytes bytes = Bytes::of(get_array<std::byte>(in_));
    auto state = decode_begin(bytes, spec_, shards_);
    if (!state) return in_.fail(), std::nullopt;
    return BeginEntry{*std::move(state)};
  }

  PushEntry arrival() {
    PushEntry entry;
    entry.shard.value = in_.get<std::uint32_t>();
    entry.shards = in_.get<std::uint32_t>();
    entry.step = get_step(in_);
    entry.ends = static_cast<LastOf>(in_.get<std::uint8_t>());
    entry.fresh = get_set(in_, spec_.ranges);
    entry.ended = get_set(in_, spec_.ranges);
    if (entry.shards == 0 || std::uint64_t{entry.shard.value} + entry.shards > shards_ ||
        entry.ends > LastOf::kWork)
      in_.fail();
    return entry;
  }

  // All of `fresh`, or nothing.
  std::vector<StaleRun> stale(const RangeSet& fresh) {
    constexpr std::size_t kRunBytes = 8;
    std::vector<StaleRun> runs(in_.get_count(spec_.ranges, kRunBytes));
    RangeSet covered;
    std::uint32_t free = 0;
    for (StaleRun& run : runs) {
      run = {get_span(in_, spec_.ranges), in_.get<std::uint32_t>()};
      if (!in_.ok() || run.ranges.begin < free) return in_.fail(), runs;
      free = run.ranges.end;
      covered.add(run.ranges);
    }
    if (!runs.empty() && covered != fresh) in_.fail();
    return runs;
  }

  Payload rows() {
    const std::size_t keys = in_.get<std::uint32_t>() * sizeof(std::uint64_t);
    const std::size_t values = in_.get<std::uint32_t>() * sizeof(float);
    if (!in_.ok() || keys > keys_.size() - keys_at_ || values > values_.size() - values_at_)
      return in_.fail(), Payload();
    Payload rows{keys_.part(keys_at_, keys), values_.part(values_at_, values)};
    keys_at_ += keys, values_at_ += values;
    return rows;
  }

  bool holds(const Payload& part, RangeSpan ranges) const {
    return in_.ok() && !part.empty() && check_contribution(spec_, ranges, contribution_of(part), ranges).ok();
  }
  static bool inside(const PushEntry& entry) {
    return (entry.fresh - entry.ranges).empty() && (entry.ended - entry.ranges).empty();
  }

  Reader in_;
  const TableSpec& spec_;
  std::uint32_t shards_;
  Bytes keys_, values_;
  std::size_t keys_at_ = 0, values_at_ = 0;  // Of what no rows have taken yet.
};

}  // namespace

RangeSpan ranges_of(const LogEntry& entry) {
  if (const auto* load = std::get_if<LoadEntry>(&entry)) return only(load->range);
  if (const auto* begin = std::get_if<BeginEntry>(&entry)) return only(begin->state.range);
  if (const auto* step = std::get_if<StepEntry>(&entry)) return step->ranges;
  return std::get<PushEntry>(entry).ranges;
}

EntrySegments encode(const LogEntry& entry) {
  EntryWriter out;
  std::visit(out, entry);
  return out.take();
}

std::optional<LogEntry> decode_log_entry(const EntrySegments& bytes, const TableSpec& spec,
                                         std::uint32_t shards) {
  return EntryReader(bytes, spec, shards).read();
}

}  // namespace thalweg
