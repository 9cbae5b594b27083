#include "quorum/standing.h"

#include <gtest/gtest.h>

#include "quorum/limits.h"
#include "quorum/ring_for_test.h"
#include "quorum/standing_query.h"

namespace thalweg::quorum {
namespace {

using namespace std::chrono_literals;

TEST(QuorumStanding, IsReadAsItWasWrittenAndNothingElseIs) {
  Standing standing;
  standing.server = 2;
  standing.servers = 5;
  standing.replicas = 3, standing.read = 1, standing.write = 2;
  standing.sloppy = standing.complete = true;
  standing.keys = 7, standing.bytes = 900, standing.hints = 4, standing.open = 1;
  standing.silent = {0, 4};
  standing.counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Bytes bytes = encode(standing);
  EXPECT_EQ(decode_standing(bytes), standing);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_standing(bytes.part(0, size))) << size;
  std::string longer(bytes.text());
  longer += '\0';
  EXPECT_FALSE(decode_standing(Bytes::of(longer)));
  std::string wrong(bytes.text());
  wrong[20] = 2;  // Sloppy: neither 0 nor 1.
  EXPECT_FALSE(decode_standing(Bytes::of(wrong)));
}

TEST(QuorumStanding, TellsWhatAServerHasAndWhoIsSilent) {
  RingForTest ring(3, 3, {});
  const auto homes = ring.stores[0]->homes(7);
  ring.down = {homes[2]};
  ASSERT_TRUE(ring.put(7, {}, "a").status.ok());
  ring.run_for(2s);
  const Standing standing = ring.nodes[homes[0]]->standing();
  EXPECT_EQ(standing.server, homes[0]);
  EXPECT_EQ(standing.keys, 1u);
  EXPECT_EQ(standing.hints, 1u);
  EXPECT_EQ(standing.open, 0u) << "a put whose last home gets a hint waits for nobody";
  EXPECT_EQ(standing.silent, std::vector<std::uint32_t>{homes[2]});
  EXPECT_EQ(standing.counts.puts, 1u);
  EXPECT_EQ(standing.bytes, 2 * ring.stores[homes[0]]->find(7)->bytes());
}

TEST(QuorumStanding, AnyoneMayAskAndOneWhoIsGoneIsNotWaitedFor) {
  RingForTest ring(3, 3, {});
  StandingQuery query(3, 100ms);
  SentFrames out;
  query.on_time(ring.now, out);
  for (auto& [to, frame] : out.take()) {
    SentFrames answers;
    if (to == server_node(1)) continue;
    ring.nodes[to.index]->on_frame(ring.now, worker_node(9), frame, answers);
    for (auto& [whom, answer] : answers.take()) {
      EXPECT_EQ(whom, worker_node(9));
      query.on_frame(ring.now, to, answer, out);
      query.on_frame(ring.now, server_node(1), answer, out);  // Which is another server's.
    }
  }
  EXPECT_FALSE(query.finished());
  query.on_peer_lost(ring.now, server_node(1), out);
  EXPECT_TRUE(query.finished());
  EXPECT_EQ(query.answers().size(), 2u);
  EXPECT_EQ(query.answers().at(2).server, 2u);
}

// Requests that wait for who is away would soon be as many as there may be.
TEST(QuorumStanding, NobodyWaitsForASilentHome) {
  RingForTest ring(3, 3, {});
  const auto homes = ring.stores[0]->homes(7);
  ring.down = {homes[2]};
  ring.run_for(2s);
  ASSERT_TRUE(ring.put(7, {}, "a").status.ok());
  ring.run_for(300ms);  // It is silent now.
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(ring.put(7, ring.get(7).context, "b").status.ok());
    EXPECT_EQ(ring.nodes[homes[0]]->open_requests(), 0u) << i;
  }
}

TEST(QuorumStanding, AClientAsksWhoWasSilentAfterTheOthers) {
  RingForTest ring(3, 3, {});
  const auto homes = ring.stores[0]->homes(7);
  ASSERT_TRUE(ring.put(7, {}, "a").status.ok());
  ring.down = {homes[0]};
  EXPECT_EQ(ring.get(7).tries, 2u);
  EXPECT_EQ(ring.get(7).tries, 1u) << "it was silent just now";
  ring.start(homes[0]);
  ring.run_for(2s);
  const auto before = ring.nodes[homes[0]]->counts().gets;
  EXPECT_EQ(ring.get(7).tries, 1u);
  EXPECT_EQ(ring.nodes[homes[0]]->counts().gets, before + 1) << "it is asked first again";
}

TEST(QuorumStanding, AFullServerRefusesPutsAndWhatOthersHave) {
  const std::vector<std::uint32_t> servers = {0, 1, 2};
  VersionStore store(HashRing(servers), 0, 3, 1, {2, 1000});
  const std::string value(400, 'v');
  ASSERT_TRUE(store.put(1, {}, Bytes::of(value)).ok());
  ASSERT_TRUE(store.put(2, {}, Bytes::of(value)).ok());
  const std::size_t bytes = store.bytes();
  const Status full = store.put(3, {}, Bytes::of(value));
  EXPECT_EQ(full.code(), Code::kRefused);
  EXPECT_NE(full.message().find("at most 1000"), std::string::npos) << full.message();
  Record theirs;
  theirs.add({{9, 1}, {}, Bytes::of(value)});
  EXPECT_FALSE(store.takes(theirs));
  EXPECT_FALSE(store.merge(3, theirs));
  EXPECT_EQ(store.find(3), nullptr);
  EXPECT_FALSE(store.keep_hint(1, 3, theirs));
  EXPECT_EQ(store.bytes(), bytes);
  // A put in the place of others needs no more room.
  ASSERT_TRUE(store.put(1, store.find(1)->clock(), Bytes::of(std::string_view("small"))).ok());
  EXPECT_LT(store.bytes(), bytes);
  EXPECT_TRUE(store.keep_hint(1, 3, Record(*store.find(1))));
  EXPECT_TRUE(store.keep_hint(2, 3, Record(*store.find(1))));
  EXPECT_FALSE(store.keep_hint(1, 4, Record(*store.find(1)))) << "two hints are as many as it keeps";
  const std::size_t with_hints = store.bytes();
  EXPECT_TRUE(store.drop_hint(1, 3, store.find(1)->digest(3)));
  EXPECT_FALSE(store.drop_hint(1, 3, store.find(1)->digest(3))) << "it is gone already";
  EXPECT_EQ(store.bytes(), with_hints - store.find(1)->bytes());
}

}  // namespace
}  // namespace thalweg::quorum
