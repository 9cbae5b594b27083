// Ranks that leave in good order while others have yet to do their part.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

using GroupLeave = testing::TestWithParam<GroupTransport>;

std::string said(const Status& status) { return status.ok() ? "" : status.message(); }

// Rank 1 sends on channels that were not used before and leaves; that it left reaches rank 0 while that is in
// another operation, before it begins the one that rank 1 was in.
TEST_P(GroupLeave, WhatWasSentBeforeIsReceivedAfterwards) {
  std::atomic<bool> left = false;
  const auto body = [&left](Group& joined) -> std::string {
    Group group = std::move(joined);
    const std::uint32_t rank = group.rank();
    std::vector<std::int32_t> word(1), data(1000, rank == 1 ? 7 : 0);
    if (rank == 0) {
      if (Status s = group.receive<std::int32_t>(word, 2); !s.ok()) return s.message();
    }
    GroupCall call = Group::typed<std::int32_t>(Operation::kBroadcast, data.data(), data.data(), data.size());
    call.root = 1;
    if (Status s = group.start(call).wait(); !s.ok()) return s.message();
    if (data != std::vector<std::int32_t>(1000, 7)) return "wrong";
    if (rank == 1) {
      { const Group end = std::move(group); }
      left = true;
    } else if (rank == 2) {
      while (!left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return said(group.send<std::int32_t>(word, 0));
    }
    return {};
  };
  EXPECT_EQ(on_joined(3, GetParam(), body), "");
}

// Rank 1 never scatters. Rank 0 finds out by waiting for its part; rank 2, which gets nothing, is told.
TEST_P(GroupLeave, RanksWithNothingToDoLearnThatOthersCannotGoOn) {
  std::atomic<int> over = 0;
  const auto body = [&over](Group& group) -> std::string {
    const std::uint32_t rank = group.rank();
    while (rank == 1 && over < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (rank == 1) return {};
    const std::vector<std::size_t> counts = {1, 0, 0};
    std::vector<float> part(1);
    GroupCall call;
    call.operation = Operation::kScatter;
    call.out = part.data();
    call.count = 1;
    call.counts = counts;
    call.root = 1;
    call.route = *RouteChoice::named("star");
    call.timeout = std::chrono::milliseconds(200);
    Status status;
    for (int i = 0; i < 20'000 && status.ok(); ++i) {
      status = i % 2 == 0 ? group.run(call) : group.start(call).wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++over;
    const bool names = status.message().find("rank 1 is not in an operation") != std::string::npos;
    return names && status.message().find("scatter #") == 0
               ? ""
               : "rank " + std::to_string(rank) + ": " + said(status);
  };
  EXPECT_EQ(on_joined(3, GetParam(), body), "");
}

// Rank 1 never does its part, and rank 0 finds out. Rank 2 sends to rank 0 alone, whose link takes more than
// is sent here, so that it never waits for anybody: it is told.
TEST_P(GroupLeave, RanksThatOnlySendLearnThatOthersCannotGoOn) {
  for (const bool gathers : {true, false}) {
    std::atomic<int> over = 0;
    const auto body = [&over, gathers](Group& group) -> std::string {
      const std::uint32_t rank = group.rank();
      while (rank == 1 && over < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (rank == 1) return {};
      std::vector<float> part(1), all(3);
      GroupCall call;
      call.operation = gathers ? Operation::kGather : Operation::kPointToPoint;
      call.in = part.data();
      call.out = all.data();
      call.count = gathers ? 3 : 1;
      call.root = gathers ? 0 : rank == 0 ? 1 : 2;
      call.peer = 0;
      if (gathers) call.route = *RouteChoice::named("star");
      call.timeout = std::chrono::milliseconds(200);
      Status status;
      for (int i = 0; i < 10'000 && status.ok(); ++i) {
        status = i % 2 == 0 ? group.run(call) : group.start(call).wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ++over;
      while (over < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // None is missed.
      const bool names = status.message().find("rank 1 is not in an operation") != std::string::npos;
      return names ? "" : "rank " + std::to_string(rank) + ": " + said(status);
    };
    EXPECT_EQ(on_joined(3, GetParam(), body), "") << (gathers ? "gather" : "point to point");
  }
}

INSTANTIATE_TEST_SUITE_P(Group, GroupLeave, testing::Values(GroupTransport::kTcp, GroupTransport::kShm));

}  // namespace
}  // namespace thalweg
