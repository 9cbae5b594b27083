// clang-format off
// Grammar, all integers little-endian; array, set and span as in state_codec.h, push as in push_entry.cc:
//   entry   := kind:u8 (push | step | load)
//   step    := epoch:u32 index:u32 span count:u32 sum* count:u32 arrival*
//   sum     := epoch:u32 index:u32 keys:array values:array
//   arrival := shard:u32 shards:u32 epoch:u32 index:u32 ends:u8 fresh:set ended:set
//   load    := range:u16 width:u32 keys:array rows:array
// clang-format on
#include "server/log_entry.h"

#include "base/limits.h"
#include "server/state_codec.h"
#include "table/validate.h"

namespace thalweg {
namespace {

enum class EntryKind : std::uint8_t { kPush, kStep, kLoad };

void put_rows(Writer& out, const Payload& payload) {
  put_array(out, payload.keys.as<std::uint64_t>());
  put_array(out, payload.values.as<float>());
}

Payload get_rows(Reader& in) {
  Bytes keys = Bytes::of(get_array<std::uint64_t>(in));
  return {std::move(keys), Bytes::of(get_array<float>(in))};
}

struct Encoder {
  Writer& out;
  void operator()(const PushEntry& push) const {
    out.put(EntryKind::kPush);
    put(out, push);
  }
  void operator()(const StepEntry& step) const {
    out.put(EntryKind::kStep);
    put_step(out, step.closed);
    put_span(out, step.ranges);
    out.put(static_cast<std::uint32_t>(step.sums.size()));
    for (const auto& [of, sum] : step.sums) {
      put_step(out, of);
      put_rows(out, sum);
    }
    out.put(static_cast<std::uint32_t>(step.arrivals.size()));
    for (const PushEntry& arrival : step.arrivals) {
      out.put(arrival.shard.value).put(arrival.shards);
      put_step(out, arrival.step);
      out.put(arrival.ends);
      put_set(out, arrival.fresh);
      put_set(out, arrival.ended);
    }
  }
  void operator()(const LoadEntry& load) const {
    out.put(EntryKind::kLoad).put(load.range.value).put(static_cast<std::uint32_t>(load.width));
    put_rows(out, load.rows);
  }
};

class Decoder {
 public:
  Decoder(Reader& in, const TableSpec& spec, std::uint32_t shards) : in_(in), spec_(spec), shards_(shards) {}

  StepEntry step() {
    constexpr std::size_t kSumBytesMin = 16, kArrivalBytesMin = 25;
    StepEntry entry;
    entry.closed = get_step(in_);
    entry.ranges = get_span(in_, spec_.ranges);
    for (auto left = in_.get_count(~0u, kSumBytesMin); left > 0 && in_.ok(); --left) {
      const Step of = get_step(in_);
      if (of >= entry.closed || (!entry.sums.empty() && of < entry.sums.back().first)) in_.fail();
      entry.sums.emplace_back(of, get_rows(in_));
      if (!holds(entry.sums.back().second, entry.ranges)) in_.fail();
    }
    for (auto left = in_.get_count(~0u, kArrivalBytesMin); left > 0 && in_.ok(); --left)
      entry.arrivals.push_back(arrival(entry));
    return entry;
  }

  LoadEntry load() {
    LoadEntry entry;
    entry.range = RangeId{in_.get<std::uint16_t>()};
    entry.width = in_.get<std::uint32_t>();
    entry.rows = get_rows(in_);
    const std::size_t rows = entry.rows.keys.size() / sizeof(std::uint64_t);
    if (entry.range.value >= spec_.ranges || rows == 0 || entry.width == 0 ||
        entry.rows.values.size() / sizeof(float) / entry.width != rows ||
        entry.rows.values.size() % (entry.width * sizeof(float)) != 0)
      in_.fail();
    return entry;
  }

 private:
  bool holds(const Payload& sum, RangeSpan ranges) const {
    const Contribution part{sum.keys.as<std::uint64_t>(), sum.values.as<float>()};
    return !sum.empty() && check_contribution(spec_, ranges, part, ranges).ok();
  }

  PushEntry arrival(const StepEntry& step) {
    PushEntry entry;
    entry.shard.value = in_.get<std::uint32_t>();
    entry.shards = in_.get<std::uint32_t>();
    entry.step = get_step(in_);
    entry.ends = static_cast<LastOf>(in_.get<std::uint8_t>());
    entry.fresh = get_set(in_, spec_.ranges);
    entry.ended = get_set(in_, spec_.ranges);
    entry.ranges = step.ranges;
    const bool inside = (entry.fresh - step.ranges).empty() && (entry.ended - step.ranges).empty();
    if (entry.shards == 0 || std::uint64_t{entry.shard.value} + entry.shards > shards_ ||
        entry.ends > LastOf::kWork || !inside)
      in_.fail();
    return entry;
  }

  Reader& in_;
  const TableSpec& spec_;
  std::uint32_t shards_;
};

}  // namespace

RangeSpan ranges_of(const LogEntry& entry) {
  if (const auto* load = std::get_if<LoadEntry>(&entry)) return only(load->range);
  if (const auto* step = std::get_if<StepEntry>(&entry)) return step->ranges;
  return std::get<PushEntry>(entry).ranges;
}

Bytes encode(const LogEntry& entry) {
  Writer out;
  std::visit(Encoder{out}, entry);
  return out.take();
}

std::optional<LogEntry> decode_log_entry(const Bytes& bytes, const TableSpec& spec, std::uint32_t shards) {
  Reader in(bytes);
  std::optional<LogEntry> entry;
  switch (in.get<EntryKind>()) {
    case EntryKind::kPush:
      if (auto push = get_push_entry(in, spec, shards)) entry = *std::move(push);
      break;
    case EntryKind::kStep:
      entry = Decoder(in, spec, shards).step();
      break;
    case EntryKind::kLoad:
      entry = Decoder(in, spec, shards).load();
      break;
    default:
      return {};
  }
  return in.done() ? std::move(entry) : std::nullopt;
}

}  // namespace thalweg
