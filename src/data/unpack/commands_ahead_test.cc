#include "data/unpack/commands_ahead.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "data/unpack/command_output_for_test.h"

namespace thalweg {
namespace {

class CommandsAheadTest : public testing::Test {
 protected:
  // Runs the script with a name as $1, in the folder.
  SourceCommand script(const std::string& text) const {
    return {.line = fmt::format("cd {}; exec sh -c '{}' - %s", folder_ / "", text)};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  std::string content(const std::string& name) const { return read_text(folder_ / name); }
  void wait_for(const std::string& name) const {
    for (int tries = 0; tries < 60'000 && !exists(name); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(exists(name)) << name;
  }
  bool runs(const std::string& pid_file) const { return ::kill(std::stoi(content(pid_file)), 0) == 0; }

  const TemporaryFolder folder_;
};

constexpr const char* kWaitsForTheThird =
    "touch $1; n=0; while [ $1 -lt 4 ] && ! [ -e $(($1+3)) ] && [ $((n=n+1)) -lt 3000 ]; do sleep 0.01; "
    "done; [ $n -lt 3000 ] && echo $1";

TEST_F(CommandsAheadTest, ThreeRunWhileOneIsRead) {
  CommandsAhead commands(script(kWaitsForTheThird), {"1", "2", "3", "4", "5", "6"});
  for (const int name : {1, 2, 3, 4, 5, 6}) {
    EXPECT_EQ(text_of(commands.next()), fmt::format("{}\n", name));
    EXPECT_FALSE(exists(fmt::format("{}", name + 4))) << "at most " << kCommandsAtOnce << " run at once";
  }
}

TEST_F(CommandsAheadTest, AFailureIsToldInItsTurn) {
  CommandsAhead commands({.line = "echo no %s >&2; exit 2"}, {"a", "b"});
  EXPECT_EQ(text_of(commands.next()),
            "a: the command ended with exit code 2, saying \"no a\": echo no 'a' >&2; exit 2");
  EXPECT_EQ(text_of(commands.next()),
            "b: the command ended with exit code 2, saying \"no b\": echo no 'b' >&2; exit 2");
}

TEST_F(CommandsAheadTest, WhatNobodyTakesIsKilled) {
  {
    CommandsAhead commands(script("printf $$ >pid.$1; touch up.$1; exec sleep 1000"), {"1", "2", "3"});
    const auto first = commands.next();
    ASSERT_TRUE(first.ok());
    wait_for("up.1"), wait_for("up.2"), wait_for("up.3");
    EXPECT_TRUE(runs("pid.2"));
  }
  for (const std::string name : {"pid.1", "pid.2", "pid.3"}) EXPECT_FALSE(runs(name)) << name;
}

TEST_F(CommandsAheadTest, OneThatIsHeldUpForLongIsRunInItsTurn) {
  SourceCommand command =
      script("echo $1 >>runs; head -c 600000 /dev/zero; touch wrote.$1; head -c 1000000 /dev/zero");
  command.longest_hold = std::chrono::nanoseconds(0);
  CommandsAhead commands(command, {"1", "2", "3"});
  const auto first = commands.next();
  wait_for("wrote.1"), wait_for("wrote.2"), wait_for("wrote.3");
  EXPECT_EQ(text_of(commands.next()).size(), 1'600'000u);
  EXPECT_EQ(text_of(commands.next()).size(), 1'600'000u);
  const std::string runs = content("runs");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '2'), 2);
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '3'), 2);
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '1'), 1);
}

TEST_F(CommandsAheadTest, OneThatWaitsForItsTurnIsNotSilent) {
  SourceCommand command = script("head -c 1500000 /dev/zero");
  command.timeout = std::chrono::seconds(2);
  CommandsAhead commands(command, {"1", "2"});
  const auto first = commands.next();
  std::this_thread::sleep_for(command.timeout);
  EXPECT_EQ(text_of(commands.next()).size(), 1'500'000u);
}

TEST_F(CommandsAheadTest, OneThatHasWrittenAllIsNotHeldUp) {
  const auto output =
      CommandOutput::start(script("head -c 600000 /dev/zero; exec >&-; touch wrote.$1; sleep 1000"), "1");
  ASSERT_TRUE(output.ok());
  wait_for("wrote.1");
  bool held_up = true;  // A process that was started at that time may have the pipe for a moment.
  for (int tries = 0; tries < 60'000 && held_up; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    held_up = (*output)->held_up_for(std::chrono::nanoseconds(0));
  }
  EXPECT_FALSE(held_up);
}

}  // namespace
}  // namespace thalweg
