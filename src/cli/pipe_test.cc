// Rows that come by a pipe, through the program: they are read once.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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

TEST(Pipe, RowsOfColumnsHaveTheirFieldsAndOthersMustBeToldOf) {
  const TemporaryFolder folder;
  std::string csv = "site,ad,click\n";
  for (int row = 0; row < 300; ++row) {
    csv += "s" + std::to_string(row % 7) + ",a" + std::to_string(row % 3) + (row % 7 < 3 ? ",1\n" : ",0\n");
  }
  const std::string job = "train --model ffm --batch 100 --data-shards 1 --keep-bad ";
  const std::string rows = folder.write("rows.csv", csv), criteo = folder / "rows.tsv";
  const std::string ffm = folder.write("rows.ffm", "1 0:1:1 1:2:1\n0 0:3:1 1:4:1\n");
  EXPECT_EQ(run("data synth --rows 300 --format criteo -o " + criteo).code, 0);
  for (const auto& [file, fields] : {std::pair(rows, "2"), {criteo, "39"}}) {
    const nlohmann::json piped = told(job + "- <" + file);
    EXPECT_EQ(piped["model_digest"], told(job + "--fields " + fields + " - <" + file)["model_digest"]);
    EXPECT_EQ(piped["model_digest"], told(job + file)["model_digest"]);
  }
  const Ran open = run(job + "- <" + ffm);
  EXPECT_EQ(open.code, 2);
  EXPECT_NE(open.err.find("--fields must be given when ffm learns from libffm rows of a pipe"),
            std::string::npos)
      << open.err;
}

}  // namespace
}  // namespace thalweg
