#include "client/job/job_options.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace thalweg
