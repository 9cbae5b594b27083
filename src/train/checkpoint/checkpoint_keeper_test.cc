#include "train/checkpoint/checkpoint_keeper.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

TEST(CheckpointKeeper, AwaitsOneThatIsAboutToEnd) {
  TemporaryFolder folder;
  CheckpointOptions options;
  options.directory = folder / "kept";
  auto held = CheckpointKeeper::open(options, false);
  ASSERT_TRUE(held.ok());
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    held->reset();
  });
  const auto keeper = CheckpointKeeper::open(options, false);
  ends.join();
  EXPECT_TRUE(keeper.ok()) << keeper.status().message();
  EXPECT_EQ((*keeper)->unclaimed(), "");
}

TEST(CheckpointKeeper, RefusesADirectoryThatAnotherKeepsAndNamesIt) {
  TemporaryFolder folder;
  CheckpointOptions options;
  options.directory = folder / "kept";
  auto one = CheckpointKeeper::open(options, false);
  ASSERT_TRUE(one.ok()) << one.status().message();
  const auto two = CheckpointKeeper::open(options, false);
  EXPECT_EQ(two.status().code(), Code::kUsage);
  EXPECT_EQ(two.status().message(),
            fmt::format("--checkpoint {0}: another training keeps its checkpoints there: {0}/.lock is in use "
                        "by process {1}\nhint: wait until that has ended, or give another directory",
                        options.directory, getpid()));
  const auto heir = CheckpointKeeper::open(options, true);
  ASSERT_TRUE(heir.ok()) << "who leads a job is settled by its state: " << heir.status().message();
  EXPECT_NE((*heir)->unclaimed(), "");
  one->reset();
  EXPECT_FALSE(std::filesystem::exists(folder / "kept/.lock"));
  EXPECT_TRUE(CheckpointKeeper::open(options, false).ok());
}

TEST(CheckpointKeeper, GoesOnWhereNothingCanBeClaimed) {
  TemporaryFolder folder;
  CheckpointOptions options;
  options.directory = folder / "kept";
  std::filesystem::create_directory(options.directory);
  std::filesystem::create_symlink("elsewhere", folder / "kept/.lock");  // Which no claim follows.
  const auto keeper = CheckpointKeeper::open(options, false);
  ASSERT_TRUE(keeper.ok()) << keeper.status().message();
  EXPECT_NE((*keeper)->unclaimed().find("/kept/.lock"), std::string::npos) << (*keeper)->unclaimed();
}

struct NoCluster final : Cluster {
  bool wait(Duration) override { return true; }
  Status status() override { return {}; }
  ClusterView view() override { return {}; }
  std::string missing() override { return {}; }
  void close() override {}
  void stop(const Status&) override {}
};

// Of two servers the disk refuses one, and the other has not heard of it.
TEST(CheckpointKeeper, RemovesWhatALateServerWritesToAnAttemptThatFailed) {
  TemporaryFolder folder;
  CheckpointOptions options;
  options.directory = folder / "kept";
  const auto keeper = CheckpointKeeper::open(options, false);
  ASSERT_TRUE(keeper.ok()) << keeper.status().message();
  SchedulerOptions job;
  (*keeper)->follow(job, {}, [] { return std::string(); }, {});
  NoCluster cluster;
  const auto fails = [&](const std::string& place) {
    job.on_checkpoint_failed({place, {Code::kIo, "no space"}});
    (*keeper)->work(cluster, [](TrainMessage, const std::string&) {});
  };
  const std::string first = job.checkpoint.place + "1";
  std::filesystem::create_directory(first);
  fails(first);
  EXPECT_FALSE(std::filesystem::exists(first));
  std::filesystem::create_directory(first);
  fails(job.checkpoint.place + "2");
  EXPECT_FALSE(std::filesystem::exists(first));
}

}  // namespace
}  // namespace thalweg
