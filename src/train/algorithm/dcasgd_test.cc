// Delay compensation on numbers of few binary digits, by servers that move as the test says: what is compared
// is equal.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/completion.h"
#include "client/replica/replica_store.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

constexpr std::size_t kWidth = 2;
constexpr float kMoved = 0.125f;
constexpr std::uint64_t kExamples = 2;  // Of each step.
using PushedRows = std::map<Key, std::vector<float>>;

// Their weights are all alike.
class MovingServers final : public Store {
 public:
  float weight = 0;
  PushedRows pushed;  // In the newest push.

  ShardId shard() const override { return ShardId{0}; }
  bool closing() const override { return false; }
  Step step() const override { return {}; }
  Pending push(TableId, Keys keys, Rows grads) override {
    pushed.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto row = grads.span().subspan(i * kWidth, kWidth);
      pushed[keys.key(i)].assign(row.begin(), row.end());
    }
    return answered({});
  }
  Pending pull(TableId, Keys keys) override {
    return answered(Rows(std::vector<float>(keys.size() * kWidth, weight)));
  }
  Pending read(TableId table, Keys keys) override { return pull(table, std::move(keys)); }
  Pending advance() override { return answered({}); }
  Pending end_epoch() override { return answered({}); }
  Pending end_work() override { return answered({}); }
  Pending barrier(BarrierId) override { return answered({}); }
  Pending report(ReportId, std::string) override { return answered({}); }
  Pending yield() override { return answered({}); }

 private:
  static Pending answered(Rows rows) { return Completion::ended({ok_status(), std::move(rows), {}}); }
};

// One shard, on a table of one sort.
class CompensatedShard {
 public:
  CompensatedShard(const char* algorithm, TableSpec::Kind kind) : dense_(kind == TableSpec::Kind::kDense) {
    const auto chosen = choose_algorithm(algorithm);
    EXPECT_TRUE(chosen) << algorithm;
    TableSpec table;
    table.kind = kind;
    table.name = "w", table.dim = kWidth, table.ranges = 1, table.rule.kind = RuleKind::kSgd;
    if (dense_) table.rows = 8;
    auto replica = Replica::make({table});
    EXPECT_TRUE(replica) << replica.status().message();
    store_ =
        std::make_unique<ReplicaStore>(servers_, std::move(replica).value(),
                                       chosen->algorithm->make(chosen->values, AlgorithmShard{}), Step{});
  }

  // What of these sums over two rows is pushed to servers that move by kMoved meanwhile.
  PushedRows push(const PushedRows& gradients) {
    const Keys keys = keys_of(gradients);
    store_->pull(TableId{0}, keys).forget();
    servers_.weight += kMoved;
    std::vector<float> grads;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::vector<float>& row = gradients.at(keys.key(i));
      grads.insert(grads.end(), row.begin(), row.end());
    }
    store_->learnt(kExamples);
    store_->push(TableId{0}, keys, Rows(std::move(grads))).forget();
    store_->advance().forget();
    return servers_.pushed;
  }

 private:
  Keys keys_of(const PushedRows& gradients) const {
    if (dense_) return Keys::block(gradients.begin()->first, gradients.size());
    std::vector<Key> keys;
    for (const auto& [key, row] : gradients) keys.push_back(key);
    return Keys::of(keys);
  }

  const bool dense_;
  MovingServers servers_;
  std::unique_ptr<ReplicaStore> store_;
};

constexpr TableSpec::Kind kTableSorts[] = {TableSpec::Kind::kDense, TableSpec::Kind::kSparse};

// 8 + 0.5 * (8 / 2) * 8 / 8.
TEST(DelayCompensation, IsByTheSquareOfTheGradient) {
  for (const TableSpec::Kind kind : kTableSorts) {
    CompensatedShard shard("dcasgd:lambda=0.5", kind);
    EXPECT_EQ(shard.push({{3, {8, -8}}, {4, {0, 4}}}), (PushedRows{{3, {10, -6}}, {4, {0, 4.5f}}}));
    EXPECT_EQ(shard.push({{4, {8, 0}}}), (PushedRows{{4, {10, 0}}}));
  }
}

// By row of its own: mean squares 0.25 * 4^2 = 4 and 0.75 * 4 + 0.25 * 2^2 = 4 in the first column, and 16
// and 16 in the second, so that lambda is 1 and 0.5.
TEST(DelayCompensation, AdaptsToTheMeanSquareOfEachElement) {
  for (const TableSpec::Kind kind : kTableSorts) {
    CompensatedShard shard("dcasgd-a:lambda=2,mean=0.75", kind);
    EXPECT_EQ(shard.push({{3, {8, 16}}, {4, {-8, 16}}}), (PushedRows{{3, {12, 24}}, {4, {-4, 24}}}));
    EXPECT_EQ(shard.push({{4, {4, 8}}, {5, {8, 0}}}), (PushedRows{{4, {5, 10}}, {5, {12, 0}}}));
    EXPECT_EQ(shard.push({{3, {4, 8}}}), (PushedRows{{3, {5, 10}}}));
  }
}

TEST(DelayCompensation, OfNoMeanIsByTheNewestGradientAloneAndFiniteForTheSmallest) {
  const double small = std::ldexp(1, -11), mean = small / kExamples;
  const double grown = small + 2 / std::sqrt(mean * mean + 1e-7) * mean * small * static_cast<double>(kMoved);
  for (const TableSpec::Kind kind : kTableSorts) {
    CompensatedShard shard("dcasgd-a:mean=0", kind);
    EXPECT_EQ(shard.push({{1, {8, -32}}}), (PushedRows{{1, {10, -24}}}));
    const PushedRows second = shard.push({{1, {static_cast<float>(small), 0}}});
    EXPECT_FLOAT_EQ(second.at(1)[0], static_cast<float>(grown));
    EXPECT_EQ(second.at(1)[1], 0);
  }
}

}  // namespace
}  // namespace thalweg
