// Tests of the tester: each bug that is planted in the product's own sources is found within 1000 seeds, by
// the checker that sees to what it breaks, and without it the same seed is clean.
#include <gtest/gtest.h>

#include <string>

#include "planted_for_test.h"
#include "sim/change/restarts.h"
#include "sim/change/restarts_parts.h"
#include "sim/cluster/orders_for_test.h"
#include "sim/cluster/simulate.h"
#include "sim/shrink/cluster_parts.h"

namespace thalweg::sim {
namespace {

TEST_P(PlantedBug, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_seed_twice(seed); });
}

constexpr Planted kBugs[] = {
    {Bug::kNoDedup, "NoDedup", Checker::kReaders},
    {Bug::kWindowForgotten, "WindowForgotten", Checker::kReaders, Checker::kEnds},
    {Bug::kGateOffByOne, "GateOffByOne", Checker::kGate},
    {Bug::kGateTooStrict, "GateTooStrict", Checker::kPromptness},
    {Bug::kArrivalOrder, "ArrivalOrder", Checker::kBits},
    {Bug::kEarlyClose, "EarlyClose", Checker::kReaders},
    {Bug::kNoFence, "NoFence", Checker::kOwners},
    {Bug::kNoRetry, "NoRetry", Checker::kProgress},
    {Bug::kHeirSkipsAhead, "HeirSkipsAhead", Checker::kMarks, Checker::kProgress},
    {Bug::kNoReplayCache, "NoReplayCache", Checker::kReaders, Checker::kBits},
    {Bug::kNoChecksum, "NoChecksum", Checker::kDamage},
    {Bug::kPartialRepeat, "PartialRepeat", Checker::kPromptness},
    {Bug::kStaleMapAccepted, "StaleMapAccepted", Checker::kOwners, Checker::kEnds},
    {Bug::kEndForgotten, "EndForgotten", Checker::kStaleness, Checker::kPromptness},
    {Bug::kBarrierEarly, "BarrierEarly", Checker::kBarriers},
    {Bug::kAckBeforeCheck, "AckBeforeCheck", Checker::kPromptness, Checker::kStaleness},
    {Bug::kReportTwice, "ReportTwice", Checker::kReports},
    {Bug::kOwnWritesMissed, "OwnWritesMissed", Checker::kGate},
    {Bug::kEpochsMixed, "EpochsMixed", Checker::kGate},
    {Bug::kEndSaidOnce, "EndSaidOnce", Checker::kProgress},
    {Bug::kHeirEndsEarly, "HeirEndsEarly", Checker::kArrivals},
    {Bug::kLeadAcksEarly, "LeadAcksEarly", Checker::kCombiners},
    {Bug::kBlockAddedTwice, "BlockAddedTwice", Checker::kBits, Checker::kReaders},
    {Bug::kBlockMarksFirst, "BlockMarksFirst", Checker::kPromptness},
    {Bug::kCombineInARow, "CombineInARow", Checker::kBits},
    {Bug::kPullForgotten, "PullForgotten", Checker::kPromptness},
    {Bug::kStalenessUnsaid, "StalenessUnsaid", Checker::kStaleness},
    {Bug::kNoWindow, "NoWindow", Checker::kWindow},
    {Bug::kAddressMatters, "AddressMatters", Checker::kSameCourse},
    {Bug::kBegunUnobserved, "BegunUnobserved", Checker::kProgress},
    {Bug::kOwnPauseBlamed, "OwnPauseBlamed", Checker::kPatience},
    {Bug::kDeadServerUnsaid, "DeadServerUnsaid", Checker::kPatience},
    {Bug::kWrongRangesNamed, "WrongRangesNamed", Checker::kEnds},
    {Bug::kDeadComeBack, "DeadComeBack", Checker::kPatience},
    {Bug::kOthersBuried, "OthersBuried", Checker::kPatience},
    {Bug::kEarlyDeathEnds, "EarlyDeathEnds", Checker::kEnds},
    {Bug::kErrorKept, "ErrorKept", Checker::kEnds},
    {Bug::kSchedulerTrusted, "SchedulerTrusted", Checker::kProgress},
    {Bug::kClockFromZero, "ClockFromZero", Checker::kEnds},
    {Bug::kScanStopsShort, "ScanStopsShort", Checker::kReaders},
    {Bug::kRowUpdatedTwice, "RowUpdatedTwice", Checker::kReaders},
    {Bug::kLoadedLate, "LoadedLate", Checker::kReaders},
    {Bug::kLoadAwaitedByNone, "LoadAwaitedByNone", Checker::kEnds},
    {Bug::kSumsInARow, "SumsInARow", Checker::kBits},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedBug, testing::ValuesIn(kBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of ranges that move, where ranges do.
class PlantedMove : public PlantedBug {};

TEST_P(PlantedMove, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_moving_plan(seed)); });
}

constexpr Planted kMoveBugs[] = {
    {Bug::kMarksLeftBehind, "MarksLeftBehind", Checker::kPromptness},
    {Bug::kOpenStepsLeftBehind, "OpenStepsLeftBehind", Checker::kReaders, Checker::kBits},
    {Bug::kRepliesLeftBehind, "RepliesLeftBehind", Checker::kReaders, Checker::kBits},
    {Bug::kOldOwnerAnswers, "OldOwnerAnswers", Checker::kOwners, Checker::kPromptness},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedMove, testing::ValuesIn(kMoveBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of copies, where servers have some and are lost.
class PlantedCopy : public PlantedBug {};

TEST_P(PlantedCopy, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_copied_plan(seed)); });
}

constexpr Planted kCopyBugs[] = {
    {Bug::kImagesForgotten, "ImagesForgotten", Checker::kReaders, Checker::kBits},
    {Bug::kAckUncommitted, "AckUncommitted", Checker::kProgress, Checker::kEnds},
    {Bug::kEntryTwice, "EntryTwice", Checker::kCopies, Checker::kBits},
    {Bug::kJoinedUnseen, "JoinedUnseen", Checker::kCopies},
    {Bug::kMarksUncopied, "MarksUncopied", Checker::kEnds, Checker::kCopies},
    {Bug::kCopiedAhead, "CopiedAhead", Checker::kEnds},
    {Bug::kHeldCounted, "HeldCounted", Checker::kEnds, Checker::kBits},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedCopy, testing::ValuesIn(kCopyBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of passes that the observer looks at, where it does.
class PlantedLook : public PlantedBug {};

TEST_P(PlantedLook, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_looking_plan(seed)); });
}

constexpr Planted kLookBugs[] = {
    {Bug::kLookAwaitedByNone, "LookAwaitedByNone", Checker::kBarriers},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedLook, testing::ValuesIn(kLookBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of servers that leave, where some are asked to.
class PlantedDrain : public PlantedBug {};

TEST_P(PlantedDrain, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_drained_plan(seed)); });
}

constexpr Planted kDrainBugs[] = {
    {Bug::kLeavesEarly, "LeavesEarly", Checker::kCopies, Checker::kEnds},
    {Bug::kOpenStepsUncopied, "OpenStepsUncopied", Checker::kBits, Checker::kReaders},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedDrain, testing::ValuesIn(kDrainBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of servers that come while a job runs, where some do.
class PlantedJoin : public PlantedBug {};

TEST_P(PlantedJoin, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_joined_plan(seed)); });
}

constexpr Planted kJoinBugs[] = {
    {Bug::kFormerOwnerFails, "FormerOwnerFails", Checker::kEnds},
    {Bug::kTrimmedEarly, "TrimmedEarly", Checker::kProgress, Checker::kReaders},
    {Bug::kFormerOwnerHeard, "FormerOwnerHeard", Checker::kCopies, Checker::kProgress},
    {Bug::kJoinerNotAwaited, "JoinerNotAwaited", Checker::kProgress, Checker::kReaders},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedJoin, testing::ValuesIn(kJoinBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of a scheduler's state, where another scheduler takes the job up by it.
class PlantedTakeOver : public PlantedBug {};

TEST_P(PlantedTakeOver, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_restarted_plan(seed)); });
}

constexpr Planted kTakeOverBugs[] = {
    {Bug::kAnnouncedUnkept, "AnnouncedUnkept", Checker::kTakeOver},
    {Bug::kBarriersUnkept, "BarriersUnkept", Checker::kEnds, Checker::kProgress},
    {Bug::kStateUnsynced, "StateUnsynced", Checker::kTakeOver},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedTakeOver, testing::ValuesIn(kTakeOverBugs),
                         [](const auto& test) { return std::string(test.param.name); });

// Bugs of how a state in an etcd is written, where another scheduler takes the job up by it.
class PlantedEtcd : public PlantedBug {};

TEST_P(PlantedEtcd, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_plan(draw_etcd_plan(seed)); });
}

constexpr Planted kEtcdBugs[] = {
    {Bug::kTermUnguarded, "TermUnguarded", Checker::kTakeOver},
    {Bug::kWritesUnchained, "WritesUnchained", Checker::kTakeOver},
    {Bug::kForgottenAwaited, "ForgottenAwaited", Checker::kProgress},
    {Bug::kOlderStateTaken, "OlderStateTaken", Checker::kTakeOver},
    {Bug::kGoneBackWritten, "GoneBackWritten", Checker::kTakeOver},
    {Bug::kLeaseEndIgnored, "LeaseEndIgnored", Checker::kEnds},
    {Bug::kDoubtUnsaid, "DoubtUnsaid", Checker::kEnds},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedEtcd, testing::ValuesIn(kEtcdBugs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Planted, AFailingSeedShrinksToASmallClusterThatFailsAsWell) {
  const auto shrinks = [](Bug bug, Servers servers, double most, std::string_view needs,
                          std::uint64_t first) {
    expect_shrinks(
        bug, [&](std::uint64_t seed) { return plan_of(seed, servers); }, run_plan, most, needs, first);
  };
  shrinks(Bug::kNoDedup, Servers::kAny, 0.5, "", 1);
  shrinks(Bug::kEntryTwice, Servers::kCopied, 0.5, "", 1);
  shrinks(Bug::kTermUnguarded, Servers::kTakenUp, 0.99, "late", 50);  // By 49 it is found without.
}

// One server stops hearing a worker, the worker goes on with the other servers alone, and dies: how a sync
// job of this seed ends.
std::string unheard_and_dead(std::uint64_t seed) {
  using namespace std::chrono_literals;
  Plan plan;
  plan.seed = seed;
  plan.servers = plan.workers = plan.shards = 2;
  TableSpec table;
  table.ranges = 4;
  table.rule.kind = RuleKind::kSgd;
  plan.tables = {table};
  plan.keys = 4;
  plan.steps = {{12}, {12}};
  plan.push_chance = 0.7;
  plan.unanswered_max = 40;
  plan.latency = 1ms;
  plan.worker_turn = {0ms, 0ms};
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  Cluster cluster(plan);
  const auto run_until = [&](Instant moment) {
    while (cluster.now() < moment && cluster.step()) {
    }
  };
  constexpr std::uint32_t kWorker = 4;
  const auto begin = Instant{Duration(8ms).count()} + Duration(1ms) * static_cast<int>(seed % 20);
  run_until(begin);
  cluster.network().block({kWorker, static_cast<std::uint32_t>(1 + seed % 2)});
  run_until(begin + 100ms);
  cluster.kill(kWorker);
  if (std::string why = run_to_end(cluster, Instant{Duration(100s).count()}); !why.empty()) return why;
  return compare_with_fault_free(cluster);
}

TEST(Planted, AnHeirThatStartsTooFarBehindIsFound) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    ASSERT_EQ(unheard_and_dead(seed), "") << seed;
    planted = Bug::kHeirTooFarBehind;
    found += unheard_and_dead(seed).empty() ? 0 : 1;
    planted = Bug::kNone;
  }
  EXPECT_GT(found, 0u);
  RecordProperty("found", std::to_string(found));
  std::cout << found << " of " << kSeedsMax << "\n";
}

// The first server is killed while nodes gather, which seeds do seldom; a job may end because nobody joins.
TEST(Planted, APlaceThatIsFreeForNobodyIsFound) {
  std::uint64_t killed = 0, found = 0;
  const auto waits_in_vain = [](const Report& report) {
    return report.error.find("did not join") != std::string::npos;
  };
  for (std::uint64_t seed = 1; killed < 100; ++seed) {
    Plan plan = draw_plan(seed);
    if (plan.spares_core || plan.copies()) continue;
    CoreFault fault;
    fault.role = Role::kServer;
    fault.event = 1 + seed % 20;
    plan.core_faults = {fault};
    ++killed;
    const Report clean = run_plan(plan);
    ASSERT_TRUE(clean.ok()) << "seed " << seed << ": " << clean.violation;
    planted = Bug::kSeatKept;
    found += !waits_in_vain(clean) && waits_in_vain(run_plan(plan));
    planted = Bug::kNone;
  }
  EXPECT_GT(found, 10u);
  std::cout << found << " of " << killed << "\n";
}

TEST(Planted, ReducingInArrivalOrderIsFoundByOrdersOfArrivalAlone) {
  planted = Bug::kArrivalOrder;
  const Orders orders = arrive_in_many_orders(Consistency::sync(), RuleKind::kAdam, 50);
  planted = Bug::kNone;
  EXPECT_NE(orders.violation.find("others than the first order's"), std::string::npos) << orders.violation;
}

TEST(Planted, NoneFindsNothing) {
  ASSERT_EQ(planted, Bug::kNone);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Report report = run_seed(seed);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation;
  }
}

// Bugs of checkpoints, where jobs go on from them.
class PlantedRestart : public PlantedBug {};

TEST_P(PlantedRestart, IsFoundByItsChecker) {
  expect_found([](std::uint64_t seed) { return run_seed_twice(seed, nullptr, Servers::kRestarted); });
}

constexpr Planted kRestartBugs[] = {
    {Bug::kCutRowsLate, "CutRowsLate", Checker::kSums},
    {Bug::kCutRowsChanged, "CutRowsChanged", Checker::kSums},
    {Bug::kCutMarksLate, "CutMarksLate", Checker::kSums},
    {Bug::kTouchMissed, "TouchMissed", Checker::kSums},
    {Bug::kFailedCutCounted, "FailedCutCounted", Checker::kSums},
    {Bug::kResumedAhead, "ResumedAhead", Checker::kEnds, Checker::kProgress},
    {Bug::kStateUncopied, "StateUncopied", Checker::kEnds, Checker::kSums},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedRestart, testing::ValuesIn(kRestartBugs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PlantedRestarts, AFailingSeedShrinksToASmallJobThatFailsAsWell) {
  expect_shrinks(Bug::kCutRowsLate, draw_restarts_plan, run_restarts, 0.2, "", 15);
  expect_shrinks(Bug::kCutRowsChanged, draw_restarts_plan, run_restarts, 0.4, "storing", 25);
  expect_shrinks(Bug::kStateUncopied, draw_restarts_plan, run_restarts, 0.2, "replicas");
}

}  // namespace
}  // namespace thalweg::sim
