// Many groups of the same ranks: one after another, at a time, and on threads of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "client/group/group_threads_for_test.h"
#include "thalweg/group.h"

namespace thalweg {
namespace {

std::string sum_of_ones(Group& group) {
  std::vector<std::int64_t> ones(10, 1);
  if (Status s = group.all_reduce(std::span(ones)); !s.ok()) return s.message();
  return ones == std::vector<std::int64_t>(10, group.size()) ? "" : "wrong sum";
}

std::string split_a_thousand_times(Group& group) {
  std::optional<Group> kept;
  for (int i = 0; i < 1000; ++i) {
    auto child = group.split(static_cast<std::int32_t>(group.rank()) % (1 + i % 2), i);
    if (!child) return std::to_string(i) + ": " + child.status().message();
    if (std::string wrong = sum_of_ones(**child); !wrong.empty()) return wrong;
    if (i % 100 == 0) kept = *std::move(child);  // Drops the last one that was kept.
    if (std::string wrong = sum_of_ones(*kept); !wrong.empty()) return "kept: " + wrong;
  }
  return sum_of_ones(group);
}

TEST(GroupSplit, GivesBackWhatDroppedGroupsHad) {
  EXPECT_EQ(on_threads(4, split_a_thousand_times), "");
  EXPECT_EQ(on_joined(3, GroupTransport::kAuto, split_a_thousand_times), "");
}

std::string split_until_full(Group& group) {
  std::vector<Group> children;
  for (std::uint32_t i = 0; i < Group::kSplitsMax; ++i) {
    // Children of children count as well.
    Group& parent = i % 2 == 0 ? group : children.back();
    auto child = parent.split(0);
    if (!child) return child.status().message();
    children.push_back(**std::move(child));
  }
  const auto one_more = group.split(0);
  if (one_more.status().code() != Code::kRetry) return "a 16th: " + one_more.status().message();
  if (one_more.status().message().find("at most 15 at a time") == std::string::npos)
    return one_more.status().message();
  children.erase(children.begin() + 3);
  auto again = group.split(0);
  if (!again) return again.status().message();
  children.push_back(**std::move(again));
  for (Group& child : children) {
    if (std::string wrong = sum_of_ones(child); !wrong.empty()) return wrong;
  }
  return sum_of_ones(group);
}

TEST(GroupSplit, SaysHowManyThereMayBe) { EXPECT_EQ(on_threads(2, split_until_full), ""); }

TEST(GroupSplit, SplitsWhereMembersHaveDifferentGroups) {
  // Each pair of ranks in a group of its own, so that members of the next one hold different blocks.
  const auto body = [](Group& group) -> std::string {
    std::vector<Group> pairs;
    for (std::uint32_t a = 0; a < group.size(); ++a) {
      for (std::uint32_t b = a + 1; b < group.size(); ++b) {
        const bool mine = group.rank() == a || group.rank() == b;
        auto pair = group.split(mine ? 1 : -1);
        if (!pair) return pair.status().message();
        if (mine) pairs.push_back(**std::move(pair));
      }
    }
    for (int round = 0; round < 10; ++round) {
      for (Group& pair : pairs) {
        if (std::string wrong = sum_of_ones(pair); !wrong.empty()) return wrong;
      }
    }
    return sum_of_ones(group);
  };
  EXPECT_EQ(on_threads(6, body), "");
}

TEST(GroupSplit, ManyOperationsAreUnderWayInSeveralGroups) {
  constexpr std::uint32_t kMax = Group::kStartedMax;
  static_assert(kMax == 64);
  std::atomic<bool> full{false};
  const auto body = [&full](Group& group) -> std::string {
    std::vector<Group> groups;
    for (int i = 0; i < 3; ++i) {
      auto child = group.split(0);
      if (!child) return child.status().message();
      groups.push_back(**std::move(child));
    }
    std::vector<Group*> all = {&group, &groups[0], &groups[1], &groups[2]};
    std::vector<std::vector<double>> data(all.size() * kMax, std::vector<double>(300, 1));
    std::vector<GroupWork> works;
    // None can end before rank 1 starts it.
    if (group.rank() == 1) full.wait(false);
    for (std::size_t i = 0; i < data.size(); ++i)
      works.push_back(all[i % all.size()]->all_reduce_async(std::span(data[i])));
    if (group.rank() == 0) {
      for (Group* each : all) {
        std::vector<double> more(1, 1);
        const Status status = each->all_reduce_async(std::span(more)).wait();
        if (status.code() != Code::kRetry || status.message().find("at most 64") == std::string::npos)
          return "a 65th: " + status.message();
      }
      full = true;
      full.notify_one();
    }
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (Status s = works[i].wait(); !s.ok()) return s.message();
      if (data[i] != std::vector<double>(300, 2)) return "wrong";
    }
    std::vector<double> more(5, 1);
    if (Status s = group.all_reduce_async(std::span(more)).wait(); !s.ok())
      return "afterwards: " + s.message();
    return more[4] == 2 ? "" : "wrong afterwards";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

TEST(GroupSplit, EachGroupMayHaveAThreadOfItsOwn) {
  const auto body = [](Group& group) -> std::string {
    auto first = group.split(0), second = group.split(0);
    if (!first || !second) return "split";
    // So that few blocks are left and threads want the same one; of each other thread up to two seem taken.
    std::vector<Group> others;
    for (std::uint32_t i = 2; i < Group::kSplitsMax - 5; ++i) {
      auto other = group.split(0);
      if (!other) return other.status().message();
      others.push_back(**std::move(other));
    }
    std::string wrong[3];
    const auto use = [](Group& mine, std::string& result) {
      for (int i = 0; i < 300 && result.empty(); ++i) {
        result = sum_of_ones(mine);
        std::vector<float> data(2000, 1);
        GroupWork work = mine.all_reduce_async(std::span(data));
        auto child = mine.split(0);
        if (!child) result = child.status().message();
        if (child && result.empty()) result = sum_of_ones(**child);
        if (Status s = work.wait(); !s.ok()) result = s.message();
      }
    };
    std::thread one([&] { use(**first, wrong[0]); });
    std::thread two([&] { use(**second, wrong[1]); });
    use(group, wrong[2]);
    one.join();
    two.join();
    return wrong[0] + wrong[1] + wrong[2];
  };
  EXPECT_EQ(on_threads(2, body), "");
}

TEST(GroupSplit, BytesThatNobodyReceivedAreNotTakenForAnotherGroups) {
  const auto body = [](Group& group) -> std::string {
    std::vector<Group> others;  // So that one block of channels is left.
    for (std::uint32_t i = 1; i < Group::kSplitsMax; ++i) {
      auto other = group.split(0);
      if (!other) return other.status().message();
      others.push_back(**std::move(other));
    }
    std::vector<std::int64_t> data(4, group.rank());
    {
      auto dropped = group.split(0);
      if (!dropped) return dropped.status().message();
      if (group.rank() == 0 && !(*dropped)->send<std::int64_t>(data, 1).ok()) return "send";
    }
    auto again = group.split(0);
    if (!again) return again.status().message();
    if (group.rank() == 0) return (*again)->send<std::int64_t>(data, 1).message();
    const Status status = (*again)->receive<std::int64_t>(data, 0);
    return status.code() == Code::kRefused ? "" : "received: " + status.message();
  };
  EXPECT_EQ(on_threads(2, body), "");
}

TEST(GroupSplit, AGroupThatIsReplacedEndsWhatItStarted) {
  std::atomic<bool> replacing{false};
  const auto body = [&replacing](Group& group) -> std::string {
    auto child = group.split(0), next = group.split(0);
    if (!child || !next) return "split";
    std::vector<double> data(100'000, 1);
    if (group.rank() == 1) replacing.wait(false);
    GroupWork work = (*child)->all_reduce_async(std::span(data));
    if (group.rank() == 0) {
      replacing = true;
      replacing.notify_one();
    }
    *child = std::move(*next);
    return work.done() && data[99'999] == 2 ? sum_of_ones(**child) : "not done";
  };
  EXPECT_EQ(on_threads(2, body), "");
}

}  // namespace
}  // namespace thalweg
