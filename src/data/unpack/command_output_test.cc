#include "data/unpack/command_output.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "data/files_for_test.h"
#include "data/numbered_rows_for_test.h"
#include "data/unpack/command_output_for_test.h"

namespace thalweg {
namespace {

std::string output_of(const std::string& command, const std::string& name,
                      std::chrono::nanoseconds timeout = std::chrono::minutes(5)) {
  return text_of(CommandOutput::start({command, timeout}, name), 7);
}

TEST(CommandOutput, ANameIsOneWordWhateverIsInIt) {
  for (const std::string name : {"a b", "it's", "$(exit 1)", "`x`;\"&|*", ""}) {
    EXPECT_EQ(output_of("for word in %s; do echo \"<$word>\"; done", name), "<" + name + ">\n");
  }
}

TEST(CommandOutput, AFailureIsTold) {
  EXPECT_EQ(
      output_of("echo 1; echo one >&2; echo 'no such object' >&2; exit 3; : %s", "s3://a"),
      "s3://a: the command ended with exit code 3, saying \"no such object\": echo 1; echo one >&2; echo "
      "'no such object' >&2; exit 3; : 's3://a'");
  EXPECT_EQ(output_of("kill -9 $$; : %s", "a").rfind("a: the command ended with signal 9", 0), 0u);
}

TEST(CommandOutput, MuchThatIsComplainedOfHoldsNothingUp) {
  EXPECT_EQ(output_of("yes %s 2>/dev/null | head -c 1000000 >&2; echo done", "a"), "done\n");
}

TEST(CommandOutput, WhoIsSilentForTooLongIsNotWaitedFor) {
  constexpr auto kShort = std::chrono::milliseconds(50);
  for (const std::string command :
       {"echo 1; sleep 1000; : %s", "while :; do echo still here >&2; done; : %s",  // Which is no output.
        "exec >&-; sleep 1000; : %s", "exec >&- 2>&-; sleep 1000; : %s"}) {
    const std::string said = output_of(command, "s3://a", kShort);
    EXPECT_EQ(said.find("s3://a: the command has "), 0u) << said;
    EXPECT_NE(said.find(" for 0.05 s"), said.npos) << said;
    EXPECT_NE(said.find(command.substr(0, command.size() - 2) + "'s3://a'\nhint: a longer --command-timeout"),
              said.npos)
        << said;
  }
  EXPECT_EQ(output_of("for i in 1 2 3; do sleep 0.01; echo $i; done; : %s", "a", std::chrono::hours(1)),
            "1\n2\n3\n");
}

TEST(FromCommand, ACommandThatHangsIsNamedWithItsFile) {
  ReadOptions options = files({"s3://clicks"});
  options.from_command = "sleep 1000; : %s";
  options.command_timeout = std::chrono::milliseconds(20);
  const Status status = DataSet::open(options).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.message().find("s3://clicks: the command has written nothing for 0.02 s: sleep 1000"), 0u)
      << status.message();
}

TEST(CommandOutput, IsKilledWithAllThatItStarted) {
  pid_t inner = 0;
  {
    auto output = CommandOutput::start({"sleep 1000 & echo $!; wait; : %s"}, "a");
    ASSERT_TRUE(output.ok());
    char bytes[32] = {};
    ASSERT_TRUE((*output)->read(bytes, sizeof bytes - 1).ok());
    inner = std::stoi(bytes);
    EXPECT_EQ(::kill(inner, 0), 0);
  }
  // It dies a moment after the signal is sent. Its new parent may not have waited for it yet: then it is a
  // zombie, which has no command line.
  std::string line = "?";
  for (int tries = 0; tries < 10000 && !line.empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    line.clear();
    std::ifstream(fmt::format("/proc/{}/cmdline", inner)) >> line;
  }
  EXPECT_EQ(line, "");
}

TEST(FromCommand, EachPassReadsAgainWhateverThePacking) {
  const TemporaryFolder directory;
  const std::string rows = numbered_rows(3000);
  directory.write("plain", rows), directory.write("b", gzipped(rows)), directory.write("c", xz_packed(rows));
  for (const std::string name : {"plain", "b", "c"}) {
    ReadOptions options = files({name});
    options.from_command = "cat " + (directory / "") + "%s";
    const auto data = open_data(options);
    EXPECT_TRUE(data->seekable());
    const std::unique_ptr<RowReader> reader = open_reader(data);
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_EQ(read_labels(*reader).size(), 3000u) << name;
      ASSERT_TRUE(reader->rewind().ok());
    }
    EXPECT_EQ(read_labels(*open_reader(data, 0, 2)).size() + read_labels(*open_reader(data, 1, 2)).size(),
              3000u);
  }
}

TEST(FromCommand, ALookAtTheFirstRowsBeginsOneCommand) {
  const TemporaryFolder directory;
  for (const char* name : {"a", "b", "c"}) directory.write(name, numbered_rows(3000));
  ReadOptions options = files({"a", "b", "c"});
  options.from_command =
      fmt::format("cd {}; echo %s >>begun; [ -e slow ] && sleep 0.3; cat %s", directory / "");
  const auto data = open_data(options);
  directory.write("begun", ""), directory.write("slow", "");
  const auto reader = data->reader(ShardId{0}, 1, 0, Reads::kBegin);
  ASSERT_TRUE(reader.ok());
  Batch batch;
  const auto rows = (*reader)->next(10, batch);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(*rows, 10u);
  EXPECT_EQ(read_text(directory / "begun"), "a\n");
  const auto all = (*reader)->next(10000, batch);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(*all, 8990u) << "the others come in their turn";
}

TEST(FromCommand, WhatIsCutShortIsNoEnd) {
  const TemporaryFolder directory;
  directory.write("a", numbered_rows(9000));
  ReadOptions options = files({"a"});
  options.from_command = "cat " + (directory / "") + "%s; echo gone >&2; exit 56";
  const std::unique_ptr<RowReader> reader = open_reader(open_data(options));
  Batch batch;
  const Result<std::size_t> rows = reader->next(100000, batch);
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.status().message().find("a: the command ended with exit code 56, saying \"gone\""),
            std::string::npos)
      << rows.status().message();
  options.from_command = "cat file";
  EXPECT_NE(DataSet::open(options).status().message().find("expected %s"), std::string::npos);
  options.from_command = "cat %s";
  options.paths = {"-"};
  EXPECT_NE(DataSet::open(options).status().message().find("names for it"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
