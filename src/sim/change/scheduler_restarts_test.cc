// Jobs whose scheduler is killed, and taken up by another one.
#include <gtest/gtest.h>

#include <iostream>

#include "base/cases_for_test.h"
#include "sim/cluster/orders_for_test.h"
#include "sim/cluster/simulate.h"

namespace thalweg::sim {
namespace {

// They broke a promise once: the directory of a state was gone with the power, as who made it had failed
// before its entry was safe; words to one observer were taken by the next, which had its name; rows that the
// job began with were loaded again.
TEST(SchedulerRestarts, SeedsThatOnceFailedHold) {
  for (const std::uint64_t seed : {12u, 38u, 55u, 236u, 492u}) {
    const Report report = run_plan(draw_restarted_plan(seed));
    EXPECT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
  }
}

// Nodes stayed with a scheduler that alone did not reach etcd, and the one that had taken its job up took
// them all for lost.
TEST(SchedulerRestarts, SeedsOfAnEtcdThatOnceFailedHold) {
  for (const std::uint64_t seed : {38u}) {
    const Report report = run_plan(draw_etcd_plan(seed));
    EXPECT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
  }
}

TEST(SchedulerRestarts, SeedsOfEitherStateThatOnceFailedHold) {
  for (const std::uint64_t seed : {594u, 20398u, 20678u, 702085u, 707683u, 30007502u, 42001289u, 84001658u,
                                   84575446u, 84606558u, 84621461u}) {
    const Report report = run_plan(draw_taken_up_plan(seed));
    EXPECT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
  }
}

TEST(SchedulerRestarts, JobsEndAsIfTheirSchedulerHadLived) {
  RestartCounts all;
  for (std::uint64_t seed = 1; seed <= 1000; seed += kEveryForTest) {
    const Report report = run_plan(draw_restarted_plan(seed));
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n"
                             << report.plan << "\nreplay: thalweg simulate faults --schedulers --replay "
                             << seed;
    EXPECT_TRUE(report.ended_well) << "seed " << seed << ": " << report.error;
    all.killed += report.restarts.killed;
    all.unsettled += report.restarts.unsettled;
    all.dark += report.restarts.dark;
  }
  EXPECT_GT(all.killed, 1000u / kEveryForTest);
  EXPECT_GT(all.unsettled, 300u / kEveryForTest);
  EXPECT_GT(all.dark, 300u / kEveryForTest);
  std::cout << all.killed << " schedulers were killed, " << all.unsettled
            << " of them with something to say that was not kept yet; " << all.dark
            << " times the power went as well\n";
}

// Whatever is lost on the way there or back, is heard late, or waits for an etcd that is away.
TEST(SchedulerRestarts, AStateInAnEtcdIsTakenUpAndLateChangesHaveNoEffect) {
  constexpr std::uint64_t kSeeds = 600;
  StateCounts all;
  std::uint64_t killed = 0, gone_on = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; seed += kEveryForTest) {
    const Report report = run_plan(draw_etcd_plan(seed));
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
    EXPECT_TRUE(report.ended_well || report.state.refused > 0) << "seed " << seed << ": " << report.error;
    gone_on += report.ended_well && report.state.went_back > 0 ? 1 : 0;
    all.went_back += report.state.went_back;
    all.refused += report.state.refused;
    killed += report.restarts.killed;
    all.unheard += report.state.unheard;
    all.unanswered += report.state.unanswered;
    all.late += report.state.late;
    all.late_refused += report.state.late_refused;
    all.away += report.state.away;
    all.compacted += report.state.compacted;
    all.stale_watches += report.state.stale_watches;
    all.leases_early += report.state.leases_early;
    all.leases_late += report.state.leases_late;
    all.cut += report.state.cut;
    all.replaced += report.state.replaced;
    all.moved += report.state.moved;
  }
  for (const std::uint64_t times : {killed, all.unheard, all.unanswered, all.late, all.away, all.compacted})
    EXPECT_GT(times, kSeeds / 10 / kEveryForTest);
  for (const std::uint64_t times : {all.leases_early, all.leases_late, all.cut, all.replaced, all.moved})
    EXPECT_GT(times, kSeeds / 20 / kEveryForTest);
  for (const std::uint64_t times : {all.late_refused, all.stale_watches, all.went_back, all.refused, gone_on})
    EXPECT_GT(times, kSeeds / 60 / kEveryForTest);
  std::cout << killed << " schedulers were killed; of changes " << all.unheard << " were never heard, "
            << all.late << " late, of which " << all.late_refused << " had no effect; " << all.unanswered
            << " calls had no answer, and etcd was away " << all.away << " times\n"
            << "it became what it had been " << all.went_back << " times, because of which " << all.refused
            << " schedulers ended and " << gone_on << " jobs went on\n"
            << "what had been was forgotten " << all.compacted << " times, and " << all.stale_watches
            << " watches were begun anew because of that\n"
            << all.leases_early << " times a lease was to end early, " << all.leases_late
            << " times one ended late, and " << all.cut << " calls were of a scheduler that was cut off; "
            << all.replaced << " schedulers lived when another one took their job up, of which " << all.moved
            << " nodes left one\n";
}

TEST(SchedulerRestarts, TheSameSeedTakesTheSameCourse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(run_seed_twice(seed, nullptr, Servers::kTakenUp).violation, "") << seed;
}

}  // namespace
}  // namespace thalweg::sim
