// `thalweg compare` by the program: the example of docs/compare.md in small, and what it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/run_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string file_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Compare : public testing::Test {
 protected:
  ~Compare() override {
    for (const std::string& path : {rows_, file_}) std::remove(path.c_str());
    fs::remove_all(directory_);
  }
  void make_rows() const { ASSERT_EQ(run("data synth --rows 4000 -o " + rows_).code, 0); }
  Ran compare(const std::string& toml, const std::string& flags = "", const std::string& before = "") const {
    std::ofstream(file_) << toml;
    return run("compare " + file_ + " " + flags, before);
  }
  // Of a file that is refused: its code is 3, and all that `error` says of it, and nothing else, is there.
  void refuses(const std::string& toml, const std::string& error) const {
    const Ran ran = compare(toml);
    EXPECT_EQ(ran.code, 3) << toml << "\n" << ran.err;
    EXPECT_NE(ran.err.find(file_ + error), std::string::npos) << toml << "\n" << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  std::string head() const { return "files = [\"" + rows_ + "\"]\n"; }

  const std::string rows_ = test_path("compare.svm"), file_ = test_path("compare.toml"),
                    directory_ = test_path("compared");
};

// The block of the page is the file beside it; here it is run on fewer rows.
TEST_F(Compare, RunsTheExampleOfItsPage) {
  make_rows();
  const std::string source = THALWEG_SOURCE;
  std::string toml = file_text(source + "/examples/compare/algorithms.toml");
  ASSERT_NE(file_text(source + "/docs/compare.md").find("```toml\n" + toml + "```"), std::string::npos);
  const std::size_t name = toml.find("rows.svm");
  ASSERT_NE(name, std::string::npos);
  toml.replace(name, 8, rows_);
  const Ran ran = compare(toml, "--json --out " + directory_);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json runs = json::parse(ran.out)["runs"];
  ASSERT_EQ(runs.size(), 3u);
  for (const json& one : runs) {
    EXPECT_EQ(one["code"], "OK");
    EXPECT_GT(one["steps"], 0);
    EXPECT_GT(one["bytes_sent"], 0);
    EXPECT_LT(one["valid_loss"], 0.7);
    EXPECT_LE(one["idle_share"], 1);
    const std::string directory = directory_ + "/" + one["run"].get<std::string>();
    EXPECT_EQ(json::parse(file_text(directory + "/result.json"))["result"]["steps"], one["steps"]);
  }
  EXPECT_EQ(runs[0]["run"], "sync");
  EXPECT_EQ(runs[0]["staleness_max"], 0);
  EXPECT_LE(runs[1]["staleness_max"], 4);
  for (const char* picture : {"loss-time", "loss-steps", "staleness", "idle"}) {
    EXPECT_EQ(file_text(directory_ + "/" + picture + ".svg").substr(0, 5), "<?xml") << picture;
    EXPECT_EQ(file_text(directory_ + "/" + picture + ".png").substr(1, 3), "PNG") << picture;
  }
  EXPECT_NE(file_text(directory_ + "/loss-time.svg").find("ssp-4, held out"), std::string::npos);
  EXPECT_EQ(file_text(directory_ + "/runs.csv").substr(0, 24), "run,code,target_seconds,");
  EXPECT_NE(file_text(directory_ + "/curves.csv").find("\nasync,"), std::string::npos);
  EXPECT_NE(file_text(directory_ + "/staleness.csv").find("\nsync,0,0,"), std::string::npos);
}

TEST_F(Compare, SaysWhenTheTargetWasMet) {
  make_rows();
  const std::string base = "[base]\nvalid-part = 10\nepochs = 2\n[[run]]\nname = \"one\"\n";
  const Ran met = compare(head() + "target = { valid_loss = 0.69 }\n" + base, "--json");
  ASSERT_EQ(met.code, 0) << met.err;
  const json one = json::parse(met.out)["runs"][0];
  EXPECT_EQ(one["target_steps"].get<double>() * 2, one["steps"].get<double>())
      << "after the first pass of two";
  EXPECT_LE(one["target_seconds"], one["seconds"]);
  EXPECT_LE(one["target_bytes"], one["bytes_sent"]);
  const Ran missed = compare(head() + "target = { valid_accuracy = 1 }\n" + base, "--json");
  ASSERT_EQ(missed.code, 0) << missed.err;
  EXPECT_TRUE(json::parse(missed.out)["runs"][0]["target_steps"].is_null());
  const Ran shown = compare(head() + "target = { valid_accuracy = 1 }\n" + base);
  EXPECT_NE(shown.out.find("to target: s"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\none "), std::string::npos) << shown.out;
}

TEST_F(Compare, RunsProcessesWhereAsked) {
  make_rows();
  const Ran ran =
      compare(head() +
                  "[base]\nworkers = 2\n[[run]]\nname = \"threads\"\n[[run]]\nname = \"processes\"\n"
                  "processes = true\n",
              "--out " + directory_);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto digest = [&](const std::string& name) {
    return json::parse(file_text(directory_ + "/" + name + "/result.json"))["result"]["model_digest"];
  };
  EXPECT_EQ(digest("threads"), digest("processes"));
}

TEST_F(Compare, ADivergingRunIsAResult) {
  make_rows();
  const Ran ran =
      compare(head() +
                  "[[run]]\nname = \"wild\"\nloss = \"squared\"\noptimizer = \"sgd\"\nrate = 1e30\n"
                  "[[run]]\nname = \"tame\"\n",
              "--json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json runs = json::parse(ran.out)["runs"];
  EXPECT_EQ(runs[0]["code"], "NON_FINITE");
  EXPECT_EQ(runs[1]["code"], "OK");
}

TEST_F(Compare, RefusesAFileThatSaysWhatItCannotMean) {
  const std::string one = "[[run]]\nname = \"a\"\n";
  refuses("files = [\n", ":1:11: ");
  refuses(one, ": files is missing");
  refuses("files = \"rows.svm\"\n" + one, ":1:9: files is no list of names");
  refuses("files = [\"-\"]\n" + one, ":1:10: files names standard input");
  refuses(head(), ": there is no run; expected [[run]]");
  refuses(head() + "epochs = 3\n" + one, ":2:1: there is no 'epochs' here; expected files, target, [base]");
  refuses(head() + "target = 3\n" + one, ":2:10: target is not one number");
  refuses(head() + "target = { loss = 3 }\n" + one, ":2:12: target has no 'loss'");
  refuses(head() + "target = { valid_accuracy = 3 }\n" + one,
          ":2:29: target.valid_accuracy is no such number");
  refuses(head() + "[base]\nepocs = 3\n" + one, ":3:1: [base] has no 'epocs'");
  refuses(head() + "[base]\nepochs = \"3\"\n" + one, ":3:10: epochs is a string, expected");
  refuses(head() + "[base]\nepochs = 0\n" + one, ":3:10: epochs: ");
  refuses(head() + one + "run-dir = \"x\"\n", ":4:1: [[run]] has no 'run-dir'");
  refuses(head() + "[[run]]\nepochs = 3\n", ":2:1: a run without a name");
  refuses(head() + "[[run]]\nname = \"../a\"\n", ":3:8: name is not fit for a directory");
  refuses(head() + one + one, ":5:8: the run of " + file_ + ":2 is called a already");
  refuses(head() + one + "valid-part = 3\nvalid = \"x\"\n",
          ":2:1: run a: --valid x (" + file_ + ":5) cannot");
  refuses(head() + "simulate = { ranks = 512 }\n" + one, ":2:1: simulate: ");
  refuses(head() + one + "simulate = { ranks = 512 }\n", ":4:1: simulate: ");
}

TEST_F(Compare, LooksAtAllRunsBeforeTheFirst) {
  make_rows();
  const std::string two = "[[run]]\nname = \"a\"\n[[run]]\nname = \"b\"\n";
  refuses(head() + "target = { valid_loss = 0.5 }\n" + two, ":2: target: run a holds out no rows");
  const Ran ran = compare(head() + two + "algorithm = \"nonesuch\"\n", "--out " + directory_);
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find(file_ + ":4: run b: "), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(directory_));
  fs::create_directory(directory_);
  std::ofstream(directory_ + "/mine") << "1";
  EXPECT_EQ(compare(head() + two, "--out " + directory_).code, 2);
  fs::remove_all(directory_);
  const Ran without = compare(head() + two, "--out " + directory_, "PATH=/nowhere");
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(without.err.find("apt-get install gnuplot-nox"), std::string::npos) << without.err;
}

}  // namespace
}  // namespace thalweg
