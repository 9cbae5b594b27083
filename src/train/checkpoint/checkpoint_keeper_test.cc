#include "train/checkpoint/checkpoint_keeper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

TEST(CheckpointKeeper, AwaitsOneThatIsAboutToEnd) {
  TemporaryFolder folder;
  SystemDisk disk;
  CheckpointOptions options;
  options.directory = folder / "kept";
  ASSERT_TRUE(disk.make_directory(options.directory).ok());
  auto held = disk.claim(options.directory);
  ASSERT_TRUE(held.ok());
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    held->reset();
  });
  const auto keeper = CheckpointKeeper::open(options, false);
  ends.join();
  EXPECT_TRUE(keeper.ok()) << keeper.status().message();
}

TEST(CheckpointKeeper, RefusesADirectoryThatAnotherKeeps) {
  TemporaryFolder folder;
  CheckpointOptions options;
  options.directory = folder / "kept";
  const auto one = CheckpointKeeper::open(options, false);
  ASSERT_TRUE(one.ok()) << one.status().message();
  const auto two = CheckpointKeeper::open(options, false);
  EXPECT_EQ(two.status().code(), Code::kUsage);
  EXPECT_NE(two.status().message().find("another training keeps its checkpoints there"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
