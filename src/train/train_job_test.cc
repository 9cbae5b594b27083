#include "train/train_job.h"

#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

// A cluster whose scheduler was told, by whomever, that the job has ended well.
struct EndedCluster final : Cluster {
  bool wait(Duration) override { return true; }
  Status status() override { return ok_status(); }
  ClusterView view() override { return {}; }
  std::string missing() override { return {}; }
  void close() override {}
  void stop(const Status&) override {}
};

TEST(TrainJob, AModelThatWasNotCollectedIsNoSuccess) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.files = {folder.write("rows.svm", "1 1:1\n0 2:1\n")};
  options.out = folder / "model";
  auto job = TrainJob::create(options);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EndedCluster cluster;
  const TrainResult result = (*job)->run(cluster, 1, 1);
  EXPECT_EQ(result.status.code(), Code::kRefused);
  EXPECT_NE(result.status.message().find("nothing is saved"), std::string::npos) << result.status.message();
  EXPECT_FALSE(result.complete) << "a summary would be shown";
}

}  // namespace
}  // namespace thalweg
