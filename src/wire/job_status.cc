// clang-format off
// Grammar, as that of messages.cc; time := nanoseconds:i64, not negative; report := epoch:u32 index:u32:
//   job_status := age:time epoch:u32 waits_for:text replicas:u32 ranges:u32 ranges_in_sync:u32 count:u32 node* fastest:report slowest:report
//                 count:u32 straggler* last_checkpoint:text count:u32 failover* events_forgotten:u64 count:u32 event*
//   node       := role:u8 index:u32 observer:bool state:u8 pid:u32 address:text
//   straggler  := shard:u32 worker:u32 report
//   failover   := server:u32 detected:time has_recovered:bool recovered:time (0 unless has_recovered)
//   event      := at:time kind:u8 role:u8 index:u32 cause:text
// clang-format on
#include "wire/job_status.h"

#include "base/limits.h"
#include "wire/reading.h"

namespace thalweg::wire {
namespace {

using Time = std::chrono::nanoseconds;

void put_time(Writer& out, Time time) { out.put(static_cast<std::int64_t>(time.count())); }

Time get_time(Reader& in) {
  const auto time = in.get<std::int64_t>();
  if (time < 0) in.fail();
  return Time(time);
}

void put_report(Writer& out, ReportId id) { out.put(id.epoch).put(id.index); }

ReportId get_report(Reader& in) {
  const auto epoch = in.get<std::uint32_t>();
  return {epoch, in.get<std::uint32_t>()};
}

NodeId get_node(Reader& in) {
  const Role role = get_enum(in, Role::kWorker);
  return {role, in.get<std::uint32_t>()};
}

void put_job_node(Writer& out, const JobNode& node) {
  out.put(node.id.role).put(node.id.index).put(static_cast<std::uint8_t>(node.observer));
  out.put(node.state).put(node.pid).put_text(node.address);
}

JobNode get_job_node(Reader& in) {
  JobNode node;
  node.id = get_node(in);
  node.observer = get_bool(in);
  node.state = get_enum(in, NodeState::kLeft);
  node.pid = in.get<std::uint32_t>();
  node.address = in.get_text(limits::kNameBytesMax);
  return node;
}

void put_failover(Writer& out, const ServerFailover& failover) {
  out.put(failover.server);
  put_time(out, failover.detected);
  out.put(static_cast<std::uint8_t>(failover.recovered.has_value()));
  put_time(out, failover.recovered.value_or(Time{}));
}

ServerFailover get_failover(Reader& in) {
  ServerFailover failover;
  failover.server = in.get<std::uint32_t>();
  failover.detected = get_time(in);
  const bool has_recovered = get_bool(in);
  const Time recovered = get_time(in);
  if (has_recovered) failover.recovered = recovered;
  if (!has_recovered && recovered != Time{}) in.fail();
  return failover;
}

void put_event(Writer& out, const JobEvent& event) {
  put_time(out, event.at);
  out.put(event.kind).put(event.node.role).put(event.node.index).put_text(event.cause);
}

JobEvent get_event(Reader& in) {
  JobEvent event;
  event.at = get_time(in);
  event.kind = get_enum(in, JobEvent::Kind::kResumed);
  event.node = get_node(in);
  event.cause = in.get_text(kCauseBytesMax);
  return event;
}

template <class Item, class Put>
void put_all(Writer& out, const std::vector<Item>& items, const Put& put) {
  out.put(static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) put(out, item);
}

template <class Item, class Get>
void get_all(Reader& in, std::vector<Item>& items, std::uint32_t count_max, std::size_t item_bytes,
             const Get& get) {
  items.resize(in.get_count(count_max, item_bytes));
  for (Item& item : items) item = get(in);
}

}  // namespace

Bytes encode(const JobStatus& m) {
  Writer out;
  put_time(out, m.age);
  out.put(m.epoch).put_text(m.waits_for).put(m.replicas).put(m.ranges).put(m.ranges_in_sync);
  put_all(out, m.nodes, put_job_node);
  put_report(out, m.fastest);
  put_report(out, m.slowest);
  put_all(out, m.stragglers, [](Writer& to, const Straggler& late) {
    put_report(to.put(late.shard.value).put(late.worker), late.reported);
  });
  out.put_text(m.last_checkpoint);
  put_all(out, m.failovers, put_failover);
  out.put(m.events_forgotten);
  put_all(out, m.events, put_event);
  return out.take();
}

std::optional<JobStatus> decode_job_status(const Bytes& bytes) {
  Reader in(bytes);
  JobStatus m;
  m.age = get_time(in);
  m.epoch = in.get<std::uint32_t>();
  m.waits_for = in.get_text(limits::kTextOfStatusMax);
  m.replicas = in.get<std::uint32_t>();
  m.ranges = in.get<std::uint32_t>();
  m.ranges_in_sync = in.get<std::uint32_t>();
  if (m.ranges_in_sync > m.ranges) in.fail();
  get_all(in, m.nodes, limits::kNodesMax, 15, get_job_node);
  m.fastest = get_report(in);
  m.slowest = get_report(in);
  get_all(in, m.stragglers, kStragglersMax, 16, [](Reader& from) {
    const ShardId shard{from.get<std::uint32_t>()};
    const auto worker = from.get<std::uint32_t>();
    return Straggler{shard, worker, get_report(from)};
  });
  m.last_checkpoint = in.get_text(limits::kTextOfStatusMax);
  get_all(in, m.failovers, limits::kNodesMax, 21, get_failover);
  m.events_forgotten = in.get<std::uint64_t>();
  get_all(in, m.events, kEventsMax, 18, get_event);
  return finish(in, std::move(m));
}

}  // namespace thalweg::wire
