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

  // The block of the page is the file beside it; here it is run on fewer rows.
  void take_example(const std::string& name, std::string& toml) const {
    const std::string source = THALWEG_SOURCE;
    toml = file_text(source + "/examples/compare/" + name + ".toml");
    ASSERT_NE(file_text(source + "/docs/compare.md").find("```toml\n" + toml + "```"), std::string::npos);
    const std::size_t rows = toml.find("[\"") + 2, end = toml.find("\"]");
    ASSERT_LT(rows, end);
    toml.replace(rows, end - rows, rows_);
  }
  json runs_of(const std::string& toml, const std::string& flags = "") const {
    const Ran ran = compare(toml, "--json " + flags);
    EXPECT_EQ(ran.code, 0) << toml << "\n" << ran.err;
    return ran.code == 0 ? json::parse(ran.out)["runs"] : json();
  }

  const std::string rows_ = test_path("compare.svm"), file_ = test_path("compare.toml"),
                    directory_ = test_path("compared");
};

TEST_F(Compare, RunsTheExampleOfItsPage) {
  make_rows();
  std::string toml;
  ASSERT_NO_FATAL_FAILURE(take_example("algorithms", toml));
  const Ran ran = compare(toml, "--json --out " + directory_);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("; not saved\n"), std::string::npos) << ran.err;
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
  EXPECT_FALSE(fs::exists(directory_ + "/push-staleness.svg")) << "of simulated runs alone";
  for (const char* picture :
       {"loss-time", "loss-steps", "loss-bytes", "staleness", "target", "rate", "idle"}) {
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
  EXPECT_EQ(ran.err.find("\\x0a"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("\nhint: "), std::string::npos) << ran.err;
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
  refuses(head() + "epochs = 3\n" + one,
          ":2:1: there is no 'epochs' here; expected files, target, simulate, [base]");
  refuses(head() + "target = 3\n" + one, ":2:10: target is not one number");
  refuses(head() + "target = { loss = 3 }\n" + one, ":2:12: target has no 'loss'");
  refuses(head() + "target = { valid_accuracy = 3 }\n" + one,
          ":2:29: target.valid_accuracy is no such number");
  refuses(head() + "[base]\nepocs = 3\n" + one, ":3:1: [base] has no 'epocs'");
  refuses(head() + "[base]\nepochs = \"3\"\n" + one, ":3:10: epochs is a string, expected");
  refuses(head() + "[base]\nepochs = 0\n" + one, ":3:10: epochs: ");
  refuses(head() + one + "run-dir = \"x\"\n", ":4:1: [[run]] has no 'run-dir'");
  refuses(head() + one + "sweep = \"rate=0.1,0.2\"\n",
          ":4:1: [[run]] has 'sweep', which is several trainings");
  refuses(head() + "[base]\nsweep = 3\n" + one, ":3:1: [base] has 'sweep', which is several trainings");
  const std::string two = one + "[[run]]\nname = \"b\"\n";
  refuses(
      head() + "[base]\ncheckpoint = \"kept\"\n" + two,
      ":3: run b keeps its checkpoints in kept, as run a does; expected a checkpoint directory of its own");
  refuses(head() + one + "checkpoint = \"kept\"\n[[run]]\nname = \"b\"\ncheckpoint = \"kept\"\n",
          ":7: run b keeps its checkpoints in kept");
  refuses(head() + one + "checkpoint = \"kept\"\n[[run]]\nname = \"b\"\ncheckpoint = \"./kept/\"\n",
          ":7: run b keeps its checkpoints in ./kept/, as run a does");
  const std::string apart = "servers = 2\nprocesses = true\n";
  refuses(head() + "[base]\n" + apart + "state = \"kept\"\n" + two,
          ":5: run b keeps its state in kept, as run a does; expected a state directory of its own");
  refuses(head() + "[[run]]\nepochs = 3\n", ":2:1: a run without a name");
  refuses(head() + "[[run]]\nname = \"../a\"\n", ":3:8: name is not fit for a directory");
  refuses(head() + one + one, ":5:8: the run of " + file_ + ":2 is called a already");
  refuses(head() + one + "valid-part = 3\nvalid = \"x\"\n",
          ":2:1: run a: --valid x (" + file_ + ":5) cannot");
}

// A real training keeps its best pass, and the rest of its row tells of the last.
TEST_F(Compare, HeldOutRowsAreThoseOfTheLastPassHoweverItIsRun) {
  make_rows();
  const json runs =
      runs_of(head() +
                  "[base]\nvalid-part = 3\nepochs = 8\nrate = 1\ndata-shards = 2\n"
                  "[[run]]\nname = \"real\"\nworkers = 2\n"
                  "[[run]]\nname = \"simulated\"\nsimulate = { ranks = 2, compute = \"10ms\" }\n",
              "--out " + directory_);
  ASSERT_EQ(runs.size(), 2u);
  const json kept = json::parse(file_text(directory_ + "/real/result.json"))["result"];
  ASSERT_LT(kept["kept_epoch"], 8);
  EXPECT_GT(runs[0]["valid_loss"], kept["valid_loss"]);
  EXPECT_EQ(runs[0]["valid_loss"], runs[1]["valid_loss"]);
  EXPECT_EQ(runs[0]["valid_accuracy"], runs[1]["valid_accuracy"]);
}

TEST_F(Compare, RefusesASimulationThatCannotBeMeant) {
  const std::string one = "[[run]]\nname = \"a\"\n";
  const auto all = [&](const std::string& simulate) {
    return head() + "simulate = " + simulate + "\n" + one;
  };
  refuses(all("3"), ":2:12: simulate is no table; expected such as simulate = { ranks = 64");
  refuses(all("false"), ":2:12: simulate is no table");
  refuses(all("{ rank = 3 }"), ":2:14: simulate has no 'rank'; expected ranks, servers, ");
  refuses(all("{ ranks = 0 }"), ":2:22: simulate.ranks: ");
  refuses(all("{ ranks = \"3\" }"), ":2:22: simulate.ranks is a string, expected a whole number");
  refuses(all("{ compute = \"30 parsecs\" }"), ":2:24: simulate.compute: '30 parsecs' is no computing time");
  refuses(all("{ straggler = \"one\" }"), ":2:26: simulate.straggler: 'one' is no straggler; expected");
  refuses(all("{ latency = \"1 mile\" }"), ":2:24: simulate.latency: ");
  refuses(all("{ bandwidth = \"10Gbit/s\" }"), ":2:26: simulate.bandwidth: ");
  refuses(all("{ bandwidth = \"0\" }"),
          ":2:26: simulate.bandwidth: --bandwidth 0: expected bytes a second above 0");
  refuses(all("{ stop-after = \"0s\" }"), ":2:27: simulate.stop-after: ");
  refuses(all("{ room = \"rock\" }"), ":2:21: simulate.room: there is no preset 'rock'");
  refuses(head() + "[base]\nsimulate = {}\n" + one, ":3:1: simulate is no option of [base]");
  refuses(head() + one + "simulate = true\n", ":4:12: simulate is no table");
  refuses(head() + one + "simulate = {}\nprocesses = true\n", ":5: run a is simulated, and processes is of");
  refuses(head() + one + "simulate = { ranks = 8 }\ndata-shards = 4\n",
          ":2:1: run a: --workers 8 (" + file_ + ":4) is more than --data-shards 4 (" + file_ + ":5)");
}

TEST_F(Compare, SimulatesRunsAndHasTheSameBitsAgain) {
  make_rows();
  std::string toml;
  ASSERT_NO_FATAL_FAILURE(take_example("stragglers", toml));
  toml.replace(toml.find("valid_loss = 0.5"), 16, "valid_loss = 0.69");  // There are fewer rows here.
  toml.replace(toml.find("batch = 512"), 11, "batch = 128");
  const json runs = runs_of(toml, "--out " + directory_);
  const auto file = [&](const std::string& name) { return file_text(directory_ + "/" + name); };
  const auto numbers = [&] {
    std::string all;
    for (const char* name : {"runs.csv", "curves.csv", "staleness.csv", "sync/metrics.jsonl",
                             "backup-2/metrics.jsonl", "softsync-1/metrics.jsonl"})
      all += file(name);
    return all;
  };
  const std::string once = numbers();
  ASSERT_EQ(runs.size(), 3u);
  for (const json& one : runs) {
    EXPECT_TRUE(one["simulated"]);
    EXPECT_EQ(one["steps"], runs[0]["steps"]);
    EXPECT_EQ(one["target_steps"].get<double>() * 3, one["steps"].get<double>()) << "after the first pass";
  }
  // A step of the stragglers takes 120 ms. Two in 64 are slow, and as many a step does not wait for.
  EXPECT_GT(runs[0]["seconds"], runs[0]["steps"].get<double>() * 0.12);
  EXPECT_LT(runs[1]["seconds"], 0.5 * runs[0]["seconds"].get<double>());
  EXPECT_LT(runs[1]["idle_share"], runs[0]["idle_share"]);
  EXPECT_EQ(runs[0]["staleness_max"], 0);
  EXPECT_GT(runs[2]["staleness_max"], 0);
  EXPECT_NE(file("loss-time.svg").find("simulated seconds"), std::string::npos);
  EXPECT_NE(file("target.svg").find("simulated seconds"), std::string::npos);
  EXPECT_NE(file("rate.svg").find("rows a simulated second"), std::string::npos);
  EXPECT_NE(file("push-staleness.svg").find("softsync-1"), std::string::npos);
  EXPECT_NE(file("push-staleness.csv").find("\nsync,0,"), std::string::npos);
  EXPECT_NE(file("push-staleness.csv").find("\nsoftsync-1,1,"), std::string::npos);
  EXPECT_NE(file("staleness.svg").find("8-15"), std::string::npos) << "many leads share bars";
  EXPECT_EQ(json::parse(file("sync/config.json"))["compute"]["value"], "lognormal(30ms, 0.3)");
  EXPECT_EQ(json::parse(file("sync/result.json"))["simulated"], true);
  EXPECT_EQ(json::parse(file("sync/result.json"))["seconds"], runs[0]["seconds"]);
  fs::remove_all(directory_);
  EXPECT_EQ(runs_of(toml, "--out " + directory_), runs);
  EXPECT_EQ(numbers(), once);
  toml.replace(toml.find("epochs"), 0, "seed = 2\n");
  EXPECT_NE(runs_of(toml)[0]["seconds"], runs[0]["seconds"]);
}

TEST_F(Compare, SimulatesOneRunBesideARealOne) {
  make_rows();
  const std::string toml =
      head() + "simulate = { ranks = 4, compute = \"1s\" }\n[base]\ndata-shards = 4\n" +
      "[[run]]\nname = \"simulated\"\n[[run]]\nname = \"slow\"\nsimulate = { compute = \"2s\" }\n" +
      "[[run]]\nname = \"real\"\nsimulate = false\n";
  const Ran shown = compare(toml, "--out " + directory_);
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.err.find("some of these runs are simulated"), std::string::npos) << shown.err;
  EXPECT_NE(shown.out.find("slow (simulated) "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\nreal  "), std::string::npos) << shown.out;
  EXPECT_NE(file_text(directory_ + "/loss-time.svg").find("slow (simulated), training"), std::string::npos);
  const auto result = [&](const std::string& name) {
    return json::parse(file_text(directory_ + "/" + name + "/result.json"));
  };
  EXPECT_EQ(result("simulated")["result"]["model_digest"], result("real")["result"]["model_digest"]);
  EXPECT_NEAR(result("slow")["seconds"], 2 * result("simulated")["seconds"].get<double>(), 0.1);
  EXPECT_FALSE(result("real").contains("simulated"));
  const Ran plot = run("plot loss " + directory_ + "/slow");
  EXPECT_NE(plot.out.find("slow (simulated), training"), std::string::npos) << plot.err;
}

TEST_F(Compare, SaysWhatCannotBeSimulatedBeforeTheFirstRun) {
  make_rows();
  const Ran ran = compare(head() + "simulate = { room = \"rack-10g\" }\n[[run]]\nname = \"a\"\n" +
                          "[[run]]\nname = \"b\"\nsimulate = { latency = \"1ms\" }\n");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find(":5: run b: --room rack-10g (" + file_ + ":2) cannot be combined with --latency"),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(ran.err.find("run a"), std::string::npos) << ran.err;
}

TEST_F(Compare, RefusesNamesThatItsOwnFilesHave) {
  const std::string why = ":3:8: ";
  for (const std::string name : {"runs.csv", "rate.svg", "loss-time.png", "curves.csv.part"})
    refuses(head() + "[[run]]\nname = \"" + name + "\"\n",
            why + name + " is a name as files of the comparison");
  refuses(head() + "[base]\nlr = 0.1\nrate = 0.2\n[[run]]\nname = \"a\"\n",
          ":4:1: rate is given twice, in " + file_ + ":3 too");
  make_rows();
  EXPECT_EQ(runs_of(head() + "[[run]]\nname = \"a\"\nlearning-rate = 0.1\n").size(), 1u);
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
