#include "wire/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/limits.h"
#include "wire/drain.h"
#include "wire/job_status.h"

namespace thalweg::wire {
namespace {

Map some_map() {
  Map map;
  map.epoch = 9;
  map.consistency = Consistency::backup(4);
  map.closing = true;
  map.ending = true;
  map.scheduler_kept = true;
  map.first = {4, 300};
  map.timeout = std::chrono::seconds(30);
  TableSpec sparse;
  sparse.name = "weights";
  sparse.dim = 3;
  sparse.rule.kind = RuleKind::kFtrl;
  sparse.rule.custom = "none";
  sparse.init = {InitSpec::Kind::kNormal, 0.5f, 11};
  TableSpec dense;
  dense.kind = TableSpec::Kind::kDense;
  dense.rows = 70;
  dense.ranges = 5;
  map.tables = {sparse, dense};
  map.servers = {"127.0.0.1:1", ""};
  map.placement = first_placement(map.tables, 2);
  map.placement[0].move({3, 9}, {1, 0}, 7);
  map.shards = {{0, 0}, {1, 4}, {0, 1}};
  map.combine = Combining::tree(2);
  map.workers = {{0, 0, "127.0.0.1:5"}, {1, 0, ""}, {4, 1, "b"}};
  map.data = 0x1234567890abcdef;
  map.job = "rate = 1";
  return map;
}

// Its second counter is one that no program knows yet.
Heartbeat some_heartbeat() {
  Heartbeat beat;
  beat.counters.set(CounterId::kRows, 7);
  beat.counters.set(CounterId{40000}, ~std::uint64_t{0});
  return beat;
}

JobStatus some_status() {
  JobStatus status;
  status.age = std::chrono::seconds(3);
  status.epoch = 4;
  status.waits_for = "server-1";
  status.replicas = 2;
  status.ranges = 257;
  status.ranges_in_sync = 86;
  status.nodes = {{server_node(0), false, NodeState::kLost, 4711, "127.0.0.1:1"},
                  {worker_node(kFirstObserver), true, NodeState::kAlive, 0, ""}};
  status.fastest = {2, 120};
  status.slowest = {2, 112};
  status.stragglers = {{ShardId{3}, 1, {2, 112}}};
  status.failovers = {{0, std::chrono::milliseconds(12), std::chrono::milliseconds(4)},
                      {1, std::chrono::milliseconds(7), {}}};
  status.events_forgotten = 9;
  status.events = {{std::chrono::seconds(1), JobEvent::Kind::kPromoted, server_node(1), "owns 86"},
                   {std::chrono::seconds(2), JobEvent::Kind::kEnded, kScheduler, ""}};
  return status;
}

ServerDrain some_drain() { return {1, true, 171, 170, {0, 2}, std::chrono::milliseconds(70)}; }

bool same(const Bytes& a, const Bytes& b) { return std::ranges::equal(a.span(), b.span()); }

// Reading gives what was written, and nothing but all of the bytes is a message.
template <class T, class Decode>
void expect_exact(const T& message, Decode decode) {
  const Bytes bytes = encode(message);
  const auto again = decode(bytes);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(same(encode(*again), bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(bytes.part(0, size)).has_value()) << "cut to " << size << " of " << bytes.size();
  }
  std::vector<std::byte> longer(bytes.span().begin(), bytes.span().end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(Bytes::of(std::move(longer))).has_value());
}

TEST(Messages, EachHasOneReadingAndNoPartOfItHasAny) {
  expect_exact(Join{Role::kServer, false, "127.0.0.1:7100", "host", "box", 4711}, decode_join);
  expect_exact(Join{Role::kWorker, true, "", "", ""}, decode_join);
  expect_exact(Welcome{worker_node(3), 0x123456789abcdefu}, decode_welcome);
  expect_exact(some_map(), decode_map);
  expect_exact(CheckpointOrder{9, {3, 400}, "/kept/.taking-1"}, decode_checkpoint_order);
  expect_exact(CheckpointOrder{9, {3, 400}, "/kept/.taking-1", 7}, decode_checkpoint_order);
  expect_exact(CheckpointReport{9, CheckpointReport::State::kStored, {3, 400}, "a part"},
               decode_checkpoint_report);
  expect_exact(Waiting{7, {ShardId{1}, ShardId{65535}}}, decode_waiting);
  expect_exact(Waiting{}, decode_waiting);
  expect_exact(Reached{{3, 17}, {4, 2}, true}, decode_marks);
  expect_exact(Joined{{{TableId{1}, {2, 5}, 7}, {TableId{1}, {5, 6}, 8}}}, decode_joined);
  expect_exact(Heartbeat{}, decode_heartbeat);
  expect_exact(some_heartbeat(), decode_heartbeat);
  expect_exact(JobStatus{}, decode_job_status);
  expect_exact(some_status(), decode_job_status);
  expect_exact(Drain{7}, decode_drain);
  expect_exact(ServerDrain{}, decode_server_drain);
  expect_exact(some_drain(), decode_server_drain);
}

TEST(Messages, WhatIsToldOfADrainAddsUp) {
  const auto refused = [](const std::function<void(ServerDrain&)>& spoil) {
    ServerDrain drain = some_drain();
    spoil(drain);
    return !decode_server_drain(encode(drain)).has_value();
  };
  EXPECT_FALSE(refused([](ServerDrain&) {}));
  EXPECT_TRUE(refused([](ServerDrain& drain) { drain.copied = drain.ranges + 1; }));
  EXPECT_TRUE(refused([](ServerDrain& drain) { drain.took = std::chrono::nanoseconds(-1); }));
  EXPECT_TRUE(refused([](ServerDrain& drain) { drain.to = {2, 0}; }));
  EXPECT_TRUE(refused([](ServerDrain& drain) { drain.to = {2, 2}; }));
  EXPECT_TRUE(refused([](ServerDrain& drain) {
    drain.to.clear();
    for (std::uint32_t s = 0; s <= limits::kNodesMax; ++s) drain.to.push_back(s);
  }));
}

TEST(Messages, AStatusBeyondItsBoundsIsNone) {
  const auto refused = [](const std::function<void(JobStatus&)>& spoil) {
    JobStatus status = some_status();
    spoil(status);
    return !decode_job_status(encode(status)).has_value();
  };
  EXPECT_FALSE(refused([](JobStatus&) {}));
  EXPECT_TRUE(refused([](JobStatus& status) { status.ranges_in_sync = status.ranges + 1; }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.age = std::chrono::nanoseconds(-1); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.nodes[0].state = NodeState(5); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.events[0].kind = JobEvent::Kind(13); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.events[0].cause.assign(kCauseBytesMax + 1, 'x'); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.events.resize(kEventsMax + 1); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.stragglers.resize(kStragglersMax + 1); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.nodes.resize(limits::kNodesMax + 1); }));
  EXPECT_TRUE(refused([](JobStatus& status) { status.failovers.resize(limits::kNodesMax + 1); }));
}

TEST(Messages, AMapTellsEverythingOfTheJob) {
  const Map map = some_map();
  const auto again = decode_map(encode(map));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->tables, map.tables);
  EXPECT_EQ(again->consistency, map.consistency);
  EXPECT_EQ(again->servers, map.servers);
  EXPECT_EQ(again->placement, map.placement);
  EXPECT_EQ(again->shards, map.shards);
  EXPECT_EQ(again->combine, map.combine);
  EXPECT_EQ(again->workers, map.workers);
  EXPECT_EQ(again->job, map.job);
  EXPECT_EQ(again->data, map.data);
  EXPECT_EQ(again->timeout, map.timeout);
  EXPECT_EQ(again->closing, map.closing);
  EXPECT_EQ(again->ending, map.ending);
  EXPECT_EQ(again->scheduler_kept, map.scheduler_kept);
  EXPECT_EQ(again->epoch, map.epoch);
}

TEST(Messages, AMapMayHaveNamelessTables) {
  Map map;
  map.tables.resize(limits::kTablesMax);
  map.servers = {""};
  map.placement = first_placement(map.tables, 1);
  map.shards = {{}};
  EXPECT_TRUE(decode_map(encode(map)).has_value());
  map.tables.emplace_back();
  map.placement = first_placement(map.tables, 1);
  EXPECT_FALSE(decode_map(encode(map)).has_value());
}

TEST(Messages, AMapIsRefusedOutsideItsLimits) {
  const auto refused = [](const std::function<void(Map&)>& change) {
    Map map = some_map();
    change(map);
    return !decode_map(encode(map)).has_value();
  };
  EXPECT_TRUE(refused([](Map& m) { m.servers.clear(); }));
  EXPECT_TRUE(refused([](Map& m) { m.shards.clear(); }));
  EXPECT_TRUE(refused([](Map& m) { m.shards.resize(limits::kShardsMax + 1); }));
  EXPECT_TRUE(refused([](Map& m) { m.servers.resize(limits::kNodesMax + 1); }));
  EXPECT_TRUE(refused([](Map& m) { m.servers[0].resize(limits::kNameBytesMax + 1); }));
  EXPECT_TRUE(refused([](Map& m) { m.placement.pop_back(); }));
  EXPECT_TRUE(refused([](Map& m) { m.placement[0] = Placement::even(255, 2); }));
  EXPECT_TRUE(refused([](Map& m) { m.placement[0].move({0, 1}, {2}); }));
  EXPECT_TRUE(refused([](Map& m) { m.placement[0].move({0, 1}, {}); }));
  EXPECT_TRUE(refused([](Map& m) { m.placement[0].move({0, 1}, {0, 0}); }));
  EXPECT_TRUE(refused([](Map& m) { m.placement[0].move({0, 1}, std::vector<std::uint32_t>(9)); }));
  EXPECT_TRUE(refused([](Map& m) { m.tables[0].dim = 0; }));
  EXPECT_TRUE(refused([](Map& m) { m.tables[0].dim = limits::kDimMax + 1; }));
  EXPECT_TRUE(refused([](Map& m) { m.tables[1].ranges = 0; }));
  EXPECT_TRUE(refused([](Map& m) { m.timeout = Duration{-1}; }));
  EXPECT_TRUE(refused([](Map& m) { m.timeout = Duration::max(); }));
  EXPECT_TRUE(refused([](Map& m) { m.combine.arity = 0; }));
  EXPECT_TRUE(refused([](Map& m) { m.combine.kind = Combining::Kind::kMachine; }));
  EXPECT_TRUE(refused([](Map& m) { m.workers[1].index = 0; }));
  EXPECT_TRUE(refused([](Map& m) { m.workers[2].index = 0; }));
  EXPECT_FALSE(refused([](Map&) {}));
}

// A run says by which attempts its servers have come, and so the joiner's twice.
TEST(Messages, AMapNamesAJoinersAttemptOnce) {
  const std::string told(encode(some_map()).text());
  const std::string run("\7\0\0\0\1\0\0\0\0\7\0\0\0", 13);  // Joining, one that came: server, attempt.
  const std::size_t at = told.find(run);
  ASSERT_NE(at, std::string::npos);
  ASSERT_TRUE(decode_map(Bytes::of(told)).has_value());
  std::string other = told, none = told;
  other[at + 9] = 6;
  none.replace(at, run.size(), std::string("\7\0\0\0\0", 5));
  EXPECT_FALSE(decode_map(Bytes::of(other)).has_value());
  EXPECT_FALSE(decode_map(Bytes::of(none)).has_value());
}

TEST(Messages, AClaimedCountAllocatesNothing) {
  const std::uint32_t huge = ~0u;
  Writer waiting;
  waiting.put(std::uint64_t{1}).put(huge).put(std::uint32_t{1});
  EXPECT_FALSE(decode_waiting(waiting.take()).has_value());
  Writer join;
  join.put(Role::kWorker).put(std::uint8_t{0}).put(huge).put(std::uint32_t{0});
  EXPECT_FALSE(decode_join(join.take()).has_value());
  EXPECT_FALSE(decode_heartbeat(Writer().put(huge).put(std::uint64_t{0}).take()).has_value());
  const Bytes claim = Bytes::of(std::string_view("\xff\xff\x00\x00 and four", 13));
  Reader reader(claim);
  EXPECT_EQ(reader.get_count(limits::kShardsMax, 8), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(Messages, AHeartbeatNamesEachCounterOnceAndFewOfThem) {
  const auto again = decode_heartbeat(encode(some_heartbeat()));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->counters, some_heartbeat().counters);
  for (const auto second : {std::uint16_t{1}, std::uint16_t{2}}) {
    Writer out;
    out.put(std::uint32_t{2})
        .put(CounterId{2})
        .put(std::uint64_t{1})
        .put(CounterId{second})
        .put(std::uint64_t{1});
    EXPECT_FALSE(decode_heartbeat(out.take()).has_value()) << second;
  }
  Heartbeat many;
  for (std::uint32_t i = 0; i < limits::kCountersMax; ++i)
    many.counters.set(CounterId{static_cast<std::uint16_t>(i)}, i);
  EXPECT_TRUE(decode_heartbeat(encode(many)).has_value());
  many.counters.set(CounterId{limits::kCountersMax}, 1);
  EXPECT_FALSE(decode_heartbeat(encode(many)).has_value());
}

TEST(Messages, ChoicesOutsideTheirListAreRefused) {
  Writer role;
  role.put(std::uint8_t{3}).put(std::uint8_t{0}).put_text("").put_text("").put_text("");
  EXPECT_FALSE(decode_join(role.take()).has_value());
  Writer observer;
  observer.put(Role::kWorker).put(std::uint8_t{2}).put_text("").put_text("").put_text("");
  EXPECT_FALSE(decode_join(observer.take()).has_value());
}

}  // namespace
}  // namespace thalweg::wire
