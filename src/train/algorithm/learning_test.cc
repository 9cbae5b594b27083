// What the algorithms promise, on jobs' own servers, workers and groups.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "train/algorithm/least_squares_for_test.h"

namespace thalweg {
namespace {

// One machine that sees all shards' rows of a step at once.
Point serial(const LeastSquares& problem, const LearningCase& c, double rate) {
  Point w(problem.width);
  for (std::uint32_t step = 0; step < c.steps * c.passes; ++step) {
    Point sum(problem.width);
    for (std::uint32_t s = 0; s < c.shards; ++s) {
      if (step % c.steps >= c.steps_of(s)) continue;
      const std::size_t rows = c.batch_of(s);
      const Point part = problem.gradient(s, (step % c.steps) * rows, rows, w);
      for (std::size_t i = 0; i < w.size(); ++i) sum[i] += part[i];
    }
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * sum[i];
  }
  return w;
}

TEST(Learning, SyncIsOneWorkerWithTheLargerBatchByAnyExchange) {
  const LeastSquares problem = LeastSquares::make(4, 64);
  LearningCase c;
  const Point expected = serial(problem, c, static_cast<double>(c.rule.rate));
  const Point servers = learn(problem, c).w;
  EXPECT_LE(distance(servers, expected), 1e-6);
  c.workers = 1;
  EXPECT_EQ(learn(problem, c).w, servers) << "one worker for all shards";
  c.workers = 0;
  for (const char* exchange : {"auto", "ring", "tree:2", "halving-doubling", "star", "dense:ring"}) {
    c.exchange = exchange;
    EXPECT_LE(distance(learn(problem, c).w, servers), 1e-6) << exchange;
  }
}

// Shards on threads of their own, in whatever order they come, and one worker that has them all.
TEST(Learning, ABoundOfZeroIsSyncBitForBit) {
  const LeastSquares problem = LeastSquares::make(4, 64);
  LearningCase c{.workers = 1, .one_thread = true};
  const Point alone = learn(problem, c).w;
  c.workers = 0, c.one_thread = false;
  for (const char* algorithm : {"sync", "ssp:0", "max-wait:60s"}) {
    c.algorithm = algorithm;
    EXPECT_EQ(learn(problem, c).w, alone) << algorithm;
  }
}

TEST(Learning, LocalStepsAgreeAtEachKthStepAndSendAsMuchLess) {
  const LeastSquares problem = LeastSquares::make(4, 64);
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (const std::uint32_t k : {1u, 4u, 8u}) {
    LearningCase c{.algorithm = "local:" + std::to_string(k), .exchange = "ring"};
    std::mutex mutex;
    std::map<std::uint32_t, std::vector<Point>> seen;  // By step: each shard's rows.
    c.watch = [&](std::uint32_t, Step step, const Point& rows, const Point&) {
      const std::lock_guard lock(mutex);
      seen[step.index].push_back(rows);
    };
    const Learnt learnt = learn(problem, c);
    bytes[k] = learnt.group_bytes;
    ASSERT_EQ(seen.size(), c.steps);
    for (const auto& [step, rows] : seen) {
      ASSERT_EQ(rows.size(), c.shards);
      double most = 0;
      for (const Point& row : rows) most = std::max(most, distance(row, rows[0]));
      if (step % k == 0) {
        EXPECT_EQ(most, 0) << "k " << k << ", step " << step;
      } else {
        EXPECT_GT(most, 0) << "k " << k << ", step " << step;
      }
    }
    EXPECT_LT(problem.loss(learnt.w), 0.01) << k;
  }
  // But for the two rounds at the end of the pass.
  EXPECT_NEAR(static_cast<double>(bytes[1]) / static_cast<double>(bytes[4]), 4, 0.2);
  EXPECT_NEAR(static_cast<double>(bytes[1]) / static_cast<double>(bytes[8]), 8, 0.6);
}

// Step, then mean, of all replicas: a step by the sum of gradients at a rate as many times smaller.
TEST(Learning, TheMeanAfterEachStepIsMiniBatchSgd) {
  const LeastSquares problem = LeastSquares::make(4, 64);
  LearningCase c{.algorithm = "local:1", .exchange = "auto"};
  const double rate = static_cast<double>(c.rule.rate) / c.shards;
  EXPECT_LE(distance(learn(problem, c).w, serial(problem, c, rate)), 1e-6);
}

// What shards ask of the servers.
struct Asked {
  int pulls = 0, pushes = 0;
  std::vector<std::vector<float>> gradients;  // As they are pushed.
};

class CountingStore final : public Store {
 public:
  CountingStore(Store& store, Asked& asked) : store_(store), asked_(asked) {}
  ShardId shard() const override { return store_.shard(); }
  bool closing() const override { return store_.closing(); }
  Step step() const override { return store_.step(); }
  Pending push(TableId table, Keys keys, Rows grads) override {
    ++asked_.pushes;
    asked_.gradients.emplace_back(grads.span().begin(), grads.span().end());
    return store_.push(table, std::move(keys), std::move(grads));
  }
  Pending pull(TableId table, Keys keys) override {
    ++asked_.pulls;
    return store_.pull(table, std::move(keys));
  }
  Pending read(TableId table, Keys keys) override { return store_.read(table, std::move(keys)); }
  Pending advance() override { return store_.advance(); }
  Pending end_epoch() override { return store_.end_epoch(); }
  Pending end_work() override { return store_.end_work(); }
  Pending barrier(BarrierId id) override { return store_.barrier(id); }
  Pending report(ReportId id, std::string text) override { return store_.report(id, std::move(text)); }
  Pending yield() override { return store_.yield(); }

 private:
  Store& store_;
  Asked& asked_;
};

// With floats, in the server's order.
Point serial_sgd_in_floats(const LeastSquares& problem, const LearningCase& c) {
  std::vector<float> w(problem.width, 0.0f);
  for (std::uint32_t step = 0; step < c.steps; ++step) {
    const Point g = problem.gradient(0, step * c.batch, c.batch, Point(w.begin(), w.end()));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] - c.rule.rate * static_cast<float>(g[i]);
  }
  return {w.begin(), w.end()};
}

TEST(Learning, DownpourOfOneReplicaIsSerialSgdBitForBit) {
  const LeastSquares problem = LeastSquares::make(1, 64);
  LearningCase c{.algorithm = "downpour:fetch=1,push=1", .shards = 1, .steps = 300};
  EXPECT_EQ(learn(problem, c).w, serial_sgd_in_floats(problem, c));
}

TEST(Learning, DownpourFetchesAndPushesAsOftenAsItSays) {
  const LeastSquares problem = LeastSquares::make(1, 64);
  Asked asked;
  LearningCase c{.algorithm = "downpour:fetch=5,push=3", .shards = 1, .steps = 300};
  c.between = [&](Store& shared) { return std::make_unique<CountingStore>(shared, asked); };
  EXPECT_LT(problem.loss(learn(problem, c).w), 0.01);
  EXPECT_EQ(asked.pulls, 60);
  EXPECT_EQ(asked.pushes, 100);
}

// What is left when a pass ends is pushed then.
TEST(Learning, DownpourLosesNoGradientAtTheEndOfAPass) {
  const LeastSquares problem = LeastSquares::make(1, 64);
  Asked asked;
  LearningCase c{.algorithm = "downpour:fetch=100,push=100", .shards = 1, .steps = 7, .passes = 3};
  c.between = [&](Store& shared) { return std::make_unique<CountingStore>(shared, asked); };
  c.rule.kind = RuleKind::kAdd;
  Point pushed(problem.width);
  c.watch = [&](std::uint32_t, Step, const Point&, const Point& gradient) {
    for (std::size_t i = 0; i < pushed.size(); ++i) pushed[i] += gradient[i];
  };
  const Point w = learn(problem, c).w;
  EXPECT_EQ(asked.pushes, 3);
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i] / pushed[i], 1, 1e-5);
}

TEST(Learning, AdagradStandsARateThatSendsSgdAway) {
  const LeastSquares problem = LeastSquares::make(16, 32);
  LearningCase c{.algorithm = "downpour:fetch=2,push=2", .shards = 16, .steps = 100, .one_thread = true};
  c.rule.rate = 0.02f;
  const double stable = problem.loss(learn(problem, c).w);
  EXPECT_LT(stable, 0.01);
  c.rule.rate = 10 * c.rule.rate;
  double away = 1e300;
  LearningCase fixed = c;
  fixed.steps = 25;  // Before its rows are no numbers.
  away = problem.loss(learn(problem, fixed).w);
  EXPECT_GT(away, problem.loss(Point(problem.width)));
  c.rule.kind = RuleKind::kAdagrad;
  EXPECT_LT(problem.loss(learn(problem, c).w), 0.01);
}

// The servers' rows are those of one Adagrad that gets the sixteen replicas' gradients in the same order.
TEST(Learning, AdagradOfTheServersIsSerialOnTheSameGradients) {
  const LeastSquares problem = LeastSquares::make(16, 32);
  LearningCase c{.algorithm = "downpour:fetch=2,push=2", .shards = 16, .steps = 100, .one_thread = true};
  c.rule.kind = RuleKind::kAdagrad;
  c.rule.rate = 0.2f;
  Asked asked;
  c.between = [&](Store& shared) { return std::make_unique<CountingStore>(shared, asked); };
  const Point servers = learn(problem, c).w;
  std::vector<float> w(problem.width), squares(problem.width, c.rule.initial_accumulator);
  for (const std::vector<float>& gradient : asked.gradients) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      squares[i] += gradient[i] * gradient[i];
      w[i] -= c.rule.rate * gradient[i] / (std::sqrt(squares[i]) + c.rule.epsilon);
    }
  }
  EXPECT_EQ(asked.gradients.size(), 16u * 50);
  EXPECT_EQ(servers, Point(w.begin(), w.end()));
}

TEST(Learning, FederatedAverageOfOnePassOverAllRowsIsGradientDescent) {
  LeastSquares problem = LeastSquares::make(4, 32, 0.5);
  LearningCase c{.algorithm = "fedavg", .exchange = "auto", .steps = 1, .passes = 40, .batch = 32};
  c.rule.rate = 0.02f;
  EXPECT_LE(distance(learn(problem, c).w, serial(problem, c, static_cast<double>(c.rule.rate) / 4)), 1e-6);
  // Clients of unequal size: each counts by its rows.
  c.batches = {32, 16, 8, 4};
  const double rate = static_cast<double>(c.rule.rate) * 32 / (32 + 16 + 8 + 4);
  EXPECT_LE(distance(learn(problem, c).w, serial(problem, c, rate)), 1e-6);
}

// Shards that have ended their pass hold nobody up, and what the others learn reaches them.
TEST(Learning, ShardsMayHaveDifferentNumbersOfSteps) {
  const LeastSquares problem = LeastSquares::make(4, 64);
  LearningCase c{.steps = 50, .passes = 3};
  c.steps_each = {50, 31, 0, 47};
  const Point expected = serial(problem, c, static_cast<double>(c.rule.rate));
  EXPECT_LE(distance(learn(problem, c).w, expected), 1e-6);
  c.exchange = "ring";
  EXPECT_LE(distance(learn(problem, c).w, expected), 1e-6);
  for (const char* algorithm :
       {"local:1", "local:7", "local:1000", "fedavg", "dpsgd:ring", "dpsgd:complete"}) {
    c.algorithm = algorithm;
    const Point w = learn(problem, c).w;
    EXPECT_EQ(learn(problem, c).w, w) << algorithm << ": the same bits again";
    EXPECT_LT(problem.loss(w), 0.2 * problem.loss(Point(problem.width))) << algorithm;
  }
}

std::uint32_t rounds_to(const LeastSquares& problem, LearningCase c, std::uint32_t passes_a_round,
                        double target) {
  for (std::uint32_t rounds = 1; rounds < 400; rounds += rounds < 20 ? 1 : 10) {
    c.passes = rounds * passes_a_round;
    if (problem.loss(learn(problem, c).w) < target) return rounds;
  }
  return ~0u;
}

TEST(Learning, FederatedAverageOfSeveralPassesNeedsAFifthOfTheRounds) {
  const LeastSquares problem = LeastSquares::make(4, 32, 0.2);
  LearningCase once{.algorithm = "fedavg:E=1", .exchange = "auto", .steps = 1, .batch = 32};
  once.rule.rate = 0.01f;
  LearningCase often{.algorithm = "fedavg:E=5", .exchange = "auto", .steps = 8, .batch = 4};
  often.rule.rate = once.rule.rate;
  const double target = 0.03;
  EXPECT_LE(5 * rounds_to(problem, often, 5, target), rounds_to(problem, once, 1, target));
}

TEST(Learning, ARoundThatHearsClientsWithoutRowsAloneIsTheMeanOfTheOthers) {
  const LeastSquares problem = LeastSquares::make(4, 32);
  std::mutex mutex;
  std::map<std::uint32_t, std::set<Point>> begins;  // By pass.
  LearningCase c{.algorithm = "fedavg:drop=0.999999", .exchange = "auto", .steps = 5, .passes = 12};
  c.steps_each = {5, 0, 5, 0};
  c.watch = [&](std::uint32_t, Step step, const Point& rows, const Point&) {
    const std::lock_guard lock(mutex);
    if (step.index == 0) begins[step.epoch].insert(rows);
  };
  learn(problem, c);
  ASSERT_EQ(begins.size(), 12u);
  for (const auto& [pass, rows] : begins) EXPECT_EQ(rows.size(), 1u) << "all replicas alike in pass " << pass;
}

TEST(Learning, FederatedClientsAreChosenAndDropOutByTheSeed) {
  const LeastSquares problem = LeastSquares::make(8, 32);
  std::mutex mutex;
  std::map<std::uint32_t, std::vector<std::uint32_t>> trained;  // By pass.
  LearningCase c{
      .algorithm = "fedavg:C=0.5,E=1,drop=0.5", .exchange = "auto", .shards = 8, .steps = 1, .passes = 20};
  c.watch = [&](std::uint32_t shard, Step step, const Point&, const Point&) {
    const std::lock_guard lock(mutex);
    trained[step.epoch].push_back(shard);
  };
  const Point w = learn(problem, c).w;
  std::map<std::uint32_t, int> times;
  for (const auto& [pass, shards] : trained) {
    EXPECT_EQ(shards.size(), 4u) << pass;
    for (const std::uint32_t shard : shards) ++times[shard];
  }
  EXPECT_EQ(trained.size(), 20u);
  EXPECT_EQ(times.size(), 8u) << "each has its turn";
  EXPECT_EQ(learn(problem, c).w, w) << "the same clients again";
  EXPECT_LT(problem.loss(w), problem.loss(Point(problem.width)));
}

// The mean of all replicas moves by the mean of the gradients at them, whatever the graph.
TEST(Learning, GossipMovesTheMeanByTheMeanGradient) {
  const LeastSquares problem = LeastSquares::make(4, 64, 0.5);
  for (const char* graph : {"ring", "torus", "exponential", "complete"}) {
    LearningCase c{.algorithm = std::string("dpsgd:") + graph, .exchange = "auto", .steps = 60};
    std::mutex mutex;
    std::map<std::uint32_t, Point> means, moves;  // By step.
    c.watch = [&](std::uint32_t, Step step, const Point& rows, const Point& gradient) {
      const std::lock_guard lock(mutex);
      Point &mean = means[step.index], &move = moves[step.index];
      mean.resize(rows.size()), move.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        mean[i] += rows[i] / c.shards;
        move[i] += gradient[i] / c.shards;
      }
    };
    const Point last = learn(problem, c).w;
    for (std::uint32_t step = 0; step < c.steps; ++step) {
      const Point& now = step + 1 < c.steps ? means[step + 1] : last;
      for (std::size_t i = 0; i < now.size(); ++i) {
        const double expected = means[step][i] - static_cast<double>(c.rule.rate) * moves[step][i];
        ASSERT_NEAR(now[i], expected, 1e-6) << graph << ", step " << step;
      }
    }
  }
}

// One row a shard of its own kind, then rows of zeros, whose gradients are 0: replicas that differ only meet.
TEST(Learning, GossipWithoutGradientsBringsReplicasTogetherByTheSecondEigenvalue) {
  // Eigenvalues of the ring of four but the first are the second's size; those of eight need steps to fade.
  for (const auto& [shards, from, to] : {std::tuple(4u, 1u, 8u), {8u, 12u, 24u}}) {
    LeastSquares problem = LeastSquares::make(shards, to + 1, 3);
    for (std::uint32_t s = 0; s < shards; ++s) {
      for (std::size_t r = 1; r < problem.rows(s); ++r)
        problem.x[s][r].assign(problem.width, 0), problem.y[s][r] = 0;
    }
    LearningCase c{
        .algorithm = "dpsgd:ring", .exchange = "auto", .shards = shards, .steps = to + 1, .batch = 1};
    c.rule.rate = 1;
    std::mutex mutex;
    std::map<std::uint32_t, std::vector<Point>> replicas;  // By step.
    c.watch = [&](std::uint32_t, Step step, const Point& rows, const Point&) {
      const std::lock_guard lock(mutex);
      replicas[step.index].push_back(rows);
    };
    learn(problem, c);
    const auto apart = [&, shards = shards](std::uint32_t step) {
      const std::vector<Point>& all = replicas[step];
      double sum = 0;
      for (std::size_t i = 0; i < problem.width; ++i) {
        double mean = 0;
        for (const Point& one : all) mean += one[i] / shards;
        for (const Point& one : all) sum += (one[i] - mean) * (one[i] - mean);
      }
      return std::sqrt(sum);
    };
    const double eigenvalue = second_eigenvalue(*mixing_matrix("ring", shards));
    EXPECT_GT(apart(1), 0.1);
    for (std::uint32_t step = from; step < to; ++step)
      EXPECT_NEAR(apart(step + 1) / apart(step) / eigenvalue, 1, 0.02) << shards << " shards, step " << step;
  }
}

TEST(Learning, GossipOnARingLearnsWhatSyncDoes) {
  const LeastSquares problem = LeastSquares::make(8, 64);
  LearningCase c{.algorithm = "dpsgd:ring", .exchange = "auto", .shards = 8, .steps = 400};
  c.rule.rate = 0.04f;
  const double gossip = problem.loss(learn(problem, c).w);
  c.algorithm = "sync", c.exchange = {}, c.rule.rate = c.rule.rate / 8;
  const double sync = problem.loss(learn(problem, c).w);
  EXPECT_NEAR(gossip / sync, 1, 0.02);
}

// Holds shards that are some steps ahead of the slowest.
class Pace {
 public:
  Pace(std::uint32_t shards, std::uint32_t ahead_max) : steps_(shards), ahead_max_(ahead_max) {}
  void step(std::uint32_t shard) {
    std::unique_lock lock(mutex_);
    ++steps_[shard];
    stepped_.notify_all();
    stepped_.wait(lock, [&] { return steps_[shard] <= *std::ranges::min_element(steps_) + ahead_max_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable stepped_;
  std::vector<std::uint32_t> steps_;  // By shard.
  std::uint32_t ahead_max_;
};

TEST(Learning, PairsAtTheirOwnPaceLearnWhatGossipDoes) {
  const LeastSquares problem = LeastSquares::make(8, 64);
  for (const char* graph : {"ring", "torus", "complete"}) {
    LearningCase c{.exchange = "auto", .shards = 8, .steps = 400};
    c.rule.rate = 0.04f;
    c.algorithm = fmt::format("dpsgd:{}", graph);
    const double gossip = problem.loss(learn(problem, c).w);
    // Shards that compute next to nothing would end before others begin, the more so beside other work.
    Pace pace(c.shards, 8);
    c.watch = [&](std::uint32_t shard, Step, const Point&, const Point&) { pace.step(shard); };
    c.algorithm = fmt::format("adpsgd:{}", graph);
    EXPECT_LE(problem.loss(learn(problem, c).w), 1.02 * gossip) << graph;
  }
}

// Averaging in pairs moves no mean: what all rows move by is what gradients move them by.
TEST(Learning, PairsMoveTheMeanByTheMeanGradient) {
  const LeastSquares problem = LeastSquares::make(5, 64, 0.5);
  LearningCase c{.algorithm = "adpsgd", .exchange = "auto", .shards = 5, .steps = 60, .passes = 2};
  c.steps_each = {60, 31, 0, 47, 60};
  std::mutex mutex;
  Point moved(problem.width);
  c.watch = [&](std::uint32_t, Step, const Point&, const Point& gradient) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < moved.size(); ++i)
      moved[i] -= static_cast<double>(c.rule.rate) * gradient[i] / c.shards;
  };
  EXPECT_LE(distance(learn(problem, c).w, moved), 1e-5);
}

TEST(Learning, TheCentreOfElasticAveragingLearnsWhatTheShardsDo) {
  const LeastSquares problem = LeastSquares::make(4, 64);
  for (const char* algorithm : {"easgd:tau=1,rho=0.2", "easgd:tau=4,rho=0.2", "easgd:tau=10", "easgd"}) {
    EXPECT_LT(problem.loss(learn(problem, {.algorithm = algorithm, .steps = 400}).w), 0.01) << algorithm;
  }
}

// One shard alone: centre and replica move by half of their distance each.
TEST(Learning, ElasticAveragingMovesBothByThePartThatItSays) {
  const LeastSquares problem = LeastSquares::make(1, 64);
  LearningCase c{.algorithm = "easgd:tau=2,rho=0.5", .shards = 1, .steps = 4};
  c.rule.rate = 0.1f;
  std::vector<Point> seen;
  c.watch = [&](std::uint32_t, Step, const Point& rows, const Point& gradient) {
    seen.push_back(rows);
    seen.push_back(gradient);
  };
  const Point centre = learn(problem, c).w;
  Point x(problem.width), expected(problem.width);
  for (std::size_t step = 0; step < 4; ++step) {
    EXPECT_LE(distance(seen[2 * step], x), 1e-6) << step;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 0.1 * seen[2 * step + 1][i];
    for (std::size_t i = 0; i < x.size() && step % 2 == 1; ++i) {
      const double move = 0.5 * (x[i] - expected[i]);
      x[i] -= move, expected[i] += move;
    }
  }
  EXPECT_LE(distance(centre, expected), 1e-6);
}

TEST(Learning, CompensationIsNoneWhereNothingChangedMeanwhile) {
  const LeastSquares problem = LeastSquares::make(1, 64);
  for (const char* algorithm : {"dcasgd:lambda=5", "dcasgd-a:lambda=5"}) {
    LearningCase c{.algorithm = algorithm, .shards = 1, .steps = 300};
    EXPECT_EQ(learn(problem, c).w, serial_sgd_in_floats(problem, c)) << algorithm;
  }
}

}  // namespace
}  // namespace thalweg
