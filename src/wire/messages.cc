// clang-format off
// Grammar, all integers little-endian; text := length:u32 byte*; bool := u8 (0 or 1):
//   join      := role:u8 observer:bool address:text name:text machine:text pid:u32
//   welcome   := role:u8 index:u32 cluster:u64
//   map       := epoch:u32 consistency:u8 bound:u32 combine:u8 arity:u32 timeout_ns:i64 silence_ns:i64 flags:u8 first:step data:u64? count:u32 table* count:u32
//                server:text* late_servers:u32 by_hand:bool placement* count:u32 (worker:u32 owner_epoch:u32)* count:u32
//                (index:u32 machine:u32 address:text)* job:text
//                flags: 1 closing, 2 scheduler_kept, 4 data is there and not 0, 8 ending
//   placement := count:u32 (end:u16 count:u8 server:u32+ joining:u32 count:u8
//                (server:u32 attempt:u32)*)*, one for each table; a run begins where the last one ended
//   table     := kind:u8 name:text dim:u32 rows:u64 ranges:u16 rule init
//   rule      := kind:u8 rate:f32 l1:f32 l2:f32 momentum:f32 beta1:f32 beta2:f32 epsilon:f32 initial:f32 custom:text
//   init      := kind:u8 scale:f32 seed:u64
//   waiting   := progress:u64 count:u32 shard:u32*
//   marks     := low:step reach:step ended:bool
//   step      := epoch:u32 index:u32
//   joined    := count:u32 (table:u16 begin:u16 end:u16 joining:u32)*
//   heartbeat := count:u32 (counter:u16 value:u64)*, by ascending counter, also such as the reader does not know
//   order     := number:u64 since:u64? step place:text; since where bit 63 of number, which is no part of it, is
//                set
//   report    := number:u64 state:u8 clock:step text:text
// clang-format on
#include "wire/messages.h"

#include <algorithm>

#include "base/limits.h"
#include "base/rule_fields.h"
#include "wire/reading.h"
#include "wire/step_codec.h"

namespace thalweg::wire {
namespace {

// Of a map.
constexpr std::uint8_t kClosing = 1, kSchedulerKept = 2, kWithData = 4, kEnding = 8;

constexpr std::size_t kPlaceBytesMax = 4096;
constexpr std::uint64_t kWithSince = std::uint64_t{1} << 63;

void put_table(Writer& out, const TableSpec& t) {
  out.put(t.kind).put_text(t.name).put(t.dim).put(t.rows).put(t.ranges);
  const RuleSpec& r = t.rule;
  out.put(r.kind);
  for_each_number(r, [&out](const char*, float number) { out.put(number); });
  out.put_text(r.custom);
  out.put(t.init.kind).put(t.init.scale).put(t.init.seed);
}

TableSpec get_table(Reader& in) {
  TableSpec t;
  t.kind = get_enum(in, TableSpec::Kind::kDense);
  t.name = in.get_text(limits::kNameBytesMax);
  t.dim = in.get<std::uint32_t>();
  t.rows = in.get<std::uint64_t>();
  t.ranges = in.get<std::uint16_t>();
  RuleSpec& r = t.rule;
  r.kind = get_enum(in, RuleKind::kCustom);
  for_each_number(r, [&in](const char*, float& number) { number = in.get<float>(); });
  r.custom = in.get_text(limits::kNameBytesMax);
  t.init.kind = get_enum(in, InitSpec::Kind::kConstant);
  t.init.scale = in.get<float>();
  t.init.seed = in.get<std::uint64_t>();
  if (t.dim == 0 || t.dim > limits::kDimMax || t.ranges == 0) in.fail();
  return t;
}

void put_placement(Writer& out, const Placement& placement) {
  out.put(static_cast<std::uint32_t>(placement.runs().size()));
  for (const PlacedRun& run : placement.runs()) {
    out.put(run.ranges.end).put(static_cast<std::uint8_t>(run.chain.size()));
    for (const std::uint32_t server : run.chain) out.put(server);
    out.put(run.joining).put(static_cast<std::uint8_t>(run.joined.size()));
    for (const auto& [server, attempt] : run.joined) out.put(server).put(attempt);
  }
}

Placement get_placement(Reader& in, std::uint16_t ranges, std::size_t servers, std::uint32_t runs_max) {
  constexpr std::size_t kRunBytesMin = 12;
  std::vector<PlacedRun> runs(in.get_count(std::min<std::uint32_t>(ranges, runs_max), kRunBytesMin));
  std::uint16_t next = 0;
  for (PlacedRun& run : runs) {
    run.ranges = {next, in.get<std::uint16_t>()};
    next = run.ranges.end;
    const std::size_t length = in.get<std::uint8_t>();
    if (length > limits::kChainMax) in.fail();
    for (std::size_t i = 0; i < length && in.ok(); ++i) run.chain.push_back(in.get<std::uint32_t>());
    run.joining = in.get<std::uint32_t>();
    const std::size_t joined = in.get<std::uint8_t>();
    if (joined > length) in.fail();
    for (std::size_t i = 0; i < joined && in.ok(); ++i) {
      const auto server = in.get<std::uint32_t>();
      if (!run.joined.empty() && server <= run.joined.rbegin()->first) in.fail();
      run.joined[server] = in.get<std::uint32_t>();
    }
    const auto last = run.chain.empty() ? run.joined.end() : run.joined.find(run.chain.back());
    if (run.joining != 0 && (last == run.joined.end() || last->second != run.joining)) in.fail();
  }
  auto placement = Placement::of(std::move(runs), ranges, static_cast<std::uint32_t>(servers));
  if (!placement) in.fail();
  return placement ? *std::move(placement) : Placement();
}

}  // namespace

Bytes encode(const Join& m) {
  return Writer()
      .put(m.role)
      .put(static_cast<std::uint8_t>(m.observer))
      .put_text(m.address)
      .put_text(m.name)
      .put_text(m.machine)
      .put(m.pid)
      .take();
}

std::optional<Join> decode_join(const Bytes& bytes) {
  Reader in(bytes);
  Join m;
  m.role = get_enum(in, Role::kWorker);
  m.observer = get_bool(in);
  m.address = in.get_text(limits::kNameBytesMax);
  m.name = in.get_text(limits::kNameBytesMax);
  m.machine = in.get_text(limits::kNameBytesMax);
  m.pid = in.get<std::uint32_t>();
  return finish(in, std::move(m));
}

Bytes encode(const Welcome& m) { return Writer().put(m.id.role).put(m.id.index).put(m.cluster).take(); }

std::optional<Welcome> decode_welcome(const Bytes& bytes) {
  Reader in(bytes);
  Welcome m;
  m.id.role = get_enum(in, Role::kWorker);
  m.id.index = in.get<std::uint32_t>();
  m.cluster = in.get<std::uint64_t>();
  return finish(in, m);
}

Bytes encode(const Map& m) {
  Writer out;
  out.put(m.epoch)
      .put(m.consistency.kind)
      .put(m.consistency.bound)
      .put(m.combine.kind)
      .put(m.combine.arity)
      .put(static_cast<std::int64_t>(m.timeout.count()))
      .put(static_cast<std::int64_t>(m.silence.count()));
  out.put(static_cast<std::uint8_t>((m.closing ? kClosing : 0) | (m.scheduler_kept ? kSchedulerKept : 0) |
                                    (m.data != 0 ? kWithData : 0) | (m.ending ? kEnding : 0)));
  put_step(out, m.first);
  if (m.data != 0) out.put(m.data);
  out.put(static_cast<std::uint32_t>(m.tables.size()));
  for (const TableSpec& table : m.tables) put_table(out, table);
  out.put(static_cast<std::uint32_t>(m.servers.size()));
  for (const std::string& server : m.servers) out.put_text(server);
  out.put(m.late_servers).put(static_cast<std::uint8_t>(m.by_hand));
  for (const Placement& placement : m.placement) put_placement(out, placement);
  out.put(static_cast<std::uint32_t>(m.shards.size()));
  for (const ShardOwner& owner : m.shards) out.put(owner.worker).put(owner.owner_epoch);
  out.put(static_cast<std::uint32_t>(m.workers.size()));
  for (const WorkerPlace& worker : m.workers)
    out.put(worker.index).put(worker.machine).put_text(worker.address);
  out.put_text(m.job);
  return out.take();
}

std::optional<Map> decode_map(const Bytes& bytes) {
  Reader in(bytes);
  Map m;
  m.epoch = in.get<std::uint32_t>();
  m.consistency.kind = get_enum(in, Consistency::Kind::kMaxWait);
  m.consistency.bound = in.get<std::uint32_t>();
  if (m.consistency.kind == Consistency::Kind::kMaxWait && m.consistency.bound == 0) in.fail();
  m.combine.kind = get_enum(in, Combining::Kind::kTreeBothWays);
  m.combine.arity = in.get<std::uint32_t>();
  if (m.combine.is_tree() != (m.combine.arity > 0)) in.fail();
  const bool both_ways = m.combine.kind == Combining::Kind::kTreeBothWays;
  if (both_ways && m.consistency.kind != Consistency::Kind::kFreeSoftsync) in.fail();
  m.timeout = Duration{in.get<std::int64_t>()};
  m.silence = Duration{in.get<std::int64_t>()};
  if (m.silence < Duration{0}) in.fail();
  const auto flags = in.get<std::uint8_t>();
  if ((flags & ~(kClosing | kSchedulerKept | kWithData | kEnding)) != 0) in.fail();
  m.closing = (flags & kClosing) != 0;
  m.ending = (flags & kEnding) != 0;
  m.scheduler_kept = (flags & kSchedulerKept) != 0;
  m.first = get_step(in);
  if ((flags & kWithData) != 0) {
    m.data = in.get<std::uint64_t>();
    if (m.data == 0) in.fail();
  }
  if (m.timeout < Duration{0} || m.timeout > limits::kTimeoutMax) in.fail();
  constexpr std::size_t kTableBytesMin = 69;
  m.tables.resize(in.get_count(limits::kTablesMax, kTableBytesMin));
  for (TableSpec& table : m.tables) table = get_table(in);
  m.servers.resize(in.get_count(limits::kNodesMax, 4));
  for (std::string& server : m.servers) server = in.get_text(limits::kNameBytesMax);
  m.late_servers = in.get<std::uint32_t>();
  m.by_hand = get_bool(in);
  if (m.late_servers >= m.servers.size()) in.fail();
  for (std::uint32_t runs = 0; const TableSpec& table : m.tables) {
    if (!in.ok()) break;
    m.placement.push_back(get_placement(in, table.ranges, m.servers.size(), limits::kPlacedRunsMax - runs));
    runs += static_cast<std::uint32_t>(m.placement.back().runs().size());
  }
  m.shards.resize(in.get_count(limits::kShardsMax, 8));
  for (ShardOwner& owner : m.shards) {
    owner.worker = in.get<std::uint32_t>();
    owner.owner_epoch = in.get<std::uint32_t>();
  }
  m.workers.resize(in.get_count(limits::kNodesMax, 12));
  for (WorkerPlace& worker : m.workers) {
    worker.index = in.get<std::uint32_t>();
    worker.machine = in.get<std::uint32_t>();
    worker.address = in.get_text(limits::kNameBytesMax);
  }
  const auto not_above = [](const WorkerPlace& a, const WorkerPlace& b) { return a.index >= b.index; };
  if (std::ranges::adjacent_find(m.workers, not_above) != m.workers.end()) in.fail();
  m.job = in.get_text(limits::kControlBytesMax);
  if (m.servers.empty() || m.shards.empty()) in.fail();
  return finish(in, std::move(m));
}

Bytes encode(const Waiting& m) {
  Writer out;
  out.put(m.progress).put(static_cast<std::uint32_t>(m.missing.size()));
  for (const ShardId shard : m.missing) out.put(shard.value);
  return out.take();
}

std::optional<Waiting> decode_waiting(const Bytes& bytes) {
  Reader in(bytes);
  Waiting m;
  m.progress = in.get<std::uint64_t>();
  m.missing.resize(in.get_count(limits::kShardsMax, 4));
  for (ShardId& shard : m.missing) shard.value = in.get<std::uint32_t>();
  return finish(in, std::move(m));
}

Bytes encode(const Reached& m) {
  Writer out;
  put_step(out, m.low);
  put_step(out, m.reach);
  return out.put(static_cast<std::uint8_t>(m.ended)).take();
}

std::optional<Reached> decode_marks(const Bytes& bytes) {
  Reader in(bytes);
  Reached m;
  m.low = get_step(in);
  m.reach = get_step(in);
  m.ended = get_bool(in);
  return finish(in, m);
}

Bytes encode(const Joined& m) {
  Writer out;
  out.put(static_cast<std::uint32_t>(m.runs.size()));
  for (const Joined::Run& run : m.runs)
    out.put(run.table.value).put(run.ranges.begin).put(run.ranges.end).put(run.joining);
  return out.take();
}

std::optional<Joined> decode_joined(const Bytes& bytes) {
  constexpr std::size_t kRunBytes = 10;
  Reader in(bytes);
  Joined m;
  m.runs.resize(in.get_count(limits::kPlacedRunsMax, kRunBytes));
  for (Joined::Run& run : m.runs) {
    run.table.value = in.get<std::uint16_t>();
    const auto begin = in.get<std::uint16_t>();
    run.ranges = {begin, in.get<std::uint16_t>()};
    run.joining = in.get<std::uint32_t>();
    if (run.ranges.begin >= run.ranges.end) in.fail();
  }
  return finish(in, std::move(m));
}

Bytes encode(const Heartbeat& m) {
  Writer out;
  out.put(static_cast<std::uint32_t>(m.counters.values().size()));
  for (const auto& [id, value] : m.counters.values()) out.put(id).put(value);
  return out.take();
}

std::optional<Heartbeat> decode_heartbeat(const Bytes& bytes) {
  constexpr std::size_t kCounterBytes = sizeof(CounterId) + sizeof(std::uint64_t);
  Reader in(bytes);
  Heartbeat m;
  std::optional<CounterId> last;
  for (std::uint32_t left = in.get_count(limits::kCountersMax, kCounterBytes); left > 0; --left) {
    const auto id = in.get<CounterId>();
    if (last && id <= *last) in.fail();
    m.counters.set(id, in.get<std::uint64_t>());
    last = id;
  }
  return finish(in, std::move(m));
}

Bytes encode(const CheckpointOrder& m) {
  Writer out;
  out.put(m.number | (m.since ? kWithSince : 0));
  if (m.since) out.put(*m.since);
  put_step(out, m.step);
  return out.put_text(m.place).take();
}

std::optional<CheckpointOrder> decode_checkpoint_order(const Bytes& bytes) {
  Reader in(bytes);
  CheckpointOrder m;
  m.number = in.get<std::uint64_t>();
  if ((m.number & kWithSince) != 0) m.since = in.get<std::uint64_t>();
  m.number &= ~kWithSince;
  m.step = get_step(in);
  m.place = in.get_text(kPlaceBytesMax);
  return finish(in, std::move(m));
}

Bytes encode(const CheckpointReport& m) {
  Writer out;
  out.put(m.number).put(m.state);
  put_step(out, m.clock);
  return out.put_text(m.text).take();
}

std::optional<CheckpointReport> decode_checkpoint_report(const Bytes& bytes) {
  Reader in(bytes);
  CheckpointReport m;
  m.number = in.get<std::uint64_t>();
  m.state = get_enum(in, CheckpointReport::State::kFailed);
  m.clock = get_step(in);
  m.text = in.get_text(limits::kControlBytesMax);
  return finish(in, std::move(m));
}

}  // namespace thalweg::wire
