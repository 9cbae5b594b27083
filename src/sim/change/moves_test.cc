// Key ranges that change their owners while a job runs: no bit of it changes, and no answer.
#include "sim/change/moves.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <tuple>

#include "base/cases_for_test.h"
#include "sim/cluster/simulate.h"

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

constexpr Instant kFarAhead{Duration(10min).count()};

TableSpec table(std::string name, RuleKind rule, std::uint16_t ranges, std::uint64_t rows = 0) {
  TableSpec spec;
  spec.name = std::move(name);
  spec.kind = rows > 0 ? TableSpec::Kind::kDense : TableSpec::Kind::kSparse;
  spec.rows = rows;
  spec.dim = 2;
  spec.ranges = ranges;
  spec.rule.kind = rule;
  spec.rule.initial_accumulator = 0.1f;
  return spec;
}

Plan sync_plan() {
  Plan plan;
  plan.seed = 7;
  plan.servers = 3;
  plan.workers = 2;
  plan.shards = 3;
  plan.tables = {table("model", RuleKind::kAdagrad, 6), table("block", RuleKind::kMomentum, 5, 23),
                 table("counts", RuleKind::kAdd, 4)};
  plan.steps.assign(3, {4, 2});
  plan.pull_chance = 0.7;
  plan.unanswered_max = 3;
  plan.latency = 100us;
  plan.jitter = 2ms;
  plan.worker_turn.assign(2,
                          20ms);  // So that most of the work is done when all servers have told of their map.
  plan.timeout = 60s;
  plan.suspect_after = 5s;
  return plan;
}

void run_events(Cluster& cluster, std::uint64_t count) {
  while (cluster.events() < count && cluster.step()) {
  }
}

void expect_bits(Cluster& cluster, std::uint64_t moment) {
  ASSERT_EQ(run_to_end(cluster, kFarAhead), "") << "after event " << moment;
  ASSERT_EQ(compare_with_oracle(cluster), "") << "after event " << moment;
  ASSERT_EQ(compare_with_fault_free(cluster), "") << "after event " << moment;
}

// Each range of each table once, to each other server, and what is on its way takes its time.
TEST(Moves, ARangeMayMoveAtAnyMomentAndNoBitChanges) {
  Plan plan = sync_plan();
  plan.moves = 1;  // By hand.
  std::uint64_t events = 0, moved = 0;
  {
    Cluster cluster(plan);
    ASSERT_EQ(run_to_end(cluster, kFarAhead), "");
    events = cluster.events();
  }
  for (std::uint64_t moment = 20; moment < events; moment += 2 * kEveryForTest) {
    Cluster cluster(plan);
    run_events(cluster, moment);
    if (!cluster.scheduler().started()) continue;
    const TableId which{static_cast<std::uint16_t>(moment / 2 % 3)};
    const auto range = static_cast<std::uint16_t>(moment / 6 % plan.tables[which.value].ranges);
    const auto owner = cluster.scheduler().map().placement[which.value].owner(RangeId{range});
    const bool placed = cluster.place(which, {range, static_cast<std::uint16_t>(range + 1)}, (owner + 1) % 3);
    std::function<void()> carry = [&] {
      for (const auto& offer : cluster.offers()) {
        cluster.hand_over(offer);
        ++moved;
      }
      if (cluster.moving() && !cluster.gone()) cluster.at(cluster.now() + 700us, carry);
    };
    if (placed) carry();
    ASSERT_NO_FATAL_FAILURE(expect_bits(cluster, moment));
  }
  EXPECT_GT(moved, events / 4 / kEveryForTest) << "of " << events;
}

// A worker dies when ranges are on their way: its heirs ask for what it saw, cut by another map.
TEST(Moves, AnHeirReadsTheSameRowsFromOtherServers) {
  Plan plan = sync_plan();
  plan.moves = 30;
  plan.move_every = 30ms;
  plan.move_takes = 10ms;
  for (std::uint64_t moment = 40; moment < 400; moment += 9) {
    plan.seed = moment;
    Cluster cluster(plan);
    Moves moves(plan, cluster);
    moves.start();
    run_events(cluster, moment);
    constexpr std::uint32_t kVictim = 5;  // After the scheduler, three servers and a worker.
    const NodeId id = cluster.processes()[kVictim]->id;
    cluster.kill(kVictim);
    cluster.at(cluster.now() + limits::kPeerGrace, [&] { cluster.tell_lost(0, id); });
    cluster.start_worker({});
    ASSERT_NO_FATAL_FAILURE(expect_bits(cluster, moment));
  }
}

TEST(Moves, RandomJobsKeepTheirSumsAndBits) {
  MoveCounts sum;
  std::uint64_t well = 0;
  for (std::uint64_t seed = 1; seed <= 1000; seed += kEveryForTest) {
    const Plan plan = draw_moving_plan(seed);
    const Report report = run_plan(plan);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.violation << "\n" << report.plan;
    well += report.ended_well;
    sum.ranges += report.moves.ranges;
    sum.with_rows += report.moves.with_rows;
    sum.with_open_steps += report.moves.with_open_steps;
    sum.with_replies += report.moves.with_replies;
  }
  EXPECT_GT(well, 600u / kEveryForTest);
  EXPECT_GT(sum.ranges, 3000u / kEveryForTest);
  EXPECT_GT(sum.with_rows, 2000u / kEveryForTest);
  EXPECT_GT(sum.with_open_steps, 300u / kEveryForTest);
  EXPECT_GT(sum.with_replies, 800u / kEveryForTest);
  std::cout << sum.ranges << " ranges moved, " << sum.with_rows << " with rows, " << sum.with_open_steps
            << " with open steps, " << sum.with_replies << " with replies\n";
}

using Answers = std::map<std::tuple<std::uint32_t, Step, std::uint16_t>, std::vector<float>>;

// Pulls from each table, pushes what follows from all that it saw, and writes that down.
Task<Status> train(ShardStore& store, Answers& answers) {
  const std::uint32_t shard = store.shard().value;
  while (store.step().index < 12) {
    Random random = Random(store.step().index).split(shard);
    const Keys keys[] = {
        Keys::of(std::vector<Key>{random.below(40), 100 + random.below(40), 200 + random.below(9)}),
        Keys::block(random.below(5), 10 + random.below(8))};
    std::vector<float> seen[2];
    float sum = 0;
    for (std::uint16_t t = 0; t < 2; ++t) {
      const Answer answer = co_await store.pull(TableId{t}, keys[t]);
      if (!answer.status.ok()) co_return answer.status;
      seen[t].assign(answer.rows.span().begin(), answer.rows.span().end());
      for (const float value : seen[t]) sum += value;
      auto& known = answers[{shard, store.step(), t}];
      if (!known.empty() && known != seen[t])
        co_return Status(Code::kRefused, "a step that came again was answered otherwise");
      known = seen[t];
    }
    for (std::uint16_t t = 0; t < 2; ++t) {
      for (float& value : seen[t]) value = 0.3f * value + 0.01f * sum + 0.1f * static_cast<float>(shard + 1);
      store.push(TableId{t}, keys[t], Rows(std::move(seen[t]))).forget();
    }
    if (const Status next = (co_await store.advance()).status; !next.ok()) co_return next;
  }
  if (const Status ended = (co_await store.end_epoch()).status; !ended.ok()) co_return ended;
  co_return (co_await store.barrier(kLastBarrier)).status;
}

Answers answers_of(const Plan& plan, Contents (&models)[2]) {
  Answers answers;
  Cluster cluster(plan, nullptr,
                  {[&](ShardStore& store, const wire::Map&) { return train(store, answers); },
                   [](ShardStore& store, const wire::Map&) -> Task<Status> {
                     co_return (co_await store.barrier(kLastBarrier)).status;
                   }});
  Moves moves(plan, cluster);
  moves.start();
  EXPECT_EQ(run_to_end(cluster, kFarAhead), "") << plan.seed;
  EXPECT_EQ(moves.counts().ranges > 0, plan.moves > 0) << plan.seed;
  for (std::uint16_t t = 0; t < 2; ++t) models[t] = cluster.contents(TableId{t});
  return answers;
}

TEST(Moves, EveryAnswerIsThatOfAJobWhereNothingMoves) {
  Plan plan = sync_plan();
  plan.tables.resize(2);
  plan.steps.assign(3, {12});
  Contents expected[2];
  const Answers answers = answers_of(plan, expected);
  EXPECT_EQ(answers.size(), 3u * 12u * 2u);
  plan.moves = 40;
  plan.move_every = 40ms;
  plan.move_takes = 20ms;
  plan.frame_faults.drop = plan.frame_faults.repeat = plan.frame_faults.split = 0.1;
  plan.frame_faults.delay = 0.1;
  plan.frame_faults.delay_max = 20ms;
  plan.node_faults.until = 20s;
  for (plan.seed = 100; plan.seed < 130; ++plan.seed) {
    Contents models[2];
    ASSERT_EQ(answers_of(plan, models), answers) << plan.seed;
    for (int t = 0; t < 2; ++t) {
      ASSERT_EQ(models[t].keys, expected[t].keys) << plan.seed;
      ASSERT_EQ(models[t].rows, expected[t].rows) << plan.seed;
    }
  }
}

}  // namespace
}  // namespace thalweg::sim
