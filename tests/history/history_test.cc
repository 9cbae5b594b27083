// The checker of histories: one that keeps all promises has no anomaly, and each promise broken is found by
// the check that is named for it, and by no other.
#include "history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kShards = 3, kSteps = 6;
constexpr std::uint64_t kKey = 7, kOther = 9;

// In each step all shards pull both keys, one after the other, then each pushes both and is answered. A
// client for each shard.
struct Story {
  std::vector<SeenByClient> clients{kShards};
  FinalCounts counts{{kKey, std::vector<float>(kShards, kSteps)},
                     {kOther, std::vector<float>(kShards, kSteps)}};
  HistoryRules rules{kShards, kSteps, std::nullopt};

  Story() {
    HistoryTime now = 0;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        const auto seen = static_cast<float>(step);
        clients[shard].pulls.push_back(
            {shard, step, now + 1, now + 2, {kKey, kOther}, std::vector<float>(2 * kShards, seen)});
        now += 2;
      }
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        clients[shard].pushes.push_back({shard, step, now + 1, now + 2, {kKey, kOther}});
        now += 2;
      }
    }
  }
  float& seen(std::uint32_t shard, std::uint32_t step, std::uint32_t of) {
    return clients[shard].pulls[step].counts[of];
  }
  // As if a process that was not there before had gone on with the shard, so that nothing is to be seen
  // again.
  void heir_from(std::uint32_t shard, std::uint32_t step) {
    SeenByClient heir;
    auto& pulls = clients[shard].pulls;
    heir.pulls.assign(pulls.begin() + step, pulls.end());
    pulls.resize(step);
    clients.push_back(std::move(heir));
  }
  SeenPull& first_of_heir() { return clients.back().pulls.front(); }
  void unanswered(std::uint32_t shard) {
    for (SeenPush& push : clients[shard].pushes) push.answered = kNotYet;
  }
  std::set<std::string> found() const {
    const auto anomalies = check_history(rules, clients, counts);
    EXPECT_TRUE(anomalies.ok()) << anomalies.status().message();
    std::set<std::string> names;
    for (const Anomaly& anomaly : *anomalies) names.insert(name_of(anomaly.check));
    return names;
  }
};

using Names = std::set<std::string>;

TEST(History, WhatKeepsAllPromisesHasNoAnomaly) {
  for (const std::optional<std::uint32_t> bound :
       {std::optional<std::uint32_t>(0), std::optional<std::uint32_t>(2), std::optional<std::uint32_t>()}) {
    Story story;
    story.rules.bound = bound;
    EXPECT_EQ(story.found(), Names());
  }
}

// A client that died heard no answer, and its heir made the push once more.
TEST(History, APushThatComesAgainCountsOnce) {
  Story story;
  SeenByClient heir;
  heir.pushes.push_back(story.clients[1].pushes.back());
  heir.pushes.back().begun += 100;
  story.unanswered(1);
  story.clients.push_back(heir);
  EXPECT_EQ(story.found(), Names());
}

TEST(History, ALostPushIsFound) {
  Story story;
  --story.counts[kKey][2];
  EXPECT_EQ(story.found(), Names{"exactly-once"});
}

TEST(History, APushThatCountsTwiceIsFound) {
  Story story;
  ++story.counts[kOther][0];
  EXPECT_EQ(story.found(), Names{"exactly-once"});
}

TEST(History, ALostRowIsFound) {
  Story story;
  story.counts.erase(kOther);
  EXPECT_EQ(story.found(), Names{"exactly-once"});
}

TEST(History, ARowThatNobodyPushedToIsFound) {
  Story story;
  story.counts[8] = {0, 1, 0};
  EXPECT_EQ(story.found(), Names{"exactly-once"});
}

TEST(History, AShardThatMissesItsOwnPushIsFound) {
  Story story;
  story.heir_from(1, 4);
  --story.first_of_heir().counts[1];
  EXPECT_EQ(story.found(), Names{"read-your-writes"});
}

TEST(History, AReadThatGoesBackIsFound) {
  Story story;
  story.unanswered(0);  // So that nobody has to see them.
  story.seen(2, 4, 0) = 2;
  EXPECT_EQ(story.found(), Names{"monotonic-reads"});
}

TEST(History, AReadBehindTheBoundIsFound) {
  Story story;
  story.unanswered(0);
  story.heir_from(2, 5);
  story.rules.bound = 2;
  story.first_of_heir().counts[0] = 3;
  EXPECT_EQ(story.found(), Names());
  story.first_of_heir().counts[0] = 2;
  EXPECT_EQ(story.found(), Names{"staleness"});
}

TEST(History, InLockstepAStepTooManyAndOneTooFewAreFound) {
  for (const float seen : {3.0f, 5.0f}) {
    Story story;
    story.rules.bound = 0;
    story.heir_from(2, 4);
    story.clients[0].pushes[4].begun = 0;  // It may be seen by who is not in lockstep.
    story.first_of_heir().counts[0] = seen;
    EXPECT_EQ(story.found(), Names{"staleness"}) << seen;
  }
}

TEST(History, AReadWithoutAnAnsweredPushIsFound) {
  Story story;
  story.heir_from(2, 4);
  story.first_of_heir().counts[0] = 3;
  EXPECT_EQ(story.found(), Names{"fresh-reads"});
}

TEST(History, AReadOfWhatNobodyPushedIsFound) {
  Story story;
  story.seen(2, 5, 0) = 6;
  EXPECT_EQ(story.found(), Names{"no-inventions"});
  story.seen(2, 5, 0) = 4.5f;
  EXPECT_EQ(story.found(), Names{"no-inventions"});
}

TEST(History, WhatCannotBelongTogetherIsNoHistory) {
  Story missing;
  missing.clients[0].pushes.pop_back();
  EXPECT_EQ(check_history(missing.rules, missing.clients, missing.counts).status().code(), Code::kData);
  Story other_keys;
  other_keys.clients.push_back({"heir", {{0, 2, 1, 2, {kKey}}}, {}});
  EXPECT_EQ(check_history(other_keys.rules, other_keys.clients, other_keys.counts).status().code(),
            Code::kData);
}

TEST(History, AFileGivesBackWhatWasWrittenButForACutLine) {
  const TemporaryFolder folder;
  const std::string path = folder / "client";
  {
    auto file = HistoryFile::create(path);
    ASSERT_TRUE(file.ok());
    file->begin_push(1, 0, std::vector<std::uint64_t>{kKey, kOther});
    file->pulled({1, 0, 10, 20, {kKey, kOther}, {0, 1, 2, 3, 4, 16777216}});
    file->push_answered(1, 0);
    file->begin_push(1, 1, std::vector<std::uint64_t>{kKey});
  }
  EXPECT_FALSE(HistoryFile::create(path).ok());
  std::ofstream(path, std::ios::app) << "answered 1 1 12";
  const auto seen = read_history(path);
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_EQ(seen->name, "client");
  ASSERT_EQ(seen->pushes.size(), 2u);
  EXPECT_EQ(seen->pushes[0].keys, (std::vector<std::uint64_t>{kKey, kOther}));
  EXPECT_GE(seen->pushes[0].answered, seen->pushes[0].begun);
  EXPECT_EQ(seen->pushes[1].answered, kNotYet);
  ASSERT_EQ(seen->pulls.size(), 1u);
  EXPECT_EQ(seen->pulls[0].ended, 20);
  EXPECT_EQ(seen->pulls[0].counts, (std::vector<float>{0, 1, 2, 3, 4, 16777216}));
  std::ofstream(path, std::ios::app) << "\nanswered 2 1 12\n";
  EXPECT_EQ(read_history(path).status().code(), Code::kData);
}

TEST(History, AGapIsTheLongestThatEndsBehindItsMoment) {
  SeenByClient client;
  for (const HistoryTime at : {100, 110, 150, 155, 300}) client.pulls.push_back({0, 0, at - 1, at, {}, {}});
  for (const HistoryTime at : {105, 152}) client.pulls.push_back({1, 0, at - 1, at, {}, {}});
  const HistoryAnswers answers({client});
  EXPECT_EQ(answers.gap(120, 100).nobody, 40);
  EXPECT_EQ(answers.gap(120, 100).worst_shard, 47);
  EXPECT_EQ(answers.gap(153, 100).nobody, 3);
  EXPECT_EQ(answers.count(105, 152), 3u);
}

}  // namespace
}  // namespace thalweg
