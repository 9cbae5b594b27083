// A worker with real programs under arbitrary frames, most of them answers to what it asked. It never
// crashes, asks for no more than its programs do, and a stop ends everything. Other frames come while a
// program computes.
#include "node/fuzz_input.h"
#include "wire/state_mark.h"
#include "worker/worker.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kCluster = 7;

wire::Map job_map(std::uint8_t mode) {
  wire::Map map;
  map.epoch = 1;
  map.timeout = std::chrono::seconds(10);
  if (mode % 3 == 1) map.consistency = Consistency::bounded(2);
  if (mode % 3 == 2) map.consistency = Consistency::async();
  TableSpec sparse;
  sparse.name = "sparse";
  sparse.dim = 2;
  sparse.ranges = 8;
  TableSpec dense;
  dense.kind = TableSpec::Kind::kDense;
  dense.name = "dense";
  dense.rows = 40;
  dense.ranges = 5;
  map.tables = {sparse, dense};
  map.servers.resize(2);
  map.placement = first_placement(map.tables, 2);
  map.shards = {{0, 0}, {1, 0}, {0, 3}};
  if (mode % 3 == 0 && mode / 3 % 2 == 1) {
    map.combine = mode % 4 == 0 ? Combining::tree(1) : Combining::machine();
    map.workers = {{0, 0, ""}, {1, 0, "127.0.0.1:1"}};
  }
  return map;
}

Task<Status> work(ShardStore& store, bool scans_only) {
  const Keys keys = Keys::of(std::vector<Key>{1, 2, 3, 1u << 20, 77});
  const Keys block = Keys::block(5, 20);
  for (std::uint32_t epoch = store.step().epoch; epoch < 2 && !scans_only; ++epoch) {
    for (std::uint32_t step = 0; step < 3; ++step) {
      const Answer rows = co_await store.pull(TableId{0}, keys);
      if (!rows.status.ok()) co_return rows.status;
      THALWEG_CHECK(rows.rows.size() == keys.size() * 2, "an answer has the rows that were asked for");
      const Answer more = co_await store.read(TableId{1}, block);
      if (!more.status.ok()) co_return more.status;
      THALWEG_CHECK(more.rows.size() == 20, "a block has its rows");
      store.push(TableId{0}, keys, rows.rows).forget();
      if (const Answer next = co_await store.advance(); !next.status.ok()) co_return next.status;
    }
    if (const Answer end = co_await store.end_epoch(); !end.status.ok()) co_return end.status;
    if (const Answer all = co_await store.barrier({epoch, 1}); !all.status.ok()) co_return all.status;
    if (const Answer told = co_await store.report({epoch, 2}, "report"); !told.status.ok())
      co_return told.status;
  }
  const Answer scanned = co_await store.scan(TableId{0}, RangeId{3});
  if (!scanned.status.ok()) co_return scanned.status;
  THALWEG_CHECK(scanned.keys.empty() || scanned.rows.size() % scanned.keys.size() == 0,
                "rows are of one width");
  co_return (co_await store.count(TableId{1})).status;
}

// An answer to something that the worker sent, right or nearly so.
Frame answer(FuzzInput& in, const Frame& asked) {
  Frame frame;
  frame.head = asked.head;
  frame.head.op = static_cast<Op>(static_cast<int>(asked.head.op) + 1);
  const std::uint8_t how = in.byte();
  if (how < 96) {
    if (asked.head.op == Op::kPull) {
      const bool dense = asked.head.table.value == 1;
      const std::size_t rows = dense ? asked.keys()[1] : asked.keys().size() * 2;
      frame.second = Bytes::of(std::vector<float>(rows, 1.0f));
    }
    if (asked.head.op == Op::kMarks)
      frame.first = wire::encode(Reached{{how % 3u, 0}, {how % 4u, 2}, how % 2 == 0});
    if (asked.head.op == Op::kScan) {
      frame.head.step = {how % 2u, 2};
      if (how % 8 == 7) frame.head.step.index = in.take<std::uint32_t>();
      frame.first = Bytes::of(std::vector<std::uint64_t>{how});
      if (asked.head.flags == 0) frame.second = Bytes::of(std::vector<float>(how < 80 ? 3 : 1));
    }
    return frame;
  }
  if (how < 128) {
    frame.head.op = Op::kWaiting;
    frame.first = encode(wire::Waiting{how, {ShardId{how}}});
    return frame;
  }
  in.header(frame.head);
  in.payload(frame, 2, 8);
  return frame;
}

Frame next_frame(FuzzInput& in, const Worker& worker) {
  Frame frame;
  const std::uint8_t op = in.byte();
  frame.head.op = static_cast<Op>(1 + op % kOpMax);
  if (frame.head.op == Op::kMap && op >= 64) {
    wire::Map map = worker.map();
    map.epoch += in.byte() % 4;
    for (auto& owner : map.shards) {
      const std::uint8_t change = in.byte();
      owner.owner_epoch += change % 2;
      owner.worker = change / 2 % 2;
    }
    if (op % 4 == 1 && !map.placement.empty()) {
      const std::size_t t = in.byte() % map.placement.size();
      const auto range = static_cast<std::uint16_t>(in.byte() % map.tables[t].ranges);
      map.placement[t].move({range, map.tables[t].ranges}, {in.byte() % 2u});
    }
    if (op >= 192) map.shards.resize(in.byte());
    frame.first = encode(map);
    return frame;
  }
  if (frame.head.op == Op::kPush) {  // Of worker 1, to be combined.
    frame.head.map_epoch = worker.map().epoch;
    frame.head.shard = ShardId{1};
    frame.head.ranges = {0, 4};
  }
  in.header(frame.head);
  in.block(frame.head);
  in.payload(frame, 2, 8);
  return frame;
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  FuzzInput in(data, size);
  FuzzTransport out;
  const std::uint8_t mode = in.byte();
  WorkerOptions options;
  options.member.observer = mode % 16 == 15;
  options.program = [mode](ShardStore& store, const wire::Map&) { return work(store, mode / 64 == 1); };
  Worker worker(std::move(options));
  Instant now{};
  std::vector<std::pair<NodeId, Frame>> asked;
  Computation* under_way = nullptr;
  const auto turns = [&](bool computes) {
    for (int i = 0; i < 64; ++i) {
      if (computes && under_way != nullptr) {
        std::exchange(under_way, nullptr)->compute();
        worker.on_computed(now, out);
      }
      if (worker.next_deadline() > now) break;
      worker.on_time(now, out);
      if (Computation* next = worker.take_work()) under_way = next;
    }
    for (auto& sent : out.take()) asked.push_back(std::move(sent));
    if (asked.size() > 256) asked.erase(asked.begin(), asked.end() - 256);
  };
  const auto order = [&](Op op, Bytes first) {
    worker.on_frame(now, kScheduler, {{op}, std::move(first), {}}, out);
  };
  turns(true);
  if (mode < 224) {
    order(Op::kWelcome, encode(wire::Welcome{worker_node(0), kCluster}));
    order(Op::kMap, encode(job_map(mode)));
  }
  turns(true);
  while (!in.empty()) {
    const std::uint8_t what = in.byte();
    if (what < 8) {
      now = now + std::chrono::milliseconds(in.take<std::uint16_t>());
    } else if (what < 224 && !asked.empty()) {
      const auto [to, frame] =
          asked[asked.size() - 1 - std::min<std::size_t>(in.byte() % 16, asked.size() - 1)];
      if (frame.head.op < Op::kPush) continue;
      const NodeId from = what < 16 ? in.node() : to;
      worker.on_frame(now, from, answer(in, frame), out);
    } else {
      Frame frame = next_frame(in, worker);
      const NodeId orders = frame.head.op == Op::kPush ? worker_node(1) : kScheduler;
      const NodeId from = what < 248 ? orders : in.node();
      worker.on_frame(now, from, std::move(frame), out);
    }
    turns(what % 4 != 3);
    THALWEG_CHECK(worker.requests_open() <= 1024, "open requests are those of the programs");
  }
  Frame stop{{Op::kStop}, {}, {}};  // By a scheduler that knows all that this node was told.
  if (const wire::StateMark told = worker.membership().told(); told.lead != 0)
    stop.second = encode(wire::SaidMark{told, told});
  worker.on_frame(now, kScheduler, std::move(stop), out);
  for (int i = 0; i < 1000 && worker.next_deadline() <= now; ++i) worker.on_time(now, out);
  THALWEG_CHECK(worker.membership().stopped().has_value(), "a stop is a stop");
  return 0;
}
