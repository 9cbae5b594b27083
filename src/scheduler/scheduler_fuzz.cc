// A scheduler under arbitrary frames from arbitrary peers. It never crashes, answers with few frames, and
// only a member's word or silence ends the job.
#include "scheduler/scheduler.h"

#include "node/fuzz_input.h"

namespace thalweg {
namespace {

SchedulerOptions job(std::uint8_t mode) {
  SchedulerOptions options;
  options.servers = 1 + mode % 2;
  options.workers = 1 + mode / 2 % 3;
  options.shards = 4;
  TableSpec table;
  table.name = "t";
  options.tables = {table};
  return options;
}

Frame join_frame(Role role, bool observer) {
  Frame frame;
  frame.head.op = Op::kJoin;
  frame.first = encode(wire::Join{role, observer, "127.0.0.1:1", "fuzz", {}});
  return frame;
}

Frame heartbeat_frame() {
  Frame frame;
  frame.head.op = Op::kHeartbeat;
  frame.first = encode(wire::Heartbeat{});
  return frame;
}

NodeId temporary(std::uint32_t i) { return {Role::kWorker, (1u << 31) | i}; }

constexpr NodeId kObserver{Role::kWorker, 1u << 20};

Frame next_frame(FuzzInput& in, const Scheduler& scheduler) {
  constexpr Op kOften[] = {Op::kJoin,  Op::kBarrier, Op::kReport, Op::kHeartbeat,
                           Op::kEnded, Op::kStop,    Op::kGetMap};
  const std::uint8_t op = in.byte();
  if (op < 24) return join_frame(static_cast<Role>(op % 3), op % 8 == 0);
  Frame frame;
  frame.head.op = op < 200 ? kOften[op % 7] : static_cast<Op>(1 + op % kOpMax);
  frame.head.map_epoch = scheduler.view().map_epoch;
  frame.head.shard = ShardId{in.byte() % 5u};
  if (frame.head.shard.value == 4) frame.head.shard.value = ~0u;
  in.header(frame.head);
  frame.first =
      frame.head.op == Op::kHeartbeat && op % 2 == 0 ? encode(wire::Heartbeat{}) : in.raw(in.byte());
  return frame;
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  FuzzInput in(data, size);
  FuzzTransport out;
  const std::uint8_t mode = in.byte();
  SchedulerOptions options = job(mode);
  options.observer = temporary(4);
  bool observed = false;
  std::map<ShardId, ReportId> reported;
  options.on_report = [&](ShardId shard, ReportId number, std::string_view) {
    const auto [at, first] = reported.emplace(shard, number);
    THALWEG_CHECK(first || at->second < number, "each report comes once, in order");
    at->second = number;
  };
  const std::uint32_t members = options.servers + options.workers;
  Scheduler scheduler(options);
  Instant now{};
  std::size_t joins = 0, waiting = 0;
  if (mode < 192) {
    for (std::uint32_t i = 0; i < members; ++i) {
      const Role role = i < options.servers ? Role::kServer : Role::kWorker;
      scheduler.on_frame(now, temporary(1000 + i), join_frame(role, false), out);
    }
    for (std::uint32_t i = 0; i < members; ++i) {
      const bool serves = i < options.servers;
      scheduler.on_frame(now, serves ? server_node(i) : worker_node(i - options.servers), heartbeat_frame(),
                         out);
    }
    joins = members;
    THALWEG_CHECK(scheduler.started(), "the job has begun");
  }
  out.take();
  while (!in.empty()) {
    const std::uint8_t what = in.byte();
    const NodeId from = in.node();
    const bool stopped = scheduler.stopped().has_value();
    bool may_stop = true;
    if (what < 8) {
      now = now + std::chrono::milliseconds(in.take<std::uint16_t>());
      scheduler.on_time(now, out);
    } else if (what < 12) {
      scheduler.on_peer_lost(now, from, out);
    } else if (what == 12) {
      scheduler.close(out);
    } else {
      const Frame frame = next_frame(in, scheduler);
      may_stop = frame.head.op == Op::kEnded && (from.index >> 31) == 0;
      joins += frame.head.op == Op::kJoin;
      observed = observed || (frame.head.op == Op::kJoin && from == options.observer);
      waiting += frame.head.op == Op::kBarrier;
      scheduler.on_frame(now, from, frame, out);
    }
    THALWEG_CHECK(stopped || may_stop || !scheduler.stopped(), "no stranger ends the job");
    THALWEG_CHECK(
        stopped || !scheduler.stopped() || !scheduler.stopped()->ok() || (observed && from == kObserver),
        "only its own observer ends the job well");
    THALWEG_CHECK(out.take().size() <= joins * (joins + 2) + waiting + 4,
                  "a turn tells each member at most of each loss");
  }
  return 0;
}
