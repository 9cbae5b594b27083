#include "server/server.h"

#include <gtest/gtest.h>

#include "node/sent_frames_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{};

wire::Map job_map(std::uint32_t epoch, Consistency consistency = Consistency::sync()) {
  wire::Map map;
  map.consistency = consistency;
  map.epoch = epoch;
  TableSpec table;
  table.name = "t";
  table.ranges = 4;
  map.tables = {table};
  map.servers = {"", ""};
  map.by_hand = true;
  map.placement = first_placement(map.tables, 2);
  map.shards = {{0, 0}, {1, 0}};
  return map;
}

// Server 0 of two, in a job of two shards; it owns ranges 0 and 1.
struct Started {
  explicit Started(ServerOptions options = {}, Consistency consistency = Consistency::sync())
      : server(std::move(options)) {
    server.on_frame(kNow, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(0), 7})),
                    out);
    server.on_frame(kNow, kScheduler, make_frame(Op::kMap, encode(job_map(1, consistency))), out);
    out.take();
  }
  // The answers to one frame.
  std::vector<std::pair<NodeId, Frame>> tell(NodeId from, Frame frame) {
    server.on_frame(kNow, from, std::move(frame), out);
    return out.take();
  }
  Code code_of(NodeId from, Frame frame) {
    const auto answers = tell(from, std::move(frame));
    EXPECT_EQ(answers.size(), 1u);
    return answers.at(0).second.head.code;
  }

  SentFrames out;
  Server server;
};

Frame request(Op op, std::uint32_t shard, std::uint32_t step) {
  Frame frame = make_frame(op, Bytes::of(std::vector<std::uint64_t>{5}));
  frame.head.map_epoch = 1;
  frame.head.ranges = {0, 2};
  frame.head.shard = ShardId{shard};
  frame.head.step.index = step;
  if (op == Op::kPush) frame.second = Bytes::of(std::vector<float>{1.0f});
  return frame;
}

TEST(Server, TakesOrdersFromTheSchedulerAlone) {
  Started job;
  for (const NodeId from : {worker_node(0), worker_node(1u << 31), server_node(1)}) {
    EXPECT_TRUE(job.tell(from, make_frame(Op::kStop)).empty());
    EXPECT_TRUE(job.tell(from, make_frame(Op::kMap, encode(job_map(9)))).empty());
    EXPECT_TRUE(job.tell(from, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(1), 8}))).empty());
  }
  EXPECT_FALSE(job.server.membership().stopped().has_value());
  EXPECT_EQ(job.server.map().epoch, 1u);
  EXPECT_FALSE(job.tell(kScheduler, make_frame(Op::kStop)).empty());
  EXPECT_TRUE(job.server.membership().stopped().has_value());
}

TEST(Server, ServesAShardToItsOwnerAlone) {
  Started job;
  EXPECT_EQ(job.code_of(worker_node(1), request(Op::kPush, 0, 0)), Code::kRefused);
  EXPECT_EQ(job.code_of(worker_node(1), request(Op::kPull, 0, 0)), Code::kRefused);
  EXPECT_EQ(job.code_of(server_node(0), request(Op::kPush, 0, 0)), Code::kRefused);
  EXPECT_EQ(job.code_of(worker_node(0), request(Op::kPush, 2, 0)), Code::kRefused);
  Frame former = request(Op::kPush, 0, 0);
  former.head.owner_epoch = 1;
  EXPECT_EQ(job.code_of(worker_node(0), former), Code::kAborted);
  EXPECT_EQ(job.server.tables()[0]->table().stats().rows, 0u);
  EXPECT_EQ(job.code_of(worker_node(0), request(Op::kPush, 0, 0)), Code::kOk);
}

TEST(Server, WhoeverOwnsNoShardMayLookAtRowsAsTheyAre) {
  Started job;
  ASSERT_EQ(job.code_of(worker_node(0), request(Op::kPush, 0, 0)), Code::kOk);
  Frame look = request(Op::kPull, kNoShard.value, 0);
  EXPECT_EQ(job.code_of(worker_node(9), look), Code::kRefused);
  look.head.flags = frame_flags::kReadOnly;
  const auto row = [&] {
    const auto answers = job.tell(worker_node(9), look);
    EXPECT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers.at(0).second.head.code, Code::kOk);
    return answers.at(0).second.second.as<float>()[0];
  };
  EXPECT_EQ(row(), 0.0f);  // Shard 1 has not come to the step; nobody waits for it.
  ASSERT_EQ(job.code_of(worker_node(1), request(Op::kPush, 1, 0)), Code::kOk);
  EXPECT_EQ(row(), 2.0f);
  Frame push = request(Op::kPush, kNoShard.value, 0);
  push.head.flags = frame_flags::kReadOnly;
  EXPECT_EQ(job.code_of(worker_node(9), push), Code::kRefused);
}

// The sender would notice after half a second that it was not heard.
TEST(Server, AsksForEntriesAgainThatCameBeforeItsMap) {
  Started job;
  Frame entry = make_frame(Op::kEntry);
  entry.head.ranges = {2, 4};
  entry.head.shard = ShardId{1};
  entry.head.version = 3;
  entry.head.step.index = 1;
  entry.head.map_epoch = 1;
  EXPECT_TRUE(job.tell(server_node(1), entry).empty()) << "by this map nobody comes before it";
  entry.head.map_epoch = 2;
  EXPECT_TRUE(job.tell(worker_node(1), entry).empty());
  const auto answers = job.tell(server_node(1), entry);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].first, server_node(1));
  const FrameHeader& head = answers[0].second.head;
  EXPECT_EQ(head.op, Op::kEntryReply);
  EXPECT_EQ(head.code, Code::kRetry);
  EXPECT_EQ(head.shard, entry.head.shard);
  EXPECT_EQ(head.version, entry.head.version);
  EXPECT_EQ(head.step, entry.head.step);
}

TEST(Server, TellsApartOldMapsAndThoseToCome) {
  Started job;
  Frame frame = request(Op::kPush, 0, 0);
  frame.head.map_epoch = 0;
  EXPECT_EQ(job.code_of(worker_node(0), frame), Code::kStale);
  frame.head.map_epoch = 2;
  EXPECT_EQ(job.code_of(worker_node(0), frame), Code::kRetry);
}

TEST(Server, ARequestForNoTableOrRangeIsRefused) {
  Started job;
  Frame table = request(Op::kPush, 0, 0);
  table.head.table = TableId{1};
  EXPECT_EQ(job.code_of(worker_node(0), table), Code::kRefused);
  Frame range = request(Op::kPull, 0, 0);
  range.head.ranges = {2, 4};
  EXPECT_EQ(job.code_of(worker_node(0), range), Code::kRefused);
  Frame scan = request(Op::kScan, 0, 0);
  EXPECT_EQ(job.code_of(worker_node(0), scan), Code::kRefused);  // Two ranges.
}

TEST(Server, AWaitingPullIsAnsweredWhenTheStepIsWhole) {
  Started job;
  EXPECT_EQ(job.code_of(worker_node(0), request(Op::kPush, 0, 0)), Code::kOk);
  Frame pull = request(Op::kPull, 0, 1);
  pull.head.request = 5;
  auto answers = job.tell(worker_node(0), pull);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].second.head.op, Op::kWaiting);
  const auto waiting = wire::decode_waiting(answers[0].second.first);
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->missing, (std::vector<ShardId>{ShardId{1}}));
  job.tell(worker_node(0), pull);  // A repeat takes the first one's place.
  EXPECT_EQ(job.server.pulls_waiting(), 1u);
  answers = job.tell(worker_node(1), request(Op::kPush, 1, 0));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].first, worker_node(0));
  EXPECT_EQ(answers[1].second.head.request, 5u);
  EXPECT_EQ(answers[1].second.values()[0], 2.0f);
  EXPECT_EQ(job.server.pulls_waiting(), 0u);
}

// It may come again for longer than a request may wait while nobody gets on.
TEST(Server, APushFarAheadLearnsWhomItWaitsForAndThatOthersGetOn) {
  Started job;
  const Frame ahead = request(Op::kPush, 0, limits::kStepWindow + 1);
  std::vector<std::uint64_t> progress;
  for (std::uint32_t step = 0; step < 2; ++step) {
    const auto answers = job.tell(worker_node(0), ahead);
    ASSERT_EQ(answers.size(), 2u);
    ASSERT_EQ(answers[0].second.head.op, Op::kWaiting);
    const auto waiting = wire::decode_waiting(answers[0].second.first);
    ASSERT_TRUE(waiting.has_value());
    EXPECT_EQ(waiting->missing.back(), ShardId{1});
    progress.push_back(waiting->progress);
    EXPECT_EQ(answers[1].second.head.code, Code::kRetry);
    EXPECT_EQ(job.code_of(worker_node(1), request(Op::kPush, 1, step)), Code::kOk);
  }
  EXPECT_LT(progress[0], progress[1]);
}

TEST(Server, TellsTheSchedulerWhatItHasDone) {
  Started job;
  std::uint64_t answered = 0;
  const auto tell = [&](std::uint32_t worker, const Frame& frame) {
    for (const auto& [to, answer] : job.tell(worker_node(worker), frame)) answered += answer.size_bytes();
  };
  for (int i = 0; i < 2; ++i) tell(0, request(Op::kPush, 0, 0));  // The second is a repeat.
  tell(1, request(Op::kPush, 1, 0));
  tell(1, request(Op::kPull, 1, 1));
  job.server.on_time(job.server.next_deadline(), job.out);
  const auto sent = job.out.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, kScheduler);
  const auto beat = wire::decode_heartbeat(sent[0].second.first);
  ASSERT_TRUE(beat.has_value());
  const Counters& seen = beat->counters;
  EXPECT_EQ(seen[CounterId::kPushes], 3u);
  EXPECT_EQ(seen[CounterId::kRepeats], 1u);
  EXPECT_EQ(seen[CounterId::kPulls], 1u);
  EXPECT_EQ(seen[CounterId::kPushBytes], 3 * request(Op::kPush, 0, 0).size_bytes());
  EXPECT_EQ(seen[CounterId::kRows], 1u);
  EXPECT_GT(seen[CounterId::kTableBytes], 0u);
  EXPECT_EQ(seen[CounterId::kStalenessMax], 0u);
  EXPECT_EQ(seen[lead_counter(0)], 1u);
  EXPECT_EQ(seen[CounterId::kSentBytes], answered);
}

TEST(Server, CountsHowFarShardsLead) {
  ServerOptions options;
  Started job(options, Consistency::async());
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (int i = 0; i < 2; ++i)
      job.tell(worker_node(0), request(Op::kPull, 0, step));  // The second is a repeat.
    job.tell(worker_node(0), request(Op::kPush, 0, step));
  }
  const Counters seen = job.server.counters();
  EXPECT_EQ(seen[CounterId::kStalenessMax], 2u);
  EXPECT_EQ(seen[CounterId::kStalenessSum], 3u);
  for (std::uint32_t lead = 0; lead < 3; ++lead) EXPECT_EQ(seen[lead_counter(lead)], 1u) << lead;
}

// The server before it has shown the step's rows to the shard, is lost, and had acknowledged nothing.
TEST(Server, WhoseFirstMapIsALaterOneShowsHeirsWhatTheOwnerBeforeHadShown) {
  for (const std::uint32_t first : {1u, 2u}) {
    SentFrames out;
    Server server(ServerOptions{});
    const auto answer_to = [&](NodeId from, Frame frame) {
      frame.head.map_epoch = first;
      server.on_frame(kNow, from, std::move(frame), out);
      return out.take().at(0).second;
    };
    server.on_frame(kNow, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(0), 7})),
                    out);
    server.on_frame(kNow, kScheduler, make_frame(Op::kMap, encode(job_map(first))), out);
    out.take();
    for (const std::uint32_t shard : {0u, 1u})
      ASSERT_EQ(answer_to(worker_node(shard), request(Op::kPush, shard, 0)).head.code, Code::kOk);
    const Frame rows = answer_to(worker_node(0), request(Op::kPull, 0, 0));
    ASSERT_EQ(rows.head.code, Code::kOk);
    // By the job's first map nobody has asked before, and no worker asks for the first time so late.
    EXPECT_EQ(rows.second.as<float>()[0], first == 1 ? 2.0f : 0.0f);
  }
}

TEST(Server, APullThatWaitsIsForgottenWhenTheMapChanges) {
  Started job;
  job.tell(worker_node(0), request(Op::kPush, 0, 0));
  job.tell(worker_node(0), request(Op::kPull, 0, 1));
  EXPECT_EQ(job.server.pulls_waiting(), 1u);
  wire::Map map = job_map(2);
  map.shards[0] = {1, 1};
  job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  EXPECT_EQ(job.server.pulls_waiting(), 0u);
}

wire::Map moved_map(std::uint32_t epoch, RangeSpan ranges, std::uint32_t server) {
  wire::Map map = job_map(epoch);
  map.placement[0].move(ranges, {server});
  return map;
}

Frame request_of(Op op, RangeSpan ranges, std::uint32_t map_epoch) {
  Frame frame = request(op, 0, 0);
  frame.head.ranges = ranges;
  frame.head.map_epoch = map_epoch;
  frame.first = Bytes::of(std::vector<std::uint64_t>{range_first_key(ranges.begin, 4) + 1});
  return frame;
}

TEST(Server, GivesUpWhatAMapGivesToOthers) {
  Started job;
  ASSERT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {1, 2}, 1)), Code::kOk);
  job.tell(kScheduler, make_frame(Op::kMap, encode(moved_map(2, {1, 2}, 1))));
  EXPECT_EQ(text_of(job.server.tables()[0]->owned()), "[0,1)");
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {1, 2}, 1)), Code::kStale);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {1, 2}, 2)), Code::kRefused);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPull, {1, 2}, 2)), Code::kRefused);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kScan, {1, 2}, 2)), Code::kRefused);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {0, 1}, 2)), Code::kOk);
  ASSERT_EQ(job.server.given_up().size(), 1u);
  const RangeState state = job.server.fetch(TableId{0}, RangeId{1});
  EXPECT_EQ(state.open_steps.size(), 1u);
  EXPECT_TRUE(job.server.given_up().empty());
}

TEST(Server, AnswersNobodyAboutARangeThatHasYetToCome) {
  Started job;
  Server other{ServerOptions{}};
  SentFrames out;
  other.on_frame(kNow, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(1), 7})), out);
  for (const wire::Map& map : {job_map(1), moved_map(2, {2, 3}, 0)}) {
    job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
    other.on_frame(kNow, kScheduler, make_frame(Op::kMap, encode(map)), out);
  }
  EXPECT_TRUE(job.server.awaits(TableId{0}, RangeId{2}));
  for (const Op op : {Op::kPush, Op::kPull, Op::kScan})
    EXPECT_EQ(job.code_of(worker_node(0), request_of(op, {2, 3}, 2)), Code::kRetry);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {1, 3}, 2)), Code::kRetry);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kMarks, {}, 2)), Code::kRetry);
  Frame count = request_of(Op::kScan, {0, 1}, 2);
  count.head.flags = frame_flags::kReadOnly;
  EXPECT_EQ(job.code_of(worker_node(0), count), Code::kRetry);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {0, 1}, 2)), Code::kOk);  // It has this one.
  std::vector<RangeState> states;
  states.push_back(other.fetch(TableId{0}, RangeId{2}));
  job.server.adopt(TableId{0}, std::move(states), job.out);
  EXPECT_FALSE(job.server.awaits(TableId{0}, RangeId{2}));
  EXPECT_EQ(text_of(job.server.tables()[0]->owned()), "[0,3)");
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {2, 3}, 2)), Code::kOk);
  EXPECT_EQ(job.code_of(worker_node(0), count), Code::kOk);
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kMarks, {}, 2)), Code::kOk);
}

// Who had two ranges of four may be given all, or none at all.
TEST(Server, AServerThatOwnsNothingRefuses) {
  Started job;
  job.tell(kScheduler, make_frame(Op::kMap, encode(moved_map(2, {0, 2}, 1))));
  EXPECT_EQ(job.code_of(worker_node(0), request_of(Op::kPush, {0, 2}, 2)), Code::kRefused);
  const auto marks = job.tell(worker_node(0), request_of(Op::kMarks, {}, 2));
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(wire::decode_marks(marks[0].second.first)->low, (Step{~0u, 0}));  // It holds nobody back.
  EXPECT_EQ(job.server.given_up().size(), 2u);
}

TEST(Server, RefusesAJobOfTooManyMarks) {
  SentFrames out;
  Server server{ServerOptions{}};
  server.on_frame(kNow, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(0), 7})), out);
  wire::Map map = job_map(1);
  map.tables[0].ranges = 65535;
  map.placement = first_placement(map.tables, 2);
  map.shards.resize(limits::kShardsMax);
  server.on_frame(kNow, kScheduler, make_frame(Op::kMap, encode(map)), out);
  const auto ended = out.take(Op::kEnded);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].second.head.code, Code::kUsage);
}

TEST(Server, TakesNoNewRowsBeyondItsMemory) {
  constexpr std::uint64_t kRowBytes = sizeof(Key) + sizeof(float);
  Started empty;
  const std::uint64_t used = empty.server.tables()[0]->bytes_in_use();
  for (const bool fits : {true, false}) {
    Started job(ServerOptions{{}, {}, used + kRowBytes - (fits ? 0 : 1)});
    const auto answers = job.tell(worker_node(0), request(Op::kPush, 0, 0));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.code, fits ? Code::kOk : Code::kData);
    EXPECT_EQ(job.server.tables()[0]->bytes_in_use(), used + (fits ? kRowBytes : 0));  // Of an open step.
    if (!fits) {
      EXPECT_NE(status_of(answers[0].second).message().find("1 new rows of 12 bytes"), std::string::npos);
    }
    // Neither what has come before nor what is empty needs room.
    if (fits) {
      EXPECT_EQ(job.code_of(worker_node(0), request(Op::kPush, 0, 0)), Code::kOk);
    }
    Frame nothing = request(Op::kPush, 1, 0);
    nothing.first = nothing.second = {};
    EXPECT_EQ(job.code_of(worker_node(1), nothing), Code::kOk);
  }
}

Frame push_of_two(std::uint32_t shard, std::uint32_t step) {
  Frame push = request(Op::kPush, shard, step);
  push.first = Bytes::of(std::vector<std::uint64_t>{5, 6});
  push.second = Bytes::of(std::vector<float>{1.0f, 1.0f});
  return push;
}

// A row in each turn, and pushes of both shards between them.
wire::CheckpointReport store_while_pushed(Started& job) {
  for (const std::uint32_t shard : {0u, 1u})
    EXPECT_EQ(job.code_of(worker_node(shard), push_of_two(shard, 0)), Code::kOk);
  Frame order = make_frame(Op::kCheckpoint, encode(wire::CheckpointOrder{1, {0, 1}, "c-1"}));
  order.head.map_epoch = 1;
  job.tell(kScheduler, order);
  for (std::uint32_t step = 1; step < 20; ++step) {
    job.server.on_time(kNow, job.out);
    Computation* const work = job.server.take_work();
    if (work == nullptr) break;
    for (const std::uint32_t shard : {0u, 1u})
      EXPECT_EQ(job.code_of(worker_node(shard), push_of_two(shard, step)), Code::kOk);
    work->compute();
    job.server.on_computed(kNow, job.out);
  }
  job.out.take();
  job.server.on_frame(kNow, kScheduler, order, job.out);
  const auto reports = job.out.take(Op::kCheckpointReply);
  EXPECT_EQ(reports.size(), 1u);
  return *wire::decode_checkpoint_report(reports.at(0).second.first);
}

TEST(Server, StoresRowsAsTheyWereWhilePushesCome) {
  ServerOptions options;
  options.cut_piece_bytes = 1;
  std::vector<float> stored;
  options.store_cut = store_whole([&](const Cut& cut) -> Result<std::string> {
    const auto rows = cut.tables.at(0).entries.at(0).rows.values.as<float>();
    stored.assign(rows.begin(), rows.end());
    return std::string("part");
  });
  Started job(std::move(options));
  const wire::CheckpointReport report = store_while_pushed(job);
  EXPECT_EQ(report.state, wire::CheckpointReport::State::kStored);
  EXPECT_EQ(report.text, "part");
  EXPECT_EQ(stored, (std::vector<float>{2.0f, 2.0f}));
  std::vector<float> now(2);
  job.server.tables()[0]->table().read(std::vector<std::uint64_t>{5, 6}, now);
  EXPECT_GT(now[0], 4.0f) << "pushes went on";
}

TEST(Server, WalksNoFurtherWhereADiskRefuses) {
  struct Refusing final : CutSink {
    Status add(TableId, const LoadEntry&) override { return {Code::kIo, "disk full"}; }
    Result<std::string> finish() override { return std::string("part"); }
  };
  ServerOptions options;
  options.cut_piece_bytes = 1;
  options.store_cut = [](const Cut&) -> Result<std::unique_ptr<CutSink>> {
    return std::unique_ptr<CutSink>(std::make_unique<Refusing>());
  };
  Started job(std::move(options));
  const wire::CheckpointReport report = store_while_pushed(job);
  EXPECT_EQ(report.state, wire::CheckpointReport::State::kFailed);
  EXPECT_NE(report.text.find("disk full"), std::string::npos) << report.text;
  EXPECT_FALSE(job.server.tables()[0]->next_of_cut(1).has_value());
}

TEST(Server, WhoJoinsAChainLeavesACutAlone) {
  ServerOptions options;
  options.store_cut = store_whole([](const Cut&) { return Result<std::string>("part"); });
  Started job(std::move(options));
  wire::Map map = job_map(1);
  const auto state = [&] {
    Frame order = make_frame(Op::kCheckpoint, encode(wire::CheckpointOrder{1, {0, 5}, "c-1"}));
    order.head.map_epoch = map.epoch;
    job.server.on_frame(kNow, kScheduler, order, job.out);
    const auto reports = job.out.take(Op::kCheckpointReply);
    return reports.empty()
               ? std::nullopt
               : std::optional(wire::decode_checkpoint_report(reports.back().second.first)->state);
  };
  EXPECT_EQ(state(), wire::CheckpointReport::State::kOpen);
  map.epoch = 2;
  map.placement[0].move({0, 2}, {0, 1}, map.epoch);
  job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  EXPECT_EQ(state(), wire::CheckpointReport::State::kOpen);
  map.epoch = 3;
  map.placement[0].move({0, 1}, {1});
  job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  EXPECT_EQ(state(), wire::CheckpointReport::State::kFailed);
}

TEST(Server, CallsASchedulerThatIsGoneWhereAnotherMayCome) {
  Started job;
  wire::Map map = job_map(2);
  map.scheduler_kept = true;
  job.tell(kScheduler, make_frame(Op::kMap, encode(map)));
  job.server.on_peer_lost(kNow, kScheduler, job.out);
  EXPECT_EQ(job.out.take(Op::kGetMap).size(), 1u);
  EXPECT_FALSE(job.server.membership().stopped());
}

TEST(Server, LeavesASchedulerThatAnswersNothing) {
  SentFrames out;
  Server server{ServerOptions{{.patience = 10s}}};
  server.on_frame(kNow, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(0), 7})), out);
  while (!server.finished()) server.on_time(server.next_deadline(), out);
  const Status why(Code::kPeerLost, "scheduler has answered nothing for 10 s");
  EXPECT_EQ(server.membership().stopped(), why);
  const auto said = out.take(Op::kEnded);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(status_of(said[0].second), why);
}

}  // namespace
}  // namespace thalweg
