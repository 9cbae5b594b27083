#include "thalweg/group_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.h"
#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr TableId kWeights{0}, kRows{1}, kPushes{2};
constexpr std::uint64_t kDense = 96;
constexpr std::uint32_t kDim = 3, kSteps = 12, kEpochs = 2;

std::vector<TableSpec> tables(RuleKind dense, RuleKind sparse) {
  TableSpec weights;
  weights.kind = TableSpec::Kind::kDense;
  weights.name = "weights";
  weights.rows = kDense;
  weights.ranges = 16;
  weights.rule.kind = dense;
  weights.rule.rate = 0.05f;
  TableSpec rows;
  rows.name = "rows";
  rows.dim = kDim;
  rows.ranges = 16;
  rows.rule.kind = sparse;
  rows.rule.rate = 0.05f;
  rows.init = {InitSpec::Kind::kUniform, 0.1f, 3};
  TableSpec pushes;
  pushes.name = "pushes";
  pushes.rule.kind = RuleKind::kAdd;
  return {weights, rows, pushes};
}

float target(std::size_t weight, std::uint32_t shard) {
  return std::sin(static_cast<float>(weight) + 0.1f * static_cast<float>(shard));
}
constexpr float kRowTarget = 0.5f;
constexpr Key kUsers = 40;

using Parameters = std::vector<float>;

// A user's program: least squares on data of the shard's own, dense and sparse parameters together. It knows
// nothing of what it runs on. Shard 0 keeps the final parameters.
using Keep = std::function<void(ShardId shard, Parameters found)>;
Program train(std::uint32_t shards, Keep keep) {
  return [shards, keep](Store& store) -> Task<Status> {
    const Keys weights = Keys::block(0, kDense);
    Random random(store.shard().value + 1);
    for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      // Shards have different numbers of steps.
      for (std::uint32_t step = 0; step < kSteps + store.shard().value; ++step) {
        std::vector<Key> users(8);
        for (Key& user : users) user = random.below(kUsers);
        const Keys keys = Keys::of(users);
        const Answer dense = co_await store.pull(kWeights, weights);
        if (!dense.status.ok()) co_return dense.status;
        const Answer sparse = co_await store.pull(kRows, keys);
        if (!sparse.status.ok()) co_return sparse.status;
        std::vector<float> dense_grads(kDense), sparse_grads(sparse.rows.size());
        const auto share = static_cast<float>(shards);
        for (std::size_t i = 0; i < kDense; ++i)
          dense_grads[i] = (dense.rows[i] - target(i, store.shard().value)) / share;
        for (std::size_t i = 0; i < sparse_grads.size(); ++i)
          sparse_grads[i] = (sparse.rows[i] - kRowTarget) / share;
        store.push(kWeights, weights, Rows(std::move(dense_grads))).forget();
        store.push(kRows, keys, Rows(std::move(sparse_grads))).forget();
        store.push(kPushes, keys, Rows(std::vector<float>(keys.size(), 1.0f))).forget();
        if (Status status = (co_await store.advance()).status; !status.ok()) co_return status;
      }
      if (Status status = (co_await store.end_epoch()).status; !status.ok()) co_return status;
      if (Status status = (co_await store.barrier({epoch, 0})).status; !status.ok()) co_return status;
    }
    std::vector<Key> all(kUsers);
    std::iota(all.begin(), all.end(), Key{0});
    const Answer dense = co_await store.pull(kWeights, weights);
    if (!dense.status.ok()) co_return dense.status;
    const Answer sparse = co_await store.pull(kRows, Keys::of(all));
    if (!sparse.status.ok()) co_return sparse.status;
    Parameters found(dense.rows.span().begin(), dense.rows.span().end());
    found.insert(found.end(), sparse.rows.span().begin(), sparse.rows.span().end());
    const Answer pushes = co_await store.pull(kPushes, Keys::of(all));
    if (!pushes.status.ok()) co_return pushes.status;
    found.insert(found.end(), pushes.rows.span().begin(), pushes.rows.span().end());
    keep(store.shard(), std::move(found));
    co_return (co_await store.barrier({kEpochs, 0})).status;
  };
}

Parameters on_job(std::vector<TableSpec> specs, std::uint32_t shards, std::uint32_t servers,
                  std::uint32_t workers, Consistency consistency) {
  JobOptions options;
  options.tables = std::move(specs);
  options.servers = servers;
  options.workers = workers;
  options.data_shards = shards;
  options.consistency = consistency;
  options.timeout = 30s;
  auto job = Job::start(std::move(options));
  EXPECT_TRUE(job.ok()) << job.status().message();
  Parameters out;
  const auto keep = [&out](ShardId shard, Parameters found) {
    if (shard == ShardId{0}) out = std::move(found);
  };
  const Status status = job->run(train(shards, keep));
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

Parameters on_group(const std::vector<TableSpec>& specs, std::uint32_t ranks, const char* route,
                    bool in_rank_order) {
  std::mutex mutex;
  std::vector<Parameters> out(ranks);
  const auto body = [&](Group& group) -> std::string {
    GroupStoreOptions options;
    options.tables = specs;
    options.in_rank_order = in_rank_order;
    if (*route) {
      auto named = RouteChoice::named(route);
      if (!named) return named.status().message();
      options.route = *named;
    }
    auto store = GroupStore::create(group, std::move(options));
    if (!store) return store.status().message();
    const auto keep = [&](ShardId shard, Parameters found) {
      const std::lock_guard lock(mutex);
      out[shard.value] = std::move(found);
    };
    return (*store)->run(train(ranks, keep)).message();
  };
  EXPECT_EQ(on_threads(ranks, body), "");
  for (const Parameters& of_rank : out) EXPECT_EQ(of_rank, out[0]);  // All replicas have the same bits.
  return out[0];
}

float largest_difference(const Parameters& a, const Parameters& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// How often train() pushes to each user, in the order of the table.
Parameters pushes_to_users(std::uint32_t shards) {
  std::map<Key, int> counts;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    Random random(shard + 1);
    for (std::uint32_t step = 0; step < kEpochs * (kSteps + shard); ++step) {
      std::set<Key> users;
      for (int i = 0; i < 8; ++i) users.insert(random.below(kUsers));
      for (const Key user : users) ++counts[user];
    }
  }
  std::vector<Key> all(kUsers);
  std::iota(all.begin(), all.end(), Key{0});
  const Keys keys = Keys::of(all);
  Parameters found;
  for (std::size_t i = 0; i < keys.size(); ++i) found.push_back(static_cast<float>(counts[keys.key(i)]));
  return found;
}

// What train() makes smaller.
double loss(const Parameters& found, std::uint32_t shards) {
  double sum = 0;
  const auto square = [](double error) { return error * error; };
  for (std::size_t i = 0; i < kDense; ++i) {
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      sum += square(found[i] - target(i, shard)) / shards;
  }
  for (std::size_t i = kDense; i < kDense + kUsers * kDim; ++i) sum += square(found[i] - kRowTarget);
  return sum;
}

// Local, synchronous servers and ring give the same parameters to one program; asynchronous servers
// apply every push once, each as a step of its own, which takes the loss at least as far down in as many
// steps.
TEST(KvStore, OneProgramGivesTheSameParametersOnEveryBackEnd) {
  const RuleKind rules[][2] = {{RuleKind::kSgd, RuleKind::kAdagrad}, {RuleKind::kAdam, RuleKind::kMomentum}};
  for (const auto& [dense, sparse] : rules) {
    const auto specs = tables(dense, sparse);
    for (const std::uint32_t shards : {1u, 2u, 3u, 4u}) {
      SCOPED_TRACE(std::to_string(shards) + " shards");
      const Parameters local = on_job(specs, shards, 1, 1, Consistency::sync());
      ASSERT_EQ(local.size(), kDense + kUsers * kDim + kUsers);
      EXPECT_EQ(Parameters(local.end() - kUsers, local.end()), pushes_to_users(shards));
      EXPECT_EQ(on_job(specs, shards, 3, shards, Consistency::sync()), local);  // To the last bit.
      EXPECT_EQ(on_group(specs, shards, "", true), local);                      // To the last bit.
      EXPECT_LE(largest_difference(on_group(specs, shards, "ring", false), local), 1e-6f);
      EXPECT_LE(largest_difference(on_group(specs, shards, "", false), local), 1e-6f);
      if (shards <= 2) {
        EXPECT_EQ(on_group(specs, shards, "ring", false), local);  // One addition has one order.
      }
      const Parameters async = on_job(specs, shards, 2, shards, Consistency::async());
      EXPECT_EQ(Parameters(async.end() - kUsers, async.end()), pushes_to_users(shards));
      EXPECT_LE(loss(async, shards), 1.05 * loss(local, shards));
      if (shards == 1) {
        EXPECT_EQ(async, local);  // Nobody else's pushes to miss.
      }
    }
  }
}

TEST(KvStore, DensePushesOfDifferentBlocksAreApplied) {
  const auto body = [](Group& group) -> std::string {
    GroupStoreOptions options;
    options.tables = tables(RuleKind::kAdd, RuleKind::kAdd);
    auto store = GroupStore::create(group, options);
    if (!store) return store.status().message();
    return (*store)
        ->run([](Store& mine) -> Task<Status> {
          const std::uint64_t first = mine.shard().value * 10;
          mine.push(kWeights, Keys::block(first, 20), Rows(std::vector<float>(20, 1.0f))).forget();
          if (Status status = (co_await mine.advance()).status; !status.ok()) co_return status;
          const Answer rows = co_await mine.pull(kWeights, Keys::block(0, 50));
          for (std::uint64_t i = 0; i < 50; ++i) {
            const float expected = i < 10 ? 1.0f : i < 30 ? 2.0f : i < 40 ? 1.0f : 0.0f;
            if (rows.rows[i] != expected) co_return Status(Code::kData, "row " + std::to_string(i));
          }
          co_return ok_status();
        })
        .message();
  };
  EXPECT_EQ(on_threads(3, body), "");
}

TEST(KvStore, ARefusedPushThatNobodyAwaitsFailsWhatComesNext) {
  for (const bool advances : {false, true}) {
    const auto body = [advances](Group& group) -> std::string {
      GroupStoreOptions options;
      options.tables = tables(RuleKind::kSgd, RuleKind::kSgd);
      auto store = GroupStore::create(group, options);
      if (!store) return store.status().message();
      return (*store)
          ->run([advances](Store& mine) -> Task<Status> {
            mine.push(kWeights, Keys::block(0, 3), Rows(std::vector<float>(2, 1.0f))).forget();
            if (!advances) co_return ok_status();
            co_return (co_await mine.advance()).status;
          })
          .message();
    };
    const std::string said = on_threads(1, body);
    EXPECT_NE(said.find("3 keys"), std::string::npos) << said;
  }
}

TEST(KvStore, ARankThatFailsEndsTheOthers) {
  std::mutex mutex;
  std::vector<Code> codes(3);
  const auto body = [&](Group& group) -> std::string {
    GroupStoreOptions options;
    options.tables = tables(RuleKind::kSgd, RuleKind::kSgd);
    auto store = GroupStore::create(group, options);
    if (!store) return store.status().message();
    const Status status = (*store)->run([](Store& mine) -> Task<Status> {
      for (int step = 0; step < 5; ++step) {
        const float value = step == 3 && mine.shard() == ShardId{1} ? std::nanf("") : 1.0f;
        mine.push(kWeights, Keys::block(0, 1), Rows(std::vector<float>(1, value))).forget();
        if (Status advanced = (co_await mine.advance()).status; !advanced.ok()) co_return advanced;
      }
      co_return ok_status();
    });
    const std::lock_guard lock(mutex);
    codes[group.rank()] = status.code();
    return "";
  };
  EXPECT_EQ(on_threads(3, body), "");
  EXPECT_EQ(codes, (std::vector<Code>{Code::kAborted, Code::kNonFinite, Code::kAborted}));
}

TEST(KvStore, RanksWithOtherTablesMakeNoStore) {
  const auto made_by = [](const std::function<void(TableSpec & rows)>& change) {
    return [change](Group& group) -> std::string {
      GroupStoreOptions options;
      options.tables = tables(RuleKind::kSgd, RuleKind::kSgd);
      if (group.rank() == 1) change(options.tables[kRows.value]);
      return GroupStore::create(group, options).status().message();
    };
  };
  const auto all_say = [](const std::string& said, const std::string& what) {
    std::size_t ranks = 0;
    for (std::size_t at = said.find(what); at != said.npos; at = said.find(what, at + 1)) ++ranks;
    return ranks;
  };
  for (const auto& change : std::vector<std::function<void(TableSpec&)>>{
           [](TableSpec& rows) { rows.dim = 5; }, [](TableSpec& rows) { rows.rule.rate = 0.06f; },
           [](TableSpec& rows) { rows.init.seed = 4; }}) {
    const std::string said = on_threads(3, made_by(change));
    EXPECT_EQ(all_say(said, "rank 1 has other tables than rank 0"), 3U) << said;
  }
  const std::string said = on_threads(3, made_by([](TableSpec& rows) { rows.dim = 0; }));
  EXPECT_EQ(all_say(said, "rank 1 cannot have its tables"), 2U) << said;
  EXPECT_EQ(all_say(said, "dim is 0"), 1U) << said;
}

TEST(KvStore, RefusesWhatServersRefuse) {
  const auto body = [](Group& group) -> std::string {
    GroupStoreOptions options;
    options.tables = tables(RuleKind::kSgd, RuleKind::kSgd);
    auto store = GroupStore::create(group, options);
    if (!store) return store.status().message();
    return (*store)
        ->run([](Store& mine) -> Task<Status> {
          const auto is_usage = [](const Answer& answer) { return answer.status.code() == Code::kUsage; };
          const Rows one(std::vector<float>(1, 1.0f));
          bool refused = is_usage(co_await mine.push(TableId{2}, Keys::block(0, 1), one));
          refused = refused && is_usage(co_await mine.push(kRows, Keys::block(0, 1), one));
          refused = refused && is_usage(co_await mine.push(kWeights, Keys::block(kDense, 1), one));
          refused = refused && is_usage(co_await mine.push(kWeights, Keys::block(0, 2), one));
          if (Status status = (co_await mine.push(kWeights, Keys::block(0, 1), one)).status; !status.ok())
            co_return status;
          refused = refused && is_usage(co_await mine.push(kWeights, Keys::block(0, 1), one));
          refused = refused && is_usage(co_await mine.pull(kWeights, Keys::block(0, 1)));
          refused = refused && is_usage(co_await mine.end_epoch());
          if (!refused) co_return Status(Code::kData, "something was not refused");
          if (Status status = (co_await mine.end_work()).status; !status.ok()) co_return status;
          refused = is_usage(co_await mine.push(kWeights, Keys::block(0, 1), one));
          refused = refused && is_usage(co_await mine.advance());
          const Answer row = co_await mine.read(kWeights, Keys::block(0, 1));
          co_return refused&& row.rows[0] == -0.05f * 2 ? ok_status() : Status(Code::kData, "after the end");
        })
        .message();
  };
  EXPECT_EQ(on_threads(2, body), "");
}

}  // namespace
}  // namespace thalweg
