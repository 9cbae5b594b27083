#include "client/job_options.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

Duration silence(Duration timeout, Programs programs) {
  JobOptions job;
  job.timeout = timeout;
  return scheduler_options(job, programs).suspect_after;
}

// What docs/consistency.md and thalweg/job.h say.
TEST(JobOptions, HowLongANodeMayBeSilentDependsOnWhoseProgramItRuns) {
  EXPECT_EQ(silence(60s, Programs::kOfTrainer), 10s);
  EXPECT_EQ(silence(60s, Programs::kOfApplication), 30s);
  for (const Programs programs : {Programs::kOfTrainer, Programs::kOfApplication})
    EXPECT_EQ(silence(8s, programs), 4s);
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
  job.on_report = [&](ShardId, Step, std::string_view) { reported = true; };
  const SchedulerOptions out = scheduler_options(job, Programs::kOfTrainer);
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
