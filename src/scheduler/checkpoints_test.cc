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
  checkpoints.on_completed(Instant{}, 1, ok_status());
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

TEST(Checkpoints, OneIsTakenWhenAskedFor) {
  Checkpoints checkpoints = begun(Checkpoints({.place = "at-", .every = 3600s}, Step{4, 7}));
  EXPECT_EQ(checkpoints.newest(), (Step{4, 7}));
  checkpoints.ask(Instant{} + 1s);
  EXPECT_EQ(checkpoints.next_order(Instant{} + 1s, kTwoServers)->order.step, (Step{4, 8}));
}

}  // namespace
}  // namespace thalweg
