// Rows that come by a pipe, through the program: they are read once.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

nlohmann::json told(const std::string& arguments) {
  const Ran ran = run(arguments + " --json --quiet");
  EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
  return ran.code == 0 ? nlohmann::json::parse(ran.out) : nlohmann::json();
}

TEST(Pipe, ARowOfAFieldThatTheModelHasNotIsABadRow) {
  const TemporaryFolder folder;
  const std::string rows = folder.write("rows.ffm", "1 0:1:1 1:2:1\n0 0:3:1 9:4:1\n0 1:2:1\n");
  const std::string job = "train --model ffm --fields 2 --keep-bad ";
  const Ran refused = run(job + "- <" + rows);
  EXPECT_EQ(refused.code, 4);
  EXPECT_NE(refused.err.find("standard input:2:1: saw \"field 9\", expected fields 0 to 1"),
            std::string::npos)
      << refused.err;
  const nlohmann::json skipped = told(job + "--on-bad-row skip:1 - <" + rows);
  EXPECT_EQ(skipped["examples"], 2);
  EXPECT_EQ(skipped["skipped_rows"], 1);
}

}  // namespace
}  // namespace thalweg
