// A least-squares problem, cut into data shards, learnt by any algorithm on a job's own threads.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "client/replica/replica_store.h"
#include "client/replica/shard_group.h"
#include "thalweg/job.h"
#include "train/algorithm/mixing.h"
#include "train/plan/algorithm_plan.h"

namespace thalweg {

using Point = std::vector<double>;

// Rows of shard s: x[s][r] and their labels. Shards differ in what they would learn alone by `skew`.
struct LeastSquares {
  std::size_t width = 4;
  std::vector<std::vector<Point>> x;
  std::vector<std::vector<double>> y;

  static LeastSquares make(std::uint32_t shards, std::size_t rows, double skew = 0, std::uint64_t seed = 1) {
    LeastSquares problem;
    Random random(seed);
    for (std::uint32_t s = 0; s < shards; ++s) {
      auto& xs = problem.x.emplace_back();
      auto& ys = problem.y.emplace_back();
      for (std::size_t r = 0; r < rows; ++r) {
        Point row;
        double label = 0;
        for (std::size_t i = 0; i < problem.width; ++i) {
          row.push_back(2 * random.unit() - 1);
          label += row.back() * (static_cast<double>(i) - 1.5 + skew * (s % 2 == 0 ? 1 : -1));
        }
        xs.push_back(row);
        ys.push_back(label + 0.1 * (random.unit() - 0.5));
      }
    }
    return problem;
  }
  std::size_t rows(std::uint32_t shard) const { return x[shard].size(); }
  // Of the sum of squares / 2 over `count` rows from `first` on, around the end.
  Point gradient(std::uint32_t shard, std::size_t first, std::size_t count, const Point& w) const {
    Point sum(width);
    for (std::size_t r = first; r < first + count; ++r) {
      const Point& row = x[shard][r % rows(shard)];
      double error = -y[shard][r % rows(shard)];
      for (std::size_t i = 0; i < width; ++i) error += w[i] * row[i];
      for (std::size_t i = 0; i < width; ++i) sum[i] += error * row[i];
    }
    return sum;
  }
  double loss(const Point& w) const {
    double sum = 0, count = 0;
    for (std::uint32_t s = 0; s < x.size(); ++s) {
      for (std::size_t r = 0; r < rows(s); ++r, ++count) {
        double error = -y[s][r];
        for (std::size_t i = 0; i < width; ++i) error += w[i] * x[s][r][i];
        sum += error * error / 2;
      }
    }
    return sum / count;
  }
};

inline RuleSpec sgd(float rate) {
  RuleSpec rule;
  rule.kind = RuleKind::kSgd;
  rule.rate = rate;
  return rule;
}

struct LearningCase {
  std::string algorithm = "sync";
  std::string exchange = {};  // As TrainSpec has it.
  std::uint32_t shards = 4;
  std::uint32_t steps = 200;  // Of a pass.
  std::uint32_t passes = 1;
  std::size_t batch = 4;                       // Rows of a shard's step.
  std::vector<std::size_t> batches = {};       // The same by shard, where they differ.
  std::vector<std::uint32_t> steps_each = {};  // By shard, where they differ.
  std::size_t batch_of(std::uint32_t shard) const { return batches.empty() ? batch : batches[shard]; }
  std::uint32_t steps_of(std::uint32_t shard) const { return steps_each.empty() ? steps : steps_each[shard]; }
  RuleSpec rule = sgd(0.01f);
  std::uint32_t workers = 0;  // 0: one a shard.
  bool one_thread = false;    // Shards take turns, always the same ones.
  // Called by each shard, on any thread, with the rows that it pulled in a step, before it pushes.
  std::function<void(std::uint32_t shard, Step step, const Point& rows, const Point& gradient)> watch = {};
  // Puts a store between the servers and the algorithm; null: none.
  std::function<std::unique_ptr<Store>(Store& shared)> between = {};
};

struct Learnt {
  Point w;
  std::uint64_t group_bytes = 0;  // Sent by shard 0 to others.
};

inline Task<Status> learn(Store& store, const LeastSquares& problem, const LearningCase& c) {
  const Keys rows = Keys::block(0, problem.width);
  const std::uint32_t shard = store.shard().value;
  const auto chosen = choose_algorithm(c.algorithm);
  const AlgorithmShard of{store.shard(), c.shards, c.passes, 1, 0, {}, nullptr};
  for (std::uint32_t pass = 0; pass < c.passes; ++pass) {
    const bool joins =
        !chosen->algorithm->takes_part || chosen->algorithm->takes_part(chosen->values, of, pass);
    for (std::uint32_t step = 0; step < c.steps_of(shard) && joins; ++step) {
      const Answer answer = co_await store.pull(TableId{0}, rows);
      if (!answer.status.ok()) co_return answer.status;
      const Point w(answer.rows.span().begin(), answer.rows.span().end());
      const Point gradient = problem.gradient(shard, step * c.batch_of(shard), c.batch_of(shard), w);
      if (c.watch) c.watch(shard, store.step(), w, gradient);
      store.learnt(c.batch_of(shard));
      store.push(TableId{0}, rows, Rows(std::vector<float>(gradient.begin(), gradient.end()))).forget();
      if (Status status = (co_await store.advance()).status; !status.ok()) co_return status;
    }
    if (Status status = (co_await store.end_epoch()).status; !status.ok()) co_return status;
    if (Status status = (co_await store.barrier({pass, 0})).status; !status.ok()) co_return status;
  }
  co_return ok_status();
}

inline Task<Status> learn_on_replica(Store& shared, std::unique_ptr<ReplicaAlgorithm> algorithm,
                                     std::vector<TableSpec> tables, const LeastSquares& problem,
                                     const LearningCase& c) {
  auto replica = Replica::make(tables);
  if (!replica) co_return replica.status();
  ReplicaStore store(shared, std::move(replica).value(), std::move(algorithm), Step{});
  co_return co_await learn(store, problem, c);
}

// On threads of a job with one server.
inline Learnt learn(const LeastSquares& problem, const LearningCase& c) {
  TrainSpec spec;
  spec.algorithm = c.algorithm;
  spec.exchange = c.exchange;
  spec.shards = c.shards;
  spec.epochs = c.passes;
  spec.batch_rows = c.shards * static_cast<std::uint32_t>(c.batch);
  const auto chosen = choose_algorithm(c.algorithm);
  EXPECT_TRUE(chosen) << c.algorithm;
  if (!chosen->algorithm->word.empty()) spec.mixing = mixing_matrix(chosen->values.word, c.shards)->weights;
  TableSpec table;
  table.kind = TableSpec::Kind::kDense;
  table.name = "w", table.rows = problem.width, table.ranges = 1, table.rule = c.rule;
  JobOptions options;
  options.tables = server_tables(spec, {table});
  options.workers = c.workers != 0 ? c.workers : c.shards;
  options.data_shards = c.shards;
  options.consistency = chosen->consistency;
  options.threads = c.one_thread ? 0 : c.shards + 1;
  std::vector<std::shared_ptr<ShardGroup>> ranks(c.shards);
  if (!c.exchange.empty()) ranks = shard_groups(c.shards, *exchange_route(c.exchange), options.timeout);
  auto job = Job::start(options);
  EXPECT_TRUE(job) << job.status().message();
  std::vector<std::unique_ptr<Store>> between(c.shards);
  const Status status = job->run([&](Store& shared) -> Task<Status> {
    const std::uint32_t s = shared.shard().value;
    if (c.between) between[s] = c.between(shared);
    Store& servers = between[s] ? *between[s] : shared;
    auto algorithm =
        chosen->algorithm->make
            ? chosen->algorithm->make(chosen->values, algorithm_shard(spec, ShardId{s}, ranks[s]))
            : nullptr;
    return algorithm ? learn_on_replica(servers, std::move(algorithm), {table}, problem, c)
                     : learn(servers, problem, c);
  });
  EXPECT_TRUE(status.ok()) << c.algorithm << ": " << status.message();
  Learnt learnt;
  if (ranks[0] && ranks[0]->group) learnt.group_bytes = ranks[0]->group->bytes_sent();
  const Status scanned =
      job->scan(TableId{0}, [&](Key, std::span<const float> row) { learnt.w.push_back(row[0]); });
  EXPECT_TRUE(scanned.ok());
  return learnt;
}

inline double distance(const Point& a, const Point& b) {
  double most = a.size() == b.size() ? 0 : 1e300;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace thalweg
