#include "client/job/lasting_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

TEST(LastingProcesses, LiveAsLongAsOneHasTheDescriptor) {
  TemporaryFolder folder;
  auto none = LastingProcesses::of(folder / "");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->known());
  EXPECT_EQ(none->address(), "");
  EXPECT_TRUE(none->gone());

  auto first = none->begin("127.0.0.1:7100");
  ASSERT_TRUE(first.ok()) << first.status().message();
  FileDescriptor inherited(dup(first->get()));
  first->reset();
  const auto living = LastingProcesses::of(folder / "");
  ASSERT_TRUE(living.ok());
  EXPECT_TRUE(living->known());
  EXPECT_EQ(living->address(), "127.0.0.1:7100");
  EXPECT_FALSE(living->gone());

  inherited.reset();
  EXPECT_TRUE(living->gone());
  const auto left = LastingProcesses::of(folder / "");
  ASSERT_TRUE(left.ok());
  EXPECT_TRUE(left->known());
  EXPECT_EQ(left->address(), "");
}

TEST(LastingProcesses, AnotherJobsAreNotTakenForThose) {
  TemporaryFolder folder;
  auto found = LastingProcesses::of(folder / "");
  ASSERT_TRUE(found.ok());
  const auto before = found->begin("127.0.0.1:7100");
  ASSERT_TRUE(before.ok());
  const auto now = found->begin("127.0.0.1:7200");
  ASSERT_TRUE(now.ok()) << now.status().message();
  const auto living = LastingProcesses::of(folder / "");
  ASSERT_TRUE(living.ok());
  EXPECT_EQ(living->address(), "127.0.0.1:7200");
}

TEST(LastingProcesses, AFileThatIsDamagedIsNamed) {
  TemporaryFolder folder;
  auto found = LastingProcesses::of(folder / "");
  ASSERT_TRUE(found.ok());
  const auto held = found->begin("127.0.0.1:7100");
  ASSERT_TRUE(held.ok());
  for (const char* text : {"", "garbage", "127.0.0.1:0"}) {
    ASSERT_EQ(ftruncate(held->get(), 0), 0);
    ASSERT_EQ(pwrite(held->get(), text, strlen(text), 0), static_cast<ssize_t>(strlen(text)));
    const auto living = LastingProcesses::of(folder / "");
    EXPECT_EQ(living.status().code(), Code::kModel);
    EXPECT_NE(living.status().message().find(found->path() + ": damaged"), std::string::npos)
        << living.status().message();
  }
}

TEST(LastingProcesses, AFileThatCannotBeMadeIsNamed) {
  auto found = LastingProcesses::of("/nowhere/at/all");
  ASSERT_TRUE(found.ok());
  const auto begun = found->begin("127.0.0.1:7100");
  EXPECT_EQ(begun.status().code(), Code::kIo);
  EXPECT_NE(begun.status().message().find("/nowhere/at/all/processes.new: cannot be made"), std::string::npos)
      << begun.status().message();
}

}  // namespace
}  // namespace thalweg
