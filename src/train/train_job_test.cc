#include "train/train_job.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

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

std::unique_ptr<TrainJob> job_in(const TemporaryFolder& folder) {
  TrainerOptions options;
  options.files = {folder.write("rows.svm", "1 1:1\n0 2:1\n")};
  options.out = folder / "model";
  auto job = TrainJob::create(options);
  EXPECT_TRUE(job.ok()) << job.status().message();
  return *std::move(job);
}

// A cluster works from its start, and may be through when somebody first looks.
TEST(TrainJob, TakesTheTimeSinceItsClusterStarted) {
  const TemporaryFolder folder;
  const auto job = job_in(folder);
  (void)job->scheduler_options(1, 1);
  const RealClock started;
  while (started.now() < Instant{} + std::chrono::milliseconds(5)) {
  }
  EndedCluster cluster;
  EXPECT_GE(job->run(cluster, 1, 1).seconds, 0.005);
}

TEST(TrainJob, AModelThatWasNotCollectedIsNoSuccess) {
  const TemporaryFolder folder;
  const auto job = job_in(folder);
  EndedCluster cluster;
  const TrainResult result = job->run(cluster, 1, 1);
  EXPECT_EQ(result.status.code(), Code::kRefused);
  EXPECT_NE(result.status.message().find("nothing is saved"), std::string::npos) << result.status.message();
  EXPECT_FALSE(result.complete) << "a summary would be shown";
}

// Whose checkpoints come to nothing.
struct RefusingCluster final : Cluster {
  explicit RefusingCluster(SchedulerOptions its) : options(std::move(its)) {}
  bool wait(Duration) override { return closed || ended.has_value(); }
  Status status() override { return ended.value_or(ok_status()); }
  ClusterView view() override { return {}; }
  std::string missing() override { return {}; }
  void close() override { closed = true; }
  void stop(const Status& status) override { ended = status; }
  void ask_checkpoint() override {
    options.on_checkpoint_failed({"", Status(Code::kIo, "server-0: the disk is full")});
  }
  SchedulerOptions options;
  bool closed = false;
  std::optional<Status> ended;
};

TEST(TrainJob, WhereTheLastCheckpointCannotBeTakenTheModelIsSaved) {
  for (const bool saves : {true, false}) {
    const TemporaryFolder folder;
    std::string said;
    TrainerOptions options;
    options.files = {folder.write("rows.svm", "1 1:1\n0 2:1\n")};
    options.checkpoint.directory = folder / "kept";
    if (saves) options.out = folder / "model";
    options.on_message = [&](TrainMessage, const std::string& line) { said += line + "\n"; };
    auto job = *TrainJob::create(options);
    RefusingCluster cluster(job->scheduler_options(1, 1));
    job->close();
    const TrainResult result = job->run(cluster, 1, 1);
    EXPECT_EQ(cluster.closed, saves) << "asked to end with what has been learnt";
    EXPECT_EQ(cluster.ended.has_value(), !saves);
    const std::string& words = saves ? said : result.status.message();
    EXPECT_NE(words.find("server-0: the disk is full; there is none"), std::string::npos) << words;
  }
}

TEST(TrainJob, ColumnsOfWhichNoneIsAFeatureAreRefused) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.files = {folder.write("rows.csv", "click,user\n1,a\n0,b\n")};
  options.columns = "label,-";
  const auto job = TrainJob::create(options);
  EXPECT_EQ(job.status().code(), Code::kUsage);
  EXPECT_NE(job.status().message().find("rows.csv: no column is a feature: click:label,user:-"),
            std::string::npos)
      << job.status().message();
}

}  // namespace
}  // namespace thalweg
