// What stragglers and staleness come to among production nodes, where computing takes made up time.
#include "sim/cluster/timed_job.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>

#include "topology/presets.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

// Pulls a row, learns from it and pushes, until `steps` are done or the job is asked to end.
Task<Status> learn(Store& store, std::uint32_t steps) {
  const Keys keys = Keys::block(0, 1);
  while (store.step().index < steps && !store.closing()) {
    const Answer read = co_await store.pull(TableId{0}, keys);
    if (!read.status.ok()) co_return read.status;
    store.learnt(1);
    store.push(TableId{0}, keys, Rows(std::vector<float>{1 + 0 * read.rows[0]})).forget();
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  if (const Status ended = (co_await store.end_work()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

TimedJob job_of(std::uint32_t workers, std::string_view compute, Consistency consistency) {
  TimedJob job;
  job.workers = job.shards = workers;
  job.consistency = consistency;
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = "t";
  table.rows = table.dim = 1;
  table.ranges = 1;
  job.tables = {table};
  job.program = [](Store& store) { return learn(store, ~0u); };
  auto time = ComputeTime::parse(compute);
  EXPECT_TRUE(time);
  if (time) job.compute = *time;
  job.stop_after = 200s;
  return job;
}

TimedRun run_ok(const TimedJob& job) {
  TimedRun run = run_timed(job);
  EXPECT_TRUE(run.status.ok()) << run.status.message();
  return run;
}

// Four workers of which one takes 4 s a step and the others 1 s: 4 gradients every 4 s, or 3 + 1/4 a second.
TEST(TimedJob, AStragglerHoldsUpLockstepAndNobodyElse) {
  for (const auto& [mode, rate, idle] :
       {std::tuple(Consistency::sync(), 1.0, 9.0 / 16), std::tuple(Consistency::async(), 3.25, 0.0)}) {
    TimedJob job = job_of(4, "1s", mode);
    job.stragglers = {1, 4, 4};
    const TimedRun run = run_ok(job);
    EXPECT_NEAR(run.gradients_per_second(), rate, 0.02 * rate);
    EXPECT_NEAR(run.idle_share, idle, 0.02);
  }
}

// Of workers as fast as each other, each of the others pushes once between a worker's read and its push.
TEST(TimedJob, AsynchronousGradientsAreAsStaleAsThereAreOthers) {
  const TimedRun run = run_ok(job_of(30, "normal(1s,5%)", Consistency::async()));
  EXPECT_NEAR(mean_of(run.staleness), 29, 0.02 * 29);
  EXPECT_GE(quantile_of(run.staleness, 0.99), 29u);
  EXPECT_GT(run.gradients, 5000u);
}

// A step is applied as a whole there, too; what comes late is dropped.
TEST(TimedJob, WhatIsAppliedByStepsThatCloseIsNotStale) {
  const TimedRun run = run_ok(job_of(8, "lognormal(1s,0.3)", Consistency::backup(2)));
  EXPECT_EQ(run.staleness, TimedRun::Histogram{run.gradients});
  EXPECT_EQ(run_ok(job_of(8, "lognormal(1s,0.3)", Consistency::sync())).staleness.size(), 1u);
}

TEST(TimedJob, TheBoundIsReachedAndNeverExceededAndIdlingFallsWithIt) {
  double idle = 1;
  for (const std::uint32_t bound : {0u, 1u, 3u, 4u, 10u, 16u}) {
    TimedJob job = job_of(4, "lognormal(1s,0.3)", Consistency::bounded(bound));
    job.stragglers = {1, 4, 5};
    const TimedRun run = run_ok(job);
    EXPECT_EQ(run.lead_max, bound);
    EXPECT_LT(run.idle_share, idle) << "bound " << bound;
    idle = run.idle_share;
  }
}

TEST(TimedJob, IsTheSameRunForTheSameSeed) {
  TimedJob job = job_of(4, "lognormal(1s,0.3)", Consistency::async());
  const TimedRun run = run_ok(job), again = run_ok(job);
  EXPECT_EQ(run.trace_hash, again.trace_hash);
  EXPECT_EQ(run.staleness, again.staleness);
  ++job.seed;
  EXPECT_NE(run_ok(job).trace_hash, run.trace_hash);
}

// A push, its answer, a pull and its answer cross the network; the pull leaves with the push before it.
TEST(TimedJob, LatencyAndBandwidthTakeTime) {
  TimedJob job = job_of(1, "1ms", Consistency::async());
  job.stop_after = {};
  job.program = [](Store& store) { return learn(store, 100); };
  job.latency = 1ms;
  EXPECT_EQ(run_ok(job).time, 100 * 1ms + 99 * 2ms);
  job.bytes_per_second = 1e6;
  EXPECT_GT(run_ok(job).time, 100 * 1ms + 99 * (2ms + 160us));
}

void sit_in(TimedJob& job, const char* name, std::uint32_t ranks) {
  auto room = preset(name, ranks);
  ASSERT_TRUE(room) << room.status().message();
  auto seats = take_seats(*room, job.servers, job.workers);
  ASSERT_TRUE(seats) << seats.status().message();
  job.room = std::make_shared<const Topology>(*std::move(room));
  job.seats = *std::move(seats);
}

TEST(TimedJob, ARoomOfEqualLinksIsALatencyAndABandwidth) {
  TimedJob plain = job_of(4, "1ms", Consistency::async());
  plain.stop_after = {};
  plain.program = [](Store& store) { return learn(store, 100); };
  TimedJob room = plain;
  plain.latency = 1ms;
  plain.bytes_per_second = 1e6;
  sit_in(room, "uniform:5,1MB/s,1ms", 0);
  const TimedRun by_numbers = run_ok(plain), by_links = run_ok(room);
  EXPECT_NEAR(static_cast<double>(by_links.time.count()), static_cast<double>(by_numbers.time.count()), 1e6);
  EXPECT_EQ(run_ok(room).trace_hash, by_links.trace_hash);
}

// A step of the far worker takes 10 ms more each way.
TEST(TimedJob, WhoSitsFarFromTheServerMakesFewerSteps) {
  TimedJob job = job_of(2, "10ms", Consistency::async());
  job.stop_after = 10s;
  sit_in(job, "two-sites", 2);
  EXPECT_NEAR(static_cast<double>(run_ok(job).gradients), 1000 + 333, 15);
}

TEST(TimedJob, MoreWorkersThanFaultsAreDrawnForTakePart) {
  TimedJob job = job_of(300, "normal(1s,5%)", Consistency::async());
  job.servers = 2;
  job.stop_after = 10s;
  EXPECT_NEAR(run_ok(job).gradients_per_second(), 300, 15);
}

TEST(TimedJob, EndsWithTheErrorOfAProgram) {
  TimedJob job = job_of(2, "1s", Consistency::async());
  job.program = [](Store& store) {
    return [](Store&) -> Task<Status> { co_return Status(Code::kNonFinite, "no"); }(store);
  };
  EXPECT_EQ(run_timed(job).status.code(), Code::kNonFinite);
}

}  // namespace
}  // namespace thalweg::sim
