// A server under arbitrary frames from arbitrary peers. It never crashes, answers each frame with few, and
// its tables change by acknowledged pushes of a shard's owner alone.
#include "server/server.h"

#include "node/fuzz_input.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kCluster = 7;

wire::Map job_map(std::uint8_t mode) {
  wire::Map map;
  map.epoch = 1;
  map.timeout = std::chrono::seconds(10);
  if (mode % 3 == 1) map.consistency = Consistency::bounded(2);
  constexpr Consistency kAtOnce[] = {Consistency::async(), Consistency::softsync(1), Consistency::async(),
                                     Consistency::backup(1)};
  if (mode % 3 == 2) map.consistency = kAtOnce[mode / 12 % 4];
  TableSpec sparse;
  sparse.name = "sparse";
  sparse.dim = 2;
  sparse.ranges = 8;
  sparse.rule.kind = RuleKind::kAdagrad;
  TableSpec dense;
  dense.kind = TableSpec::Kind::kDense;
  dense.name = "dense";
  dense.rows = 40;
  dense.ranges = 5;
  map.tables = {sparse, dense};
  map.servers.resize(1 + mode / 3 % 2);
  map.by_hand = true;
  map.placement = first_placement(map.tables, 1 + mode / 3 % 2);
  map.shards = {{0, 0}, {1, 0}, {1, 3}};
  if (mode % 3 == 0 && mode / 6 % 2 == 1) {
    map.combine = mode % 4 == 0 ? Combining::tree(1) : Combining::machine();
    map.workers = {{0, 0, ""}, {1, 0, ""}};
  }
  return map;
}

// Whoever makes the job decides how large its tables are; here they shall be small.
bool is_small(const Frame& frame) {
  const auto map = wire::decode_map(frame.first);
  if (!map) return true;
  std::uint64_t cells = 0;
  for (const TableSpec& table : map->tables) {
    if (table.rows > 4096 || table.dim > 64 || map->shards.size() > 64) return false;
    cells += table.ranges + table.rows;
  }
  return cells <= 65536;
}

std::uint64_t digest(const Server& server) {
  std::uint64_t sum = 0;
  for (const auto& host : server.tables()) {
    if (host) sum = sum * 3 + host->table().digest();
  }
  return sum;
}

void move_ranges(FuzzInput& in, wire::Map& map) {
  if (map.placement.empty()) return;
  const std::size_t t = in.byte() % map.placement.size();
  const int ranges = map.tables[t].ranges, begin = in.byte() % ranges,
            count = 1 + in.byte() % (ranges - begin);
  const auto server = static_cast<std::uint32_t>(in.byte() % map.servers.size());
  map.placement[t].move({static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(begin + count)},
                        {server});
}

// What it gave up and is to have again.
void give_back(Server& server, FuzzTransport& out) {
  for (auto given = server.given_up().begin(); given != server.given_up().end();) {
    const auto [table, range] = (given++)->first;
    if (!server.awaits(table, range)) continue;
    const Bytes bytes = encode(server.fetch(table, range));
    auto state = decode_range_state(bytes, server.map().tables[table.value],
                                    static_cast<std::uint32_t>(server.map().shards.size()));
    THALWEG_CHECK(state && encode(*state).text() == bytes.text(), "a state reads back as it was written");
    std::vector<RangeState> states;
    states.push_back(*std::move(state));
    server.adopt(table, std::move(states), out);
    THALWEG_CHECK(!server.awaits(table, range), "what has come is awaited no longer");
  }
}

Frame next_frame(FuzzInput& in, const Server& server) {
  constexpr Op kOften[] = {Op::kPush, Op::kPull, Op::kScan, Op::kMarks, Op::kLoad, Op::kMap};
  Frame frame;
  const std::uint8_t op = in.byte();
  frame.head.op = op < 128 ? kOften[op % 6] : static_cast<Op>(1 + op % kOpMax);
  frame.head.map_epoch = server.map().epoch;
  frame.head.cluster = kCluster;
  frame.head.table = TableId{static_cast<std::uint16_t>(op % 2)};
  const std::uint8_t shard = in.byte();
  frame.head.shard = ShardId{shard % 3u};
  frame.head.step.index = shard / 3 % 4;
  if (frame.head.shard.value < server.map().shards.size())
    frame.head.owner_epoch = server.map().shards[frame.head.shard.value].owner_epoch;
  const auto table = frame.head.table.value;
  TableSpec spec;
  spec.ranges = 8;
  if (table < server.map().tables.size()) spec = server.map().tables[table];
  frame.head.ranges = {0, static_cast<std::uint16_t>(spec.ranges / server.map().servers.size())};
  in.header(frame.head);
  in.block(frame.head);
  if (frame.head.op == Op::kMap && (shard & 1) != 0) {
    wire::Map map = server.map();
    map.epoch += in.byte() % 4;
    map.closing = (shard & 2) != 0;
    for (auto& owner : map.shards) owner.owner_epoch += in.byte() % 2;
    if ((shard & 4) != 0) map.shards.resize(in.byte());
    if ((shard & 8) != 0) {
      map.tables.resize(in.byte() % 4);
      map.placement = first_placement(map.tables, static_cast<std::uint32_t>(map.servers.size()));
    }
    if ((shard & 16) != 0) move_ranges(in, map);
    frame.first = encode(map);
  } else {
    in.payload(frame, std::min(spec.dim, 64u), spec.ranges);
  }
  return frame;
}

void check_turn(const Server& server, NodeId from, const Frame& frame, std::size_t waiting_before,
                bool changed, FuzzTransport& out) {
  const auto sent = out.take();
  THALWEG_CHECK(sent.size() <= waiting_before + 80, "a frame has few answers");
  if (!changed || frame.head.op == Op::kMap) return;
  const cluster::CombineTree tree(server.map());
  THALWEG_CHECK(frame.head.op == Op::kPush && from.role == Role::kWorker, "only a worker's push changes");
  for (std::uint32_t i = 0; i < frame.head.shard_count(); ++i) {
    const auto& owner = server.map().shards.at(frame.head.shard.value + i);
    THALWEG_CHECK(tree.passes(owner.worker, from.index), "only owners' pushes change");
  }
  const bool acknowledged = std::any_of(sent.begin(), sent.end(), [](const auto& answer) {
    return answer.second.head.op == Op::kPushReply && answer.second.head.code == Code::kOk;
  });
  THALWEG_CHECK(acknowledged, "only an acknowledged push changes");
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thalweg;
  FuzzInput in(data, size);
  FuzzTransport out;
  Server server(ServerOptions{});
  Instant now{};
  const std::uint8_t mode = in.byte();
  server.on_time(now, out);
  if (mode < 224) {
    Frame welcome, map;
    welcome.head.op = Op::kWelcome;
    welcome.first = encode(wire::Welcome{server_node(0), kCluster});
    map.head.op = Op::kMap;
    map.first = encode(job_map(mode));
    server.on_frame(now, kScheduler, welcome, out);
    server.on_frame(now, kScheduler, map, out);
    THALWEG_CHECK(server.map().epoch == 1, "the server takes part");
  }
  out.take();
  while (!in.empty()) {
    const std::uint8_t what = in.byte();
    const std::uint64_t before = digest(server);
    const std::size_t waiting = server.pulls_waiting();
    if (what < 4) {
      now = now + std::chrono::milliseconds(in.take<std::uint16_t>());
      server.on_time(now, out);
      THALWEG_CHECK(digest(server) == before, "time changes no table");
      out.take();
      continue;
    }
    if (what < 8) {
      give_back(server, out);
      out.take();
      continue;
    }
    NodeId from = in.node();
    const Frame frame =
        server.map().servers.empty() ? Frame{{Op::kWelcome}, in.raw(20), {}} : next_frame(in, server);
    const std::uint32_t shard = frame.head.shard.value;
    if (what < 160 && shard < server.map().shards.size())
      from = worker_node(server.map().shards[shard].worker);
    if (frame.head.op == Op::kMap && !is_small(frame)) continue;
    server.on_frame(now, from, frame, out);
    check_turn(server, from, frame, waiting, digest(server) != before, out);
  }
  return 0;
}
