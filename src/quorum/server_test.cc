#include "quorum/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "quorum/limits.h"
#include "quorum/ring_for_test.h"

namespace thalweg::quorum {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> texts(const ClientResult& result) {
  std::vector<std::string> out;
  for (const Bytes& value : result.values) out.emplace_back(value.text());
  std::ranges::sort(out);
  return out;
}

using Texts = std::vector<std::string>;

TEST(QuorumServer, GetsWhatWasPut) {
  RingForTest ring(5, 3, {});
  EXPECT_EQ(texts(ring.get(7)), Texts{});
  const ClientResult put = ring.put(7, {}, "a");
  ASSERT_TRUE(put.status.ok()) << put.status.message();
  const ClientResult got = ring.get(7);
  EXPECT_EQ(texts(got), Texts{"a"});
  EXPECT_TRUE(ring.put(7, got.context, "b").status.ok());
  EXPECT_EQ(texts(ring.get(7)), Texts{"b"});
  EXPECT_TRUE(ring.put(7, got.context, "c").status.ok());  // It has not seen "b".
  const ClientResult both = ring.get(7);
  EXPECT_EQ(texts(both), (Texts{"b", "c"}));
  EXPECT_TRUE(ring.put(7, both.context, "d").status.ok());
  EXPECT_EQ(texts(ring.get(7)), Texts{"d"});
}

// T35: one of three is down; puts succeed, and what it missed is handed over and dropped when it is back.
TEST(QuorumServer, HintsAreDeliveredToWhoComesBackAndDropped) {
  for (const std::uint32_t servers : {3u, 5u}) {
    RingForTest ring(servers, 3, {});
    const std::uint32_t gone = ring.stores[0]->homes(7)[1];
    ring.down.insert(gone);
    for (Key key = 0; key < 20; ++key) ASSERT_TRUE(ring.put(key, {}, "a").status.ok()) << key;
    ring.run_for(3s);
    std::size_t hints = 0;
    for (const auto& store : ring.stores) hints += store->hints().size();
    EXPECT_GE(hints, 1u) << servers;
    EXPECT_EQ(ring.stores[gone]->find(7), nullptr);
    ring.start(gone);
    ring.run_for(5s);
    for (const auto& store : ring.stores) EXPECT_TRUE(store->hints().empty()) << servers;
    ASSERT_NE(ring.stores[gone]->find(7), nullptr);
    EXPECT_EQ(ring.stores[gone]->find(7)->versions()[0].value.text(), "a");
    std::uint64_t delivered = 0;
    for (const auto& node : ring.nodes) delivered += node->counts().hints_delivered;
    EXPECT_GE(delivered, hints);
  }
}

TEST(QuorumServer, SaysWhoDidNotAnswer) {
  ServerOptions options;
  options.deadline = 1s;
  RingForTest ring(3, 3, options);
  const auto homes = ring.stores[0]->homes(7);
  ring.down = {homes[1], homes[2]};
  const ClientResult put = ring.put(7, {}, "a");
  EXPECT_EQ(put.status.code(), Code::kTimeout);
  const std::string& text = put.status.message();
  EXPECT_NE(text.find("1 of the 2 servers that it needs"), std::string::npos) << text;
  EXPECT_NE(text.find("server-" + std::to_string(homes[1])), std::string::npos) << text;
  EXPECT_EQ(ring.get(7).status.code(), Code::kTimeout);
  EXPECT_EQ(ring.nodes[homes[0]]->open_requests(), 0u);
}

// All homes but one are gone: others stand in for them, where that is wanted.
TEST(QuorumServer, ASloppyQuorumIsOfStandIns) {
  for (const bool sloppy : {false, true}) {
    ServerOptions options;
    options.sloppy = sloppy;
    RingForTest ring(5, 3, options);
    const auto homes = ring.stores[0]->homes(7);
    ring.down = {homes[1], homes[2]};
    EXPECT_EQ(ring.put(7, {}, "a").status.ok(), sloppy);
    if (!sloppy) continue;
    EXPECT_EQ(texts(ring.get(7)), Texts{"a"});
    // The only home that has it goes: stand-ins have it still, and give it to those that come back.
    ring.down = {homes[0]};
    ring.start(homes[1]);
    ring.start(homes[2]);
    ring.run_for(5s);
    EXPECT_EQ(texts(ring.get(7)), Texts{"a"});
  }
}

TEST(QuorumServer, AGetRepairsWhoHasLess) {
  ServerOptions options;
  options.compare_every = 1h;
  RingForTest ring(3, 3, options);
  ring.run_for(100ms);
  const auto homes = ring.stores[0]->homes(7);
  ring.stores[homes[2]]->merge(7, Record());
  ASSERT_TRUE(ring.stores[homes[0]]->put(7, {}, Bytes::of("a")).ok());
  EXPECT_EQ(ring.stores[homes[2]]->find(7), nullptr);
  EXPECT_EQ(texts(ring.get(7)), Texts{"a"});
  for (const std::uint32_t home : homes) ASSERT_NE(ring.stores[home]->find(7), nullptr) << home;
  EXPECT_GE(ring.nodes[homes[0]]->counts().repairs, 2u);
}

// Thousands of keys of which some servers lack some, and nobody asks for them.
TEST(QuorumServer, ServersThatCompareBecomeAlike) {
  RingForTest ring(4, 3, {});
  for (Key key = 0; key < 5000; ++key) {
    const auto homes = ring.stores[0]->homes(key);
    ASSERT_TRUE(ring.stores[homes[key % 3]]->put(key, {}, Bytes::of("v")).ok());
  }
  ring.run_for(300s);
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = 0; b < 4; ++b) {
      if (a != b) {
        EXPECT_TRUE(ring.alike(a, b)) << a << " and " << b;
      }
    }
  }
  std::uint64_t synced = 0;
  for (const auto& node : ring.nodes) synced += node->counts().synced;
  EXPECT_EQ(synced, 10'000u);  // Each key to the two homes that lacked it, once.
}

TEST(QuorumServer, WhoLostItsDiskAnswersWhenItHasAllAgain) {
  RingForTest ring(3, 3, {});
  for (Key key = 0; key < 600; ++key) ASSERT_TRUE(ring.put(key, {}, "a").status.ok());
  ring.lose_disk(1);
  ring.run_for(1s);
  ring.start(1);
  ring.run_for(1s);
  EXPECT_FALSE(ring.stores[1]->complete());
  ring.down = {2};
  const ClientResult refused = ring.get(7);
  EXPECT_EQ(refused.status.code(), Code::kTimeout) << "what two have acknowledged may be on one alone";
  ring.start(2);
  ring.run_for(30s);
  EXPECT_TRUE(ring.stores[1]->complete());
  EXPECT_EQ(ring.stores[1]->records().size(), 600u);
  ring.down = {2};
  EXPECT_EQ(texts(ring.get(7)), Texts{"a"});
}

// T27: a client that knows an older ring is told of the new one once, and is right from then on.
TEST(QuorumServer, AClientOfAnOlderRingIsRoutedRightAfterOneRefresh) {
  RingForTest ring(11, 1, {.read = 1, .write = 1});
  std::vector<std::uint32_t> ten(10);
  std::iota(ten.begin(), ten.end(), 0u);
  const HashRing before(ten);
  const HashRing& after = ring.stores[0]->ring();
  Key moved = 0;
  while (before.owner(place(moved)) == after.owner(place(moved))) ++moved;
  ring.set_client(ten, 0);
  const ClientResult first = ring.put(moved, {}, "a");
  ASSERT_TRUE(first.status.ok()) << first.status.message();
  EXPECT_EQ(first.refreshes, 1u);
  EXPECT_EQ(first.tries, 2u);
  EXPECT_EQ(ring.client->ring(), after);
  for (Key key = 0; key < 300; ++key) {
    const ClientResult put = ring.put(key + moved + 1, {}, "b");
    ASSERT_TRUE(put.status.ok());
    ASSERT_EQ(put.tries, 1u) << key;
  }
}

TEST(QuorumServer, NothingIsPutByAClientThatNamesTheRingOtherwise) {
  RingForTest ring(3, 3, {});
  for (const std::vector<std::uint32_t>& named : {std::vector<std::uint32_t>{0, 1}, {0, 1, 2, 3}}) {
    ring.set_client(named, 0, true);
    const ClientResult refused = ring.put(7, {}, "a");
    EXPECT_EQ(refused.status.code(), Code::kUsage) << refused.status.message();
    EXPECT_EQ(ring.put(7, {}, "b").status.code(), Code::kUsage) << "the second time, too";
    EXPECT_EQ(ring.get(7).status.code(), Code::kUsage);
  }
  ring.set_client({0, 1, 2}, 0, true);
  const ClientResult got = ring.get(7);
  EXPECT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_TRUE(got.values.empty());
}

TEST(QuorumServer, RefusesTooManySiblingsAndBadMessages) {
  RingForTest ring(3, 3, {});
  for (std::size_t i = 0; i < kSiblingsMax; ++i) ASSERT_TRUE(ring.put(7, {}, "a").status.ok());
  const ClientResult refused = ring.put(7, {}, "a");
  EXPECT_EQ(refused.status.code(), Code::kRefused);
  EXPECT_NE(refused.status.message().find("get them"), std::string::npos) << refused.status.message();
  EXPECT_TRUE(ring.put(7, ring.get(7).context, "b").status.ok());
  EXPECT_EQ(texts(ring.get(7)), Texts{"b"});
  EXPECT_EQ(ring.put(kReservedKey, {}, "b").status.code(), Code::kRefused);

  SentFrames out;
  Frame garbage = make_frame(Op::kVersioned, Bytes::of("garbage"));
  ring.nodes[0]->on_frame(ring.now, worker_node(0), garbage, out);
  ASSERT_EQ(out.frames.size(), 1u);
  EXPECT_EQ(out.take()[0].second.head.code, Code::kRefused);
  Message write;  // Which is for servers to send.
  write.kind = Kind::kWrite;
  write.records = {{7, Record()}};
  ring.nodes[0]->on_frame(ring.now, worker_node(0), frame_of(write), out);
  EXPECT_EQ(out.take()[0].second.head.code, Code::kRefused);
}

// Of a client that was told of no success: each try through another home, of which none has heard.
TEST(QuorumServer, APutThatWasTriedThroughAllHomesIsGotOnce) {
  RingForTest ring(3, 3, {});
  SentFrames lost;
  Message put;
  put.kind = Kind::kPut;
  put.key = 7;
  put.index = 1;
  put.end = 5;
  put.value = Bytes::of(std::string(kValueBytesMax, 'x'));
  for (std::uint64_t tried = 0; tried < 9; ++tried) {
    put.number = put.end + tried;
    ring.nodes[tried % 3]->on_frame(ring.now, worker_node(9), frame_of(put), lost);
  }
  ring.run_for(std::chrono::seconds(5));
  EXPECT_EQ(ring.get(7).values.size(), 1u);
  EXPECT_EQ(ring.stores[0]->find(7)->versions().size(), 3u);
  const ClientResult next = ring.put(7, {}, "y");  // There is room, as for any that has not seen it.
  EXPECT_TRUE(next.status.ok()) << next.status.message();
  EXPECT_EQ(ring.get(7).values.size(), 2u);
  put.number = put.end = 20;  // The same client's next one, of the same value.
  put.context = ring.get(7).context;
  put.value = Bytes::of(std::string_view("y"));
  ring.nodes[0]->on_frame(ring.now, worker_node(9), frame_of(put), lost);
  ring.nodes[1]->on_frame(ring.now, worker_node(8), frame_of(put), lost);  // Another one's with its number.
  ring.run_for(std::chrono::seconds(5));
  EXPECT_EQ(texts(ring.get(7)), (Texts{"y", "y"}));
}

TEST(QuorumServer, RefusesAContextOfAnotherKeyAndHintsForStrangers) {
  RingForTest ring(3, 3, {});
  Key other = 8;  // Whose puts the same server coordinates.
  while (ring.stores[0]->homes(other) != ring.stores[0]->homes(7)) ++other;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.put(7, ring.get(7).context, "a").status.ok());
  ASSERT_TRUE(ring.put(other, {}, "b").status.ok());
  const ClientResult refused = ring.put(other, ring.get(7).context, "c");
  EXPECT_EQ(refused.status.code(), Code::kRefused);
  EXPECT_NE(refused.status.message().find("the same key"), std::string::npos) << refused.status.message();
  EXPECT_EQ(texts(ring.get(other)), Texts{"b"});

  SentFrames out;
  Message hint;
  hint.kind = Kind::kWrite;
  hint.key = 7;
  hint.server = 99;
  hint.records = {{7, *ring.stores[0]->find(7)}};
  ring.nodes[0]->on_frame(ring.now, server_node(1), frame_of(hint), out);
  ASSERT_EQ(out.frames.size(), 1u);
  EXPECT_EQ(out.take()[0].second.head.code, Code::kStale);
  EXPECT_TRUE(ring.stores[0]->hints().empty());
}

// Whatever servers and clients say, it goes on, and what it had stays.
TEST(QuorumServer, SurvivesAnyMessage) {
  RingForTest ring(5, 3, {});
  Random random(4);
  for (Key key = 0; key < 50; ++key) ASSERT_TRUE(ring.put(key, {}, "a").status.ok());
  SentFrames out;
  std::uint64_t answers = 0;
  for (int round = 0; round < 20'000; ++round) {
    Message any;
    any.kind = static_cast<Kind>(random.below(static_cast<std::uint64_t>(kKindLast) + 1));
    const auto small = [&] { return random.chance(0.1) ? random.next() : random.below(60); };
    any.number = small();
    any.key = small();
    any.end = random.chance(0.5) ? random.next() : small();
    any.server = static_cast<std::uint32_t>(small() % 6);
    any.index = static_cast<std::uint32_t>(small());
    any.level = static_cast<std::uint8_t>(random.below(5));
    any.more = random.chance(0.5);
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      Record record;
      record.add({{random.below(5), 1 + random.below(9)}, {}, Bytes::of("x")});
      any.records.push_back({random.chance(0.5) ? any.key : small(), std::move(record)});
    }
    const bool whole = random.chance(0.5);
    for (std::uint64_t i = whole ? 16 : random.below(20); i > 0; --i)
      any.digests.emplace_back(small(), small());
    const auto sender = static_cast<std::uint32_t>(random.below(8));
    const NodeId from = random.chance(0.7) ? server_node(sender) : worker_node(sender);
    ring.nodes[0]->on_frame(ring.now, from, frame_of(any), out);
    answers += out.take().size();
  }
  EXPECT_GT(answers, 1000u);
  for (Key key = 0; key < 50; ++key) {
    const Record* record = ring.stores[0]->find(key);
    if (!ring.stores[0]->is_home(key)) continue;
    ASSERT_NE(record, nullptr);
    EXPECT_TRUE(std::ranges::any_of(record->versions(),
                                    [](const Version& version) { return version.value.text() == "a"; }));
  }
}

TEST(QuorumServer, TakesSoManyRequestsAtOnce) {
  RingForTest ring(3, 3, {});
  ring.down = {0, 1, 2};
  SentFrames out;
  Message get;
  get.kind = Kind::kGet;
  get.key = 7;
  get.index = 1;
  for (std::size_t i = 0; i < kRequestsOpenMax; ++i)
    ring.nodes[0]->on_frame(ring.now, worker_node(0), frame_of(get), out);
  out.take();
  ring.nodes[0]->on_frame(ring.now, worker_node(0), frame_of(get), out);
  ASSERT_EQ(out.frames.size(), 1u);
  EXPECT_EQ(out.take()[0].second.head.code, Code::kRetry);
  ring.nodes[0]->on_time(ring.now + 3s, out);
  EXPECT_EQ(ring.nodes[0]->open_requests(), 0u);
}

}  // namespace
}  // namespace thalweg::quorum
