#include "client/job/local_cluster.h"

#include <gtest/gtest.h>

#include <cmath>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

TableSpec counts_table() {
  TableSpec spec;
  spec.name = "counts";
  spec.ranges = 16;
  return spec;
}

// Every shard adds 1 to `keys` keys in each of `steps` steps.
Task<Status> count_up(ShardStore& store, std::uint32_t steps, std::uint64_t keys) {
  std::vector<Key> all(keys);
  for (std::uint64_t k = 0; k < keys; ++k) all[k] = k * 7;
  const Keys placed = Keys::of(all);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Answer rows = co_await store.pull(TableId{0}, placed);
    if (!rows.status.ok()) co_return rows.status;
    store.push(TableId{0}, placed, Rows(std::vector<float>(keys, 1.0f))).forget();
    if (const Status status = (co_await store.advance()).status; !status.ok()) co_return status;
  }
  co_return (co_await store.end_epoch()).status;
}

LocalClusterOptions options(std::uint32_t servers, std::uint32_t workers, std::uint32_t shards,
                            Consistency mode) {
  LocalClusterOptions options;
  options.job.servers = servers;
  options.job.workers = workers;
  options.job.shards = shards;
  options.job.consistency = mode;
  options.job.tables = {counts_table()};
  return options;
}

struct SeenByJobs {
  std::vector<float> values;
};

Task<Status> read_all(ShardStore& store, SeenByJobs& seen) {
  if (const Status status = (co_await store.barrier({0, 0})).status; !status.ok()) co_return status;
  for (std::uint16_t range = 0; range < 16; ++range) {
    const Answer scanned = co_await store.scan(TableId{0}, RangeId{range});
    if (!scanned.status.ok()) co_return scanned.status;
    for (const float value : scanned.rows.span()) seen.values.push_back(value);
  }
  co_return ok_status();
}

Task<Status> work(ShardStore& store) {
  if (const Status status = co_await count_up(store, 20, 500); !status.ok()) co_return status;
  co_return (co_await store.barrier({0, 0})).status;
}

void expect_counts(LocalClusterOptions options) {
  SeenByJobs seen;
  const auto shards = static_cast<float>(options.job.shards);
  options.program = [](ShardStore& store, const wire::Map&) { return work(store); };
  options.observer = [&](ShardStore& store, const wire::Map&) { return read_all(store, seen); };
  LocalCluster cluster(std::move(options));
  ASSERT_TRUE(cluster.wait(60s));
  EXPECT_TRUE(cluster.status().ok()) << cluster.status().message();
  ASSERT_EQ(seen.values.size(), 500u);
  for (const float value : seen.values) EXPECT_EQ(value, 20 * shards);
}

TEST(LocalCluster, AddsUpEveryPushInEveryMode) {
  for (const Consistency mode : {Consistency::sync(), Consistency::bounded(2), Consistency::async()}) {
    for (const std::uint32_t servers : {1u, 3u}) {
      for (const std::uint32_t workers : {1u, 4u}) expect_counts(options(servers, workers, 5, mode));
    }
  }
}

TEST(LocalCluster, AFailedProgramEndsTheJobWithItsStatus) {
  auto failing = options(2, 2, 4, Consistency::sync());
  failing.program = [](ShardStore& store, const wire::Map&) -> Task<Status> {
    if (store.shard() == ShardId{3}) co_return Status(Code::kData, "rows.txt:7: bad row");
    co_return (co_await store.barrier({0, 0})).status;
  };
  LocalCluster cluster(std::move(failing));
  ASSERT_TRUE(cluster.wait(10s));
  EXPECT_EQ(cluster.status().code(), Code::kData);
  EXPECT_NE(cluster.status().message().find("rows.txt:7: bad row"), std::string::npos)
      << cluster.status().message();
}

TEST(LocalCluster, ARefusedPushEndsTheJob) {
  auto failing = options(1, 1, 1, Consistency::sync());
  failing.program = [](ShardStore& store, const wire::Map&) -> Task<Status> {
    store.push(TableId{0}, Keys::of(std::vector<Key>{1}), Rows(std::vector<float>{std::nanf("")})).forget();
    co_return (co_await store.advance()).status;
  };
  LocalCluster cluster(std::move(failing));
  ASSERT_TRUE(cluster.wait(10s));
  EXPECT_FALSE(cluster.status().ok());
}

}  // namespace
}  // namespace thalweg
