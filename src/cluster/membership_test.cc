#include "cluster/membership.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/limits.h"
#include "node/sent_frames_for_test.h"

namespace thalweg::cluster {
namespace {

using namespace std::chrono_literals;
using News = Membership::News;

constexpr Duration kPatience = 10s;

wire::Map job_map(std::uint32_t epoch, Duration timeout = 60s) {
  wire::Map map;
  map.epoch = epoch;
  map.timeout = timeout;
  map.tables.resize(1);
  map.tables[0].ranges = 4;
  map.servers = {"", ""};
  map.placement = first_placement(map.tables, 2);
  map.shards = {{0, 0}, {1, 0}};
  return map;
}

Frame welcome(NodeId id) { return make_frame(Op::kWelcome, encode(wire::Welcome{id, 7})); }

struct Member {
  explicit Member(Role member_role = Role::kServer) : role(member_role) {}
  News hear(Frame frame, NodeId from = kScheduler) { return membership.hear(now, from, frame, out); }
  News hear(const wire::Map& map) { return hear(make_frame(Op::kMap, encode(map))); }
  // Takes part under `map` as the first of its role.
  void begin(const wire::Map& map) {
    EXPECT_EQ(hear(welcome({role, 0})), News::kWelcome);
    membership.speak(now, {}, out);
    EXPECT_EQ(hear(map), News::kFirstMap);
    out.take();
  }
  // Speaks until `end` whenever that is due, and is answered or not; how often.
  std::size_t speak_until(Instant end, bool answered) {
    std::size_t spoken = 0;
    for (; membership.next_deadline() < end; ++spoken) {
      now = membership.next_deadline();
      if (const auto why = membership.scheduler_lost()) {
        membership.leave({Code::kPeerLost, *why});
        break;
      }
      membership.speak(now, {}, out);
      if (answered) hear(make_frame(Op::kHeartbeat));
    }
    return spoken;
  }

  Role role;
  Instant now{};
  SentFrames out;
  Membership membership{role, {"127.0.0.1:1", "name", "machine", 1, false, {}, kPatience}};
};

TEST(Membership, AsksToJoinUntilItIsWelcome) {
  Member member;
  EXPECT_EQ(member.speak_until(Instant{} + 4 * limits::kRetryFirst, false), 4u);
  const auto sent = member.out.take();
  ASSERT_EQ(sent.size(), 4u);
  for (const auto& [to, frame] : sent) {
    EXPECT_EQ(to, kScheduler);
    ASSERT_EQ(frame.head.op, Op::kJoin);
    const auto join = wire::decode_join(frame.first);
    ASSERT_TRUE(join.has_value());
    EXPECT_EQ(join->role, Role::kServer);
    EXPECT_EQ(join->address + join->name + join->machine, "127.0.0.1:1namemachine");
  }
  EXPECT_EQ(member.hear(job_map(1)), News::kNone);               // It has no name yet.
  EXPECT_EQ(member.hear(welcome(worker_node(0))), News::kNone);  // A worker's is not for a server.
  EXPECT_EQ(member.hear(welcome(server_node(1))), News::kWelcome);
  EXPECT_EQ(member.hear(welcome(server_node(0))), News::kNone);  // It has one.
  EXPECT_EQ(member.membership.id(), server_node(1));
  member.membership.speak(member.now, {}, member.out);
  const auto beats = member.out.take();
  ASSERT_EQ(beats.size(), 1u);
  EXPECT_EQ(beats[0].second.head.op, Op::kHeartbeat);
  EXPECT_EQ(beats[0].second.head.cluster, 7u);
}

TEST(Membership, TakesOrdersFromTheSchedulerAlone) {
  Member member;
  member.begin(job_map(1));
  for (const NodeId from : {worker_node(0), worker_node(1u << 31), server_node(1)}) {
    EXPECT_EQ(member.hear(make_frame(Op::kStop), from), News::kNone);
    EXPECT_EQ(member.hear(make_frame(Op::kMap, encode(job_map(9))), from), News::kNone);
    EXPECT_EQ(member.hear(welcome(server_node(1)), from), News::kNone);
    EXPECT_EQ(member.hear(make_frame(Op::kPush), from), News::kOther);
  }
  EXPECT_FALSE(member.membership.stopped().has_value());
  EXPECT_EQ(member.membership.map().epoch, 1u);
}

TEST(Membership, KeepsTheNewestMapOfItsOwnJob) {
  Member member;
  member.begin(job_map(3));
  const auto news_of = [&](const std::function<void(wire::Map&)>& change) {
    wire::Map map = job_map(4);
    change(map);
    return member.hear(map);
  };
  EXPECT_EQ(news_of([](wire::Map& m) { m.shards.pop_back(); }), News::kNone);
  EXPECT_EQ(news_of([](wire::Map& m) { m.tables[0].dim = 2; }), News::kNone);
  EXPECT_EQ(news_of([](wire::Map& m) { m.consistency = Consistency::async(); }), News::kNone);
  EXPECT_EQ(news_of([](wire::Map& m) { m.combine = Combining::machine(); }), News::kNone);
  EXPECT_EQ(news_of([](wire::Map& m) { m.epoch = 3; }), News::kNone);
  EXPECT_EQ(news_of([](wire::Map& m) { m.epoch = 2; }), News::kNone);
  EXPECT_EQ(member.hear(make_frame(Op::kMap, Bytes::of("no map"))), News::kNone);
  EXPECT_EQ(member.membership.map().epoch, 3u);
  EXPECT_EQ(news_of([](wire::Map& m) { m.shards[0] = {1, 1}; }), News::kMap);
  EXPECT_FALSE(member.membership.ranges_moved());
  EXPECT_EQ(news_of([](wire::Map& m) { m.epoch = 9, m.placement[0].move({0, 1}, {1}); }), News::kMap);
  EXPECT_TRUE(member.membership.ranges_moved());
  EXPECT_EQ(member.membership.map().epoch, 9u);
}

TEST(Membership, AServerIsOneOfTheMaps) {
  for (const Role role : {Role::kServer, Role::kWorker}) {
    Member member(role);
    member.hear(welcome({role, 2}));
    EXPECT_EQ(member.hear(job_map(1)), role == Role::kServer ? News::kNone : News::kFirstMap);
  }
}

TEST(Membership, MissesNoServerThatHasNoRangesAnyMore) {
  Member member(Role::kWorker);
  member.begin(job_map(1));
  wire::Map without = job_map(2);
  for (std::uint16_t range = 0; range < 4; ++range)
    without.placement[0].move({range, static_cast<std::uint16_t>(range + 1)}, {0});
  EXPECT_FALSE(member.membership.has_left(server_node(1)));
  member.hear(without);
  EXPECT_TRUE(member.membership.has_left(server_node(1)));
  for (const NodeId other : {server_node(0), server_node(2), worker_node(1), kScheduler})
    EXPECT_FALSE(member.membership.has_left(other)) << node_name(other);
}

TEST(Membership, SpeaksAsOftenAsTheMapSays) {
  Member member;
  member.begin(job_map(1));
  EXPECT_EQ(member.membership.next_deadline(), member.now + limits::kHeartbeatEvery);
  EXPECT_EQ(member.hear(job_map(2, 800ms)), News::kMap);
  EXPECT_EQ(member.membership.next_deadline(), member.now + 100ms);
  EXPECT_EQ(member.speak_until(member.now + 1050ms, true), 10u);
  for (const auto& [to, frame] : member.out.take()) EXPECT_EQ(frame.head.map_epoch, 2u);
}

TEST(Membership, GivesUpASchedulerThatAnswersNothing) {
  for (const bool has_map : {false, true}) {
    for (const bool answered : {false, true}) {
      Member member(Role::kWorker);
      member.hear(welcome(worker_node(0)));
      member.membership.speak(member.now, {}, member.out);
      if (has_map) member.hear(job_map(1, 30s));
      member.speak_until(Instant{} + 90s, answered);
      EXPECT_EQ(member.membership.stopped().has_value(), !answered);
      if (answered) continue;
      const Duration silence = has_map ? Duration(30s) : kPatience;
      EXPECT_GT(member.now, Instant{} + silence);
      EXPECT_LE(member.now, Instant{} + silence + 2 * limits::kHeartbeatEvery);
      EXPECT_EQ(member.membership.stopped(),
                Status(Code::kPeerLost, has_map ? "scheduler has answered nothing for 30 s"
                                                : "scheduler has answered nothing for 10 s"));
      EXPECT_EQ(member.membership.next_deadline(), kNever);
    }
  }
}

// The first word that is not answered is a busy scheduler's to miss.
TEST(Membership, LooksForASchedulerElsewhereWhereOneAnswersNothing) {
  SentFrames out;
  MemberOptions options;
  options.schedulers = {"a:1", "b:1", "c:1"};
  Membership membership(Role::kWorker, options);
  const auto speak = [&](int times) {
    for (int i = 0; i < times; ++i) membership.speak(membership.next_deadline(), {}, out);
    std::string asked;
    for (const auto& [node, address] : std::exchange(out.introduced, {})) {
      EXPECT_EQ(node, kScheduler);
      asked += address + " ";
    }
    return asked;
  };
  const auto hear = [&](Frame frame) { membership.hear({}, kScheduler, frame, out); };
  EXPECT_EQ(speak(1), "");
  EXPECT_EQ(speak(3), "b:1 c:1 a:1 ");
  hear(welcome(worker_node(0)));
  EXPECT_EQ(speak(1), "");
  hear(make_frame(Op::kMap, encode(job_map(1))));
  EXPECT_EQ(speak(2), "b:1 ");
  hear(make_frame(Op::kHeartbeat));
  EXPECT_EQ(speak(1), "");
  EXPECT_EQ(speak(1), "c:1 ");
  Member alone;  // Who knows of one has nobody else to ask.
  alone.begin(job_map(1));
  alone.speak_until(Instant{} + 30s, false);
  EXPECT_TRUE(alone.out.introduced.empty());
}

// Whoever leads instead may have begun to wait for this node as the other one fell silent.
TEST(Membership, CallsEachSchedulerBeforeTheOneThatLeadsTakesItForLost) {
  for (const Duration silence : {Duration{500ms}, Duration{3s}, Duration{10s}}) {
    SentFrames out;
    MemberOptions options;
    options.schedulers = {"a:1", "b:1", "c:1"};
    Membership membership(Role::kWorker, options);
    membership.hear({}, kScheduler, welcome(worker_node(0)), out);
    wire::Map map = job_map(1);
    map.silence = silence;
    membership.hear({}, kScheduler, make_frame(Op::kMap, encode(map)), out);
    Instant now{};
    while (out.introduced.size() < 2) membership.speak(now = membership.next_deadline(), {}, out);
    EXPECT_LT(now - Instant{}, silence);
  }
}

// It answers, and another one may lead that this node has to be seen by.
TEST(Membership, LooksForASchedulerElsewhereWhereTheOneThatAnswersIsInDoubt) {
  SentFrames out;
  MemberOptions options;
  options.schedulers = {"a:1", "b:1"};
  Membership membership(Role::kWorker, options);
  const auto speak = [&](std::uint8_t flags) {
    membership.speak(membership.next_deadline(), {}, out);
    Frame answer = make_frame(Op::kHeartbeat);
    answer.head.flags = flags;
    membership.hear({}, kScheduler, answer, out);
    return std::exchange(out.introduced, {}).size();
  };
  membership.hear({}, kScheduler, welcome(worker_node(0)), out);
  membership.hear({}, kScheduler, make_frame(Op::kMap, encode(job_map(1))), out);
  EXPECT_EQ(speak(0), 0u);
  EXPECT_EQ(speak(wire::kInDoubt), 0u);
  EXPECT_LT(membership.next_deadline(), Instant{} + limits::kHeartbeatEvery) << "sooner than else";
  EXPECT_EQ(speak(wire::kInDoubt), 1u);
  membership.hear({}, kScheduler, make_frame(Op::kWaiting), out);
  EXPECT_EQ(speak(0), 1u) << "what else it says is no sign that it leads";
  EXPECT_EQ(speak(0), 0u);
}

TEST(Membership, SaysUntilTheStopThatItsPartIsOver) {
  Member member(Role::kWorker);
  member.begin(job_map(1));
  member.membership.end({Code::kNonFinite, "a loss"}, member.out);
  member.membership.end(ok_status(), member.out);  // The first one counts.
  member.speak_until(member.now + 3500ms, true);
  const auto said = member.out.take(Op::kEnded);
  ASSERT_EQ(said.size(), 4u);
  for (const auto& [to, frame] : said) EXPECT_EQ(status_of(frame), Status(Code::kNonFinite, "a loss"));
  EXPECT_FALSE(member.membership.stopped().has_value());
}

TEST(Membership, HearsNothingButTheStopOnceItHasLeft) {
  Member member;
  member.begin(job_map(1));
  member.membership.fail({Code::kUsage, "too many marks"}, member.out);
  member.membership.leave({Code::kPeerLost, "later"});
  EXPECT_EQ(member.out.take(Op::kEnded).size(), 1u);
  EXPECT_EQ(member.hear(job_map(2)), News::kNone);
  EXPECT_EQ(member.hear(make_frame(Op::kPush), worker_node(0)), News::kNone);
  EXPECT_FALSE(member.membership.told_to_stop());
  EXPECT_EQ(member.hear(make_frame(Op::kStop)), News::kStop);
  EXPECT_EQ(member.hear(make_frame(Op::kStop)), News::kStop);  // Its answer was lost.
  EXPECT_TRUE(member.membership.told_to_stop());
  EXPECT_EQ(member.membership.stopped(), Status(Code::kUsage, "too many marks"));
  EXPECT_EQ(member.membership.map().epoch, 1u);
}

TEST(Membership, EndsAsTheSchedulerSays) {
  Member member;
  member.begin(job_map(1));
  Frame stop = make_frame(Op::kStop);
  put_status(stop, {Code::kPeerLost, "server-1 is gone"});
  EXPECT_EQ(member.hear(stop), News::kStop);
  EXPECT_EQ(member.membership.stopped(), Status(Code::kPeerLost, "server-1 is gone"));
  EXPECT_EQ(member.membership.next_deadline(), kNever);
  member.membership.confirm_stop(member.out);
  const auto confirmed = member.out.take(Op::kStop);
  ASSERT_EQ(confirmed.size(), 1u);
  EXPECT_EQ(confirmed[0].second.head.code, Code::kOk);
}

Frame said(Op op, wire::StateMark now, wire::StateMark heard, Bytes first = {}) {
  Frame frame = make_frame(op, std::move(first));
  frame.second = encode(wire::SaidMark{now, heard});
  return frame;
}

TEST(Membership, CallsASchedulerThatIsGoneWithoutWaitingForAHeartbeat) {
  Member member;
  wire::Map map = job_map(3);
  map.scheduler_kept = true;
  member.begin(map);
  ASSERT_TRUE(member.membership.awaits_scheduler());
  const Instant due = member.membership.next_deadline();
  member.membership.call_scheduler(member.out);
  const auto sent = member.out.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, kScheduler);
  EXPECT_EQ(sent[0].second.head.op, Op::kGetMap);
  EXPECT_EQ(sent[0].second.head.map_epoch, 3u);
  EXPECT_EQ(member.membership.next_deadline(), due);
}

// One that does not know how far the state of the one before was may know less than this node.
TEST(Membership, HearsAnotherSchedulerOnceThatKnowsWhatThisNodeWasTold) {
  Member member;
  member.begin(job_map(1));
  EXPECT_EQ(member.hear(said(Op::kHeartbeat, {5, 3}, {})), News::kOther);
  EXPECT_EQ(member.hear(said(Op::kMap, {5, 4}, {}, encode(job_map(2)))), News::kMap);
  EXPECT_EQ(member.hear(said(Op::kHeartbeat, {5, 2}, {})), News::kOther);  // An earlier word comes late.
  member.membership.speak(member.now, {}, member.out);
  EXPECT_EQ(wire::decode_state_mark(member.out.take().at(0).second.second), (wire::StateMark{5, 4}));

  member.now = member.now + 1ms;
  EXPECT_EQ(member.hear(said(Op::kMap, {6, 9}, {5, 3}, encode(job_map(3)))), News::kNone);
  EXPECT_EQ(member.membership.map().epoch, 2u);
  EXPECT_LE(member.membership.next_deadline(), member.now) << "it says so at once";
  EXPECT_EQ(member.hear(job_map(3)), News::kNone);
  EXPECT_EQ(member.hear(make_frame(Op::kStop)), News::kNone);
  EXPECT_EQ(member.hear(make_frame(Op::kHeartbeat)), News::kOther) << "there is one";
  EXPECT_EQ(member.hear(said(Op::kMap, {6, 9}, {5, 4}, encode(job_map(3)))), News::kMap);
  EXPECT_EQ(member.membership.told(), (wire::StateMark{6, 9}));
  EXPECT_EQ(member.hear(said(Op::kMap, {5, 9}, {5, 4}, encode(job_map(4)))), News::kNone);  // Of the dead.
  for (const std::size_t bytes : {1u, 8u, 15u, 17u}) {
    Frame frame = make_frame(Op::kMap, encode(job_map(4)));
    frame.second = Bytes::of(std::string(bytes, 'x'));
    EXPECT_EQ(member.hear(std::move(frame)), News::kNone) << bytes;
  }
}

}  // namespace
}  // namespace thalweg::cluster
