#include <gtest/gtest.h>

#include <cstdio>

#include "base/temporary_folder_for_test.h"
#include "cli/program.h"

namespace thalweg {

extern const Command kDataHeadCommand;

namespace {

struct Said {
  int code;
  std::string out, err;
};

class ExtendedProgram : public testing::Test {
 protected:
  Said run(const std::vector<std::string>& words) const {
    std::FILE* out = std::fopen((folder_ / "out").c_str(), "w");
    std::FILE* err = std::fopen((folder_ / "err").c_str(), "w");
    const int code = run_program(words, {}, false, out, err, {&kDataHeadCommand, 1});
    std::fclose(out);
    std::fclose(err);
    return {code, read_text(folder_ / "out"), read_text(folder_ / "err")};
  }
  const TemporaryFolder folder_;
  const std::string rows_ = folder_.write("rows.svm", "1 3:1 4:1\n0 3:1\n1 4:1\n");
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(ExtendedProgram, RunsTheCommandByItsName) {
  Said said = run({"data", "head", rows_, "--rows", "2"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "1 with 2 entries\n0 with 1 entries\n");
  said = run({"data", "head", rows_, "--json"});
  EXPECT_TRUE(has(said.out, R"("rows":3)")) << said.out;
}

TEST_F(ExtendedProgram, HelpCompletionAndManualHaveIt) {
  EXPECT_TRUE(has(run({"help"}).out, "data head"));
  EXPECT_TRUE(has(run({"help", "data"}).out, "Show the first rows of the input"));
  const std::string help = run({"data", "head", "--help"}).out;
  for (const char* part : {"--rows N", "Rows to show [5]", "--format auto|libsvm", "--json"}) {
    EXPECT_TRUE(has(help, part)) << part << "\n" << help;
  }
  EXPECT_TRUE(has(run({"completion", "bash"}).out, "'data head'"));
  EXPECT_TRUE(has(run({"help", "--man"}).out, "For data head."));
  EXPECT_TRUE(has(run({"config", "show", "data", "head"}).out, "input.format"));
}

TEST_F(ExtendedProgram, MistakesAreExplainedAsForOthers) {
  EXPECT_TRUE(has(run({"data", "haed", rows_}).err, "did you mean 'thalweg data head'?"));
  EXPECT_TRUE(has(run({"data", "head", rows_, "--rows", "0"}).err,
                  "--rows: '0' is not a whole number from 1 to 1000"));
  EXPECT_TRUE(has(run({"data", "stats", rows_, "--rows", "3"}).err, "|data head\n"));
  EXPECT_EQ(run({"data", "head", folder_ / "none"}).code, 4);
}

}  // namespace
}  // namespace thalweg
