#include "client/job/job_options.h"

#include <gtest/gtest.h>

#include <functional>

#include "cluster/pace.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

Duration silence(Duration timeout) {
  JobOptions job;
  job.timeout = timeout;
  return scheduler_options(job).suspect_after;
}

// What docs/consistency.md and thalweg/job.h say.
TEST(JobOptions, HowLongANodeMayBeSilentDoesNotDependOnHowLongItComputes) {
  EXPECT_EQ(silence(1h), 10s);
  EXPECT_EQ(silence(60s), 10s);
  EXPECT_EQ(silence(8s), 4s);
}

TEST(JobOptions, HowLongANodeMayBeSilentIsWithinBounds) {
  JobOptions job;
  job.tables.resize(1);
  job.tables[0].name = "t";
  job.timeout = 8s;
  for (const Duration silence : {Duration(0s), Duration(100ms), Duration(1s), Duration(8s)}) {
    job.silence = silence;
    EXPECT_TRUE(check(job).ok()) << check(job).message();
    EXPECT_EQ(scheduler_options(job).suspect_after, silence > 0s ? silence : Duration(4s));
  }
  for (const Duration silence : {Duration(-1ns), Duration(99ms), Duration(8001ms)}) {
    job.silence = silence;
    EXPECT_EQ(check(job).code(), Code::kUsage);
    EXPECT_NE(check(job).message().find("JobOptions::silence"), std::string::npos);
  }
}

// As a cast of a number in a file may give them; a job with one would never start.
TEST(JobOptions, NoEnumIsOutOfRange) {
  const auto refused = [](const std::function<void(JobOptions&)>& change, const char* what) {
    JobOptions job;
    job.tables.resize(1);
    job.tables[0].name = "t";
    EXPECT_TRUE(check(job).ok()) << check(job).message();
    change(job);
    EXPECT_EQ(check(job).code(), Code::kUsage);
    EXPECT_NE(check(job).message().find(what), std::string::npos) << check(job).message();
  };
  refused([](JobOptions& o) { o.consistency.kind = static_cast<Consistency::Kind>(99); },
          "consistency is of kind 99");
  refused([](JobOptions& o) { o.combine.kind = static_cast<Combining::Kind>(9); }, "combine of kind 9");
  refused([](JobOptions& o) { o.tables[0].kind = static_cast<TableSpec::Kind>(4); }, "table 't': kind 4");
  refused([](JobOptions& o) { o.tables[0].init.kind = static_cast<InitSpec::Kind>(9); },
          "initial values of kind 9");
  refused([](JobOptions& o) { o.tables[0].rule.kind = static_cast<RuleKind>(77); }, "update rule: kind 77");
}

// So that several words are missed before a node is.
TEST(JobOptions, NodesSpeakOftenEnoughForTheSilenceThatIsAllowed) {
  wire::Map map;
  map.epoch = 1;
  map.timeout = 60s;
  for (const auto& [silence, every] :
       {std::pair<Duration, Duration>(0s, 1s), {10s, 1s}, {2500ms, 1s}, {1s, 400ms}, {100ms, 40ms}}) {
    map.silence = silence;
    EXPECT_EQ(cluster::heartbeat_every(map), every);
  }
  map.timeout = 800ms;
  EXPECT_EQ(cluster::heartbeat_every(map), 40ms);
  map.silence = 400ms;
  EXPECT_EQ(cluster::heartbeat_every(map), 100ms) << "by the timeout";
}

TEST(JobOptions, NoMoreThreadsAreStartedThanASystemMayHave) {
  JobOptions job;
  job.tables.resize(1);
  job.tables[0].name = "t";
  for (const std::size_t threads : {std::size_t{0}, std::size_t{1024}}) {
    job.threads = threads;
    EXPECT_TRUE(check(job).ok()) << check(job).message();
  }
  job.threads = 1025;
  EXPECT_EQ(check(job).message(), "JobOptions::threads is 1025, expected 1 to 1024");
}

TEST(JobOptions, TheSchedulerLearnsAllOfThem) {
  JobOptions job;
  job.tables.resize(2);
  job.servers = 3;
  job.workers = 4;
  job.data_shards = 5;
  job.consistency = Consistency::bounded(6);
  job.combine = Combining::tree(7);
  job.timeout = 9s;
  bool reported = false;
  job.on_report = [&](ShardId, ReportId, std::string_view) { reported = true; };
  const SchedulerOptions out = scheduler_options(job);
  EXPECT_EQ(out.tables, job.tables);
  EXPECT_EQ(out.servers, 3u);
  EXPECT_EQ(out.workers, 4u);
  EXPECT_EQ(out.shards, 5u);
  EXPECT_EQ(out.consistency, job.consistency);
  EXPECT_EQ(out.combine, job.combine);
  EXPECT_EQ(out.timeout, 9s);
  out.on_report({}, {}, {});
  EXPECT_TRUE(reported);
}

TEST(JobOptions, ServersThatAreProcessesHaveCopiesWhereThereCanBeSome) {
  EXPECT_EQ(replicas_of_processes(0, 1, Consistency::sync()), 1u);
  EXPECT_EQ(replicas_of_processes(0, 2, Consistency::sync()), 2u);
  EXPECT_EQ(replicas_of_processes(0, 5, Consistency::async()), 2u);
  EXPECT_EQ(replicas_of_processes(0, 5, Consistency::softsync(1)), 1u);
  EXPECT_EQ(replicas_of_processes(1, 5, Consistency::sync()), 1u);
  EXPECT_EQ(replicas_of_processes(3, 5, Consistency::sync()), 3u);
  EXPECT_EQ(scheduler_options(JobOptions()).replicas, 1u);
}

}  // namespace
}  // namespace thalweg
