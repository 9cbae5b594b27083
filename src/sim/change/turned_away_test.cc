// A worker that comes late with other data, and a scheduler that is killed meanwhile.
#include <gtest/gtest.h>

#include "base/cases_for_test.h"
#include "sim/cluster/orders_for_test.h"
#include "sim/cluster/verdict.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

const Status kOtherData(Code::kData, "the files are others than the job's");

Plan plan_of_a_stranger() {
  Plan plan = orders::plan(Consistency::sync(), RuleKind::kAdd, 7);
  plan.jitter = 1ms;
  plan.worker_turn.assign(plan.workers, 1ms);
  plan.restarts = 1;  // So that the scheduler's state is kept.
  return plan;
}

// Shards move to the stranger first, and from there to others.
Programs programs_of_a_stranger() {
  const auto work = [](ShardStore& store, const wire::Map&) -> Task<Status> {
    if (store.owner_epoch() == 1) co_return kOtherData;
    co_return co_await orders::push_to_all(store, true);
  };
  return {work, [](ShardStore& store, const wire::Map&) { return orders::wait_for_all(store); }};
}

// It is turned away, at whatever moment the scheduler is killed, and whatever that has kept by then.
TEST(TurnedAway, ByWhoeverTakesTheJobUp) {
  const Plan plan = plan_of_a_stranger();
  std::uint32_t told = 0, killed = 0;
  for (std::uint64_t moment = 0; moment < 150; moment += kEveryForTest) {
    Cluster cluster(plan, nullptr, programs_of_a_stranger());
    while (cluster.processes()[0]->kept_scheduler->kept_epoch() == 0 && cluster.step()) {
    }
    const std::uint32_t stranger = cluster.start_worker({});
    for (const std::uint64_t until = cluster.events() + moment; cluster.events() < until && cluster.step();) {
    }
    if (!cluster.scheduler().stopped()) {
      ++killed;
      cluster.kill_scheduler(false);
      cluster.at(cluster.now() + 5ms, [&] { cluster.restart_scheduler(); });
    }
    ASSERT_EQ(run_to_end(cluster, Instant{Duration(10min).count()}), "") << moment;
    ASSERT_EQ(orders::compare_with_integers(cluster.contents(TableId{0})), "") << moment;
    const auto& how = *ending(*cluster.processes()[stranger]);
    if (how && *how == kOtherData) ++told;
  }
  EXPECT_GT(killed, 100u / kEveryForTest);
  EXPECT_GT(told, 50u / kEveryForTest);
}

}  // namespace
}  // namespace thalweg::sim
