#include "quorum/version.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "quorum/merkle_tree.h"
#include "quorum/message.h"

namespace thalweg::quorum {
namespace {

Version version_of(std::uint32_t server, std::uint64_t count, VectorClock context, std::string_view value) {
  return {{actor_of(server, 0), count}, std::move(context), Bytes::of(value)};
}

// Figure 3 of the Dynamo paper: D3 and D4 stand side by side, and D5, put by Sx having seen both, replaces
// them.
TEST(Record, KeepsSiblingsUntilAPutHasSeenThem) {
  constexpr std::uint32_t kSx = 1, kSy = 2, kSz = 3;
  Record d2;
  d2.add(version_of(kSx, 1, {}, "D1"));
  d2.add(version_of(kSx, 2, d2.clock(), "D2"));
  ASSERT_EQ(d2.versions().size(), 1u);
  Record record = d2;
  record.add(version_of(kSy, 1, d2.clock(), "D3"));
  record.add(version_of(kSz, 1, d2.clock(), "D4"));
  ASSERT_EQ(record.versions().size(), 2u);
  record.add(version_of(kSx, 3, record.clock(), "D5"));
  ASSERT_EQ(record.versions().size(), 1u);
  EXPECT_EQ(record.versions()[0].value.text(), "D5");
  EXPECT_EQ(record.clock(),
            VectorClock({{actor_of(kSx, 0), 3}, {actor_of(kSy, 0), 1}, {actor_of(kSz, 0), 1}}));
  EXPECT_FALSE(record.merge(d2));  // What has been seen does not come back.
}

// The case in which clocks without dots lose the first of two acknowledged puts.
TEST(Record, TwoPutsThroughOneCoordinatorThatSawTheSameStayBoth) {
  Record record;
  record.add(version_of(1, 1, {}, "a"));
  record.add(version_of(1, 2, {}, "b"));
  EXPECT_EQ(record.versions().size(), 2u);
}

// Replicas that merge in any order, any number of times, come to the same.
TEST(Record, MergesInAnyOrder) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Record> replicas(3);
    for (int step = 0; step < 15; ++step) {
      const auto at = static_cast<std::uint32_t>(random.below(3));
      Record& replica = replicas[at];
      if (random.chance(0.5)) {
        const auto actor = actor_of(at, 0);
        const VectorClock seen = random.chance(0.5) ? replica.clock() : VectorClock();
        replica.add(version_of(at, replica.clock().at(actor) + 1, seen, std::to_string(step)));
      } else {
        replica.merge(replicas[random.below(3)]);
      }
    }
    Record forward, backward;
    for (int i = 0; i < 3; ++i) forward.merge(replicas[static_cast<std::size_t>(i)]);
    for (int i = 3; i-- > 0;) backward.merge(replicas[static_cast<std::size_t>(i)]);
    ASSERT_EQ(forward.digest(7), backward.digest(7));
    EXPECT_FALSE(forward.merge(backward));
    EXPECT_NE(forward.digest(7), forward.digest(8));
  }
  EXPECT_EQ(Record().digest(7), 0u);
}

Message full_message() {
  Message m;
  m.kind = Kind::kSync;
  m.number = 1234567890123;
  m.key = 42;
  m.end = 77;
  m.server = 3;
  m.index = 9;
  m.level = 2;
  m.more = true;
  m.context = VectorClock({{1, 2}, {3, 4}});
  m.value = Bytes::of("value");
  Record record;
  record.add(version_of(1, 1, {}, "a"));
  record.add(version_of(2, 5, VectorClock(VectorClock::Entries{{1, 1}}), ""));
  record.add(version_of(3, 1, {}, "c"));
  m.records = {{42, record}, {43, Record()}};
  m.digests = {{1, 2}, {3, 4}};
  return m;
}

TEST(QuorumMessage, ReadsBackAsItWasWritten) {
  const Message m = full_message();
  const Frame frame = frame_of(m);
  const auto read = decode_message(frame.first);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->context, m.context);
  EXPECT_EQ(read->records[0].record.digest(42), m.records[0].record.digest(42));
  const Frame again = frame_of(*read);
  EXPECT_EQ(again.first.text(), frame.first.text());
}

TEST(QuorumMessage, RefusesWhatIsCutOrLonger) {
  const Frame frame = frame_of(full_message());
  const std::string whole(frame.first.text());
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(decode_message(Bytes::of(whole.substr(0, size)))) << size;
  EXPECT_FALSE(decode_message(Bytes::of(whole + "x")));
}

// Whatever byte is changed, reading ends, and what is read can be written.
TEST(QuorumMessage, SurvivesChangedBytes) {
  const std::string whole(frame_of(full_message()).first.text());
  Random random(2);
  int read = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t i = 0; i <= random.below(3); ++i)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (const auto message = decode_message(Bytes::of(bytes))) {
      ++read;
      EXPECT_LE(frame_of(*message).first.size(), bytes.size());
    }
  }
  EXPECT_GT(read, 100);
}

TEST(QuorumMessage, FailuresSayOfWhat) {
  const Frame frame = failure_of(Kind::kPutDone, 77, {Code::kTimeout, "nobody"});
  const auto failure = decode_failure(frame);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->number, 77u);
  EXPECT_EQ(failure->kind, Kind::kPutDone);
  EXPECT_EQ(failure->why, Status(Code::kTimeout, "nobody"));
  EXPECT_FALSE(decode_failure(frame_of(full_message())));
}

// The tree after any changes is the tree of what is there, and differs in the leaf where one key does.
TEST(MerkleTree, FollowsWhatIsThere) {
  Random random(3);
  std::map<PlacedKey, std::uint64_t> held;
  MerkleTree tree;
  for (int step = 0; step < 3000; ++step) {
    const PlacedKey at = place(random.below(300));
    const std::uint64_t after = random.chance(0.2) ? 0 : random.next();
    tree.change(at, held[at], after);
    held[at] = after;
  }
  MerkleTree other;
  for (const auto& [at, digest] : held) other.change(at, 0, digest);
  EXPECT_EQ(tree.root(), other.root());
  const PlacedKey changed = place(17);
  other.change(changed, held[changed], 12345);
  EXPECT_NE(tree.root(), other.root());
  std::uint32_t index = 0;
  for (std::uint8_t level = 0; level < MerkleTree::kLevels; ++level) {
    std::vector<std::uint32_t> differing;
    for (std::uint32_t child = 0; child < MerkleTree::kFan; ++child) {
      if (tree.children(level, index)[child] != other.children(level, index)[child])
        differing.push_back(child);
    }
    ASSERT_EQ(differing.size(), 1u);
    index = static_cast<std::uint32_t>(index * MerkleTree::kFan + differing[0]);
  }
  EXPECT_LE(MerkleTree::first_place(index), changed);
  EXPECT_GE(MerkleTree::last_place(index), changed);
}

}  // namespace
}  // namespace thalweg::quorum
