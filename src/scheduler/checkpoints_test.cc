#include "scheduler/checkpoints.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Told = wire::CheckpointReport;
using State = Told::State;

const std::set<std::uint32_t> kTwoServers = {0, 1};

Checkpoints by_steps(std::uint32_t steps) {
  return Checkpoints({.place = "at-", .every_steps = steps}, Step{});
}

Checkpoints begun(Checkpoints checkpoints) {
  checkpoints.begin(Instant{});
  return checkpoints;
}

TEST(Checkpoints, NothingIsOrderedWithoutAPlace) {
  Checkpoints none({}, Step{});
  none.begin(Instant{});
  none.ask(Instant{});
  EXPECT_EQ(none.next_deadline(), kNever);
}

TEST(Checkpoints, AStepIsNamedAheadAndRepeatedToWhoHasNotStoredIt) {
  Checkpoints checkpoints = begun(by_steps(10));
  auto order = checkpoints.next_order(Instant{}, kTwoServers);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->order.step, (Step{0, 10}));
  EXPECT_EQ(order->order.place, "at-1");
  EXPECT_EQ(order->to, kTwoServers);
  EXPECT_FALSE(checkpoints.next_order(Instant{} + 1ms, kTwoServers));
  EXPECT_FALSE(checkpoints.on_report(Instant{}, 0, {1, State::kStored, {0, 10}, "a"}));
  order = checkpoints.next_order(Instant{} + 1s, kTwoServers);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->order.number, 1u);
  EXPECT_EQ(order->to, (std::set<std::uint32_t>{1}));
  const auto taken = checkpoints.on_report(Instant{}, 1, {1, State::kStored, {0, 10}, "b"});
  ASSERT_TRUE(taken);
  EXPECT_EQ(std::get<TakenCheckpoint>(*taken).step, (Step{0, 10}));
  EXPECT_EQ(std::get<TakenCheckpoint>(*taken).parts.at(1), "b");
  EXPECT_FALSE(checkpoints.newest()) << "it is not complete yet";
  checkpoints.on_completed(Instant{}, 1, ok_status(), false);
  EXPECT_EQ(checkpoints.newest(), (Step{0, 10}));
  EXPECT_EQ(checkpoints.next_order(Instant{}, kTwoServers)->order.step, (Step{0, 20}));
}

TEST(Checkpoints, ComeBehindTheOneThatTheJobGoesOnFrom) {
  Checkpoints checkpoints = begun(Checkpoints({.place = "at-", .every_steps = 10}, Step{1, 25}));
  EXPECT_EQ(checkpoints.newest(), (Step{1, 25}));
  EXPECT_EQ(checkpoints.next_order(Instant{}, kTwoServers)->order.step, (Step{1, 30}));
}

TEST(Checkpoints, WhoIsPastTheStepMovesItFurtherAheadEachTime) {
  Checkpoints checkpoints = begun(Checkpoints({.place = "at-", .every = 5s}, Step{}));
  EXPECT_EQ(checkpoints.next_deadline(), Instant{} + 5s);
  Instant now = Instant{} + 5s;
  EXPECT_EQ(checkpoints.next_order(now, kTwoServers)->order.number, 1u);
  const auto late = checkpoints.on_report(now, 1, {1, State::kPassed, {2, 30}, ""});
  ASSERT_TRUE(late);
  EXPECT_EQ(std::get<FailedCheckpoint>(*late).why.code(), Code::kRetry);
  auto order = checkpoints.next_order(now, kTwoServers);
  EXPECT_EQ(order->order.number, 2u);
  EXPECT_EQ(order->order.step, (Step{2, 34}));
  EXPECT_FALSE(checkpoints.on_report(now, 0, {1, State::kStored, {2, 30}, ""}))
      << "it is of the first attempt";
  (void)checkpoints.on_report(now, 0, {2, State::kPassed, {2, 40}, ""});
  EXPECT_EQ(checkpoints.next_order(now, kTwoServers)->order.step, (Step{2, 48}));
}

TEST(Checkpoints, AfterTheLastStepNoneIsTaken) {
  Checkpoints checkpoints = begun(by_steps(10));
  (void)checkpoints.next_order(Instant{}, kTwoServers);
  (void)checkpoints.on_report(Instant{}, 0, {1, State::kPassed, kEndOfWork, ""});
  EXPECT_EQ(checkpoints.next_deadline(), kNever);
}

TEST(Checkpoints, ADiskThatRefusesIsToldAndTriedAgain) {
  Checkpoints checkpoints = begun(by_steps(10));
  (void)checkpoints.next_order(Instant{}, kTwoServers);
  const auto failed = checkpoints.on_report(Instant{}, 0, {1, State::kFailed, {0, 10}, "the disk is full"});
  EXPECT_EQ(std::get<FailedCheckpoint>(*failed).why.code(), Code::kIo);
  EXPECT_EQ(std::get<FailedCheckpoint>(*failed).place, "at-1");
  EXPECT_EQ(checkpoints.next_order(Instant{}, kTwoServers)->order.step, (Step{0, 20}));
}

TEST(Checkpoints, WhereServersChangeItBeginsAnew) {
  Checkpoints checkpoints = begun(by_steps(10));
  (void)checkpoints.next_order(Instant{}, kTwoServers);
  EXPECT_TRUE(checkpoints.on_moved());
  const auto order = checkpoints.next_order(Instant{}, {0});
  EXPECT_EQ(order->order.number, 2u);
  EXPECT_EQ(order->to, (std::set<std::uint32_t>{0}));
}

// Has both servers store what is ordered next, and completes it. Returns since which they were to.
std::optional<std::uint64_t> take_one(Checkpoints& checkpoints, const Status& completed,
                                      bool whole_next = false) {
  const auto order = checkpoints.next_order(Instant{}, kTwoServers);
  const std::uint64_t number = order->order.number;
  for (const std::uint32_t server : kTwoServers)
    (void)checkpoints.on_report(Instant{}, server, {number, State::kStored, order->order.step, "a"});
  checkpoints.on_completed(Instant{}, number, completed, whole_next);
  return order->order.since;
}

TEST(Checkpoints, OneOfSomeHasAllRowsAndTheOthersTheChangesSinceTheOneBefore) {
  Checkpoints checkpoints = begun(Checkpoints({.place = "at-", .every_steps = 10, .whole_every = 3}, Step{}));
  for (const std::uint64_t since : {0u, 1u, 2u, 0u, 4u}) EXPECT_EQ(take_one(checkpoints, ok_status()), since);
  EXPECT_EQ(take_one(checkpoints, {Code::kIo, "the disk is full"}), 5u);
  EXPECT_EQ(take_one(checkpoints, ok_status(), true), 0u) << "what it refers to may be gone";
  EXPECT_EQ(take_one(checkpoints, ok_status()), 0u) << "as the driver said";
  EXPECT_EQ(take_one(checkpoints, ok_status()), 8u);
}

TEST(Checkpoints, AnAttemptThatCameToNothingIsNoBase) {
  Checkpoints checkpoints = begun(Checkpoints({.place = "at-", .every_steps = 10, .whole_every = 9}, Step{}));
  EXPECT_EQ(take_one(checkpoints, ok_status()), 0u);
  EXPECT_EQ(checkpoints.next_order(Instant{}, kTwoServers)->order.since, 1u);
  EXPECT_TRUE(checkpoints.on_moved());
  EXPECT_EQ(take_one(checkpoints, ok_status()), 1u);
  EXPECT_EQ(take_one(checkpoints, ok_status()), 3u);
}

TEST(Checkpoints, OfAllRowsEachSayNothingOfOthers) {
  Checkpoints checkpoints = begun(by_steps(10));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(take_one(checkpoints, ok_status()), std::nullopt);
}

TEST(Checkpoints, ATakenUpJobBeginsWithAllRows) {
  Checkpoints checkpoints({.place = "at-", .every_steps = 10, .whole_every = 9}, Step{});
  checkpoints.resume(Instant{}, 7, Step{0, 40});
  EXPECT_EQ(take_one(checkpoints, ok_status()), 0u);
  EXPECT_EQ(take_one(checkpoints, ok_status()), 8u);
}

TEST(Checkpoints, OneAtTheStepOfTheNewestRefersToNone) {
  Checkpoints checkpoints =
      begun(Checkpoints({.place = "at-", .every = 3600s, .whole_every = 9}, Step{4, 7}));
  checkpoints.ask(Instant{});
  EXPECT_EQ(take_one(checkpoints, ok_status()), 0u);
  checkpoints.ask(Instant{});
  const auto order = checkpoints.next_order(Instant{}, kTwoServers);
  EXPECT_EQ(order->order.step, (Step{4, 8}));
  EXPECT_EQ(order->order.since, 0u) << "it takes the place of the newest";
}

TEST(Checkpoints, OneIsTakenWhenAskedFor) {
  Checkpoints checkpoints = begun(Checkpoints({.place = "at-", .every = 3600s}, Step{4, 7}));
  EXPECT_EQ(checkpoints.newest(), (Step{4, 7}));
  checkpoints.ask(Instant{} + 1s);
  EXPECT_EQ(checkpoints.next_order(Instant{} + 1s, kTwoServers)->order.step, (Step{4, 8}));
}

}  // namespace
}  // namespace thalweg
