// What a request cannot mean is refused by the name of what was given, before anything is done.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

class RefusedRequests : public testing::Test {
 protected:
  // Of a request that ends so, and says so.
  static void refuses(const std::string& request, int code, const std::string& why) {
    const Ran ran = run(request);
    EXPECT_EQ(ran.code, code) << request << "\n" << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << request << "\n" << ran.err;
  }
  std::string rows(const std::string& name = "rows.svm") const {
    return folder_.write(name, "1 1:1 2:1\n0 2:1 3:1\n1 1:1\n0 3:1\n");
  }
  const TemporaryFolder folder_;
};

TEST_F(RefusedRequests, VariablesOfRanksAreNoOptions) {
  const Ran ran = run("version", "THALWEG_COSTS_FILE=/costs.toml");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran rank = run("run -n 1 -- sh -c 'echo $THALWEG_COSTS_FILE'", "THALWEG_COSTS_FILE=/costs.toml");
  EXPECT_EQ(rank.out, "/costs.toml\n") << rank.err;
}

TEST_F(RefusedRequests, ARoomWithoutPlacesForSoManyRanksSaysSo) {
  const std::string room = folder_ / "room.toml";
  ASSERT_EQ(run("topo show --format toml pcie-box --ranks 2 >" + room).code, 0);
  for (const std::string command : {"simulate exchange", "topo plan"}) {
    const std::string request = command + " --topology " + room + " --ranks ";
    refuses(request + "3", 2, "room.toml has 2 ranks, and --ranks asks for 3");
    refuses(request + "3 --json", 2, "room.toml has 2 ranks, and --ranks asks for 3");
    EXPECT_EQ(run(request + "2").code, 0);
  }
  refuses("simulate exchange --topology " + room + " --ranks 2 --route servers:2", 2,
          "for 1 more as servers");
}

TEST_F(RefusedRequests, FlagsWithoutEffectAreRefused) {
  refuses("eval --model m --at 3 " + rows(), 2, "--at is of the rows of a group");
  refuses("bench exchange --route servers:1", 2, "--route servers:1: its servers contribute nothing");
  refuses("topo bench --ranks 4", 2, "--ranks is of the room that --room FILE writes");
  refuses("simulate faults --seeds 5:5", 2, "--seeds 5:5 has no seed");
}

TEST_F(RefusedRequests, NamesThatSayAnotherFormAreRefused) {
  const std::string model = folder_ / "model";
  ASSERT_EQ(run("train " + rows() + " --out " + model).code, 0);
  refuses("model export " + model + " -o " + (folder_ / "x.gz"), 2, "x.gz: what is written is not packed");
  refuses("topo show --svg " + (folder_ / "x.png") + " pcie-box", 2, "expected a name that ends in .svg");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.png"));
  refuses("train ''", 2, "a file's name is empty");
}

TEST_F(RefusedRequests, GroupsNeedAQueryInSomeRow) {
  const std::string model = folder_ / "model";
  ASSERT_EQ(run("train " + rows() + " --out " + model).code, 0);
  for (const std::string& second : {std::string(), " --model " + model})
    refuses("eval --by qid --model " + model + second + " " + rows(), 2, "--by qid: no row has one");
  const std::string some = folder_.write("some.svm", "1 qid:1 1:1\n0 qid:1 3:1\n1 2:1\n");
  EXPECT_EQ(run("eval --by qid --model " + model + " " + some).code, 0);
}

TEST_F(RefusedRequests, TheModelThatKnowsNothingOfTheRowsIsNamed) {
  const std::string model = folder_ / "model", other = folder_ / "other";
  ASSERT_EQ(run("train " + rows() + " --out " + model).code, 0);
  ASSERT_EQ(run("train " + folder_.write("far.svm", "1 91:1\n0 92:1\n") + " --out " + other).code, 0);
  const Ran ran = run("eval --model " + model + " --model " + other + " " + rows());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("the model " + other + " knows 0 %"), std::string::npos) << ran.err;
}

TEST_F(RefusedRequests, ErrorsNameWhatWasGiven) {
  const std::string train = "train " + rows();
  refuses(train + " --expire-after 3 --exchange ring", 2,
          "--expire-after makes no sense with --exchange ring");
  refuses(train + " --expire-after 3 --algorithm local:2", 2, "makes no sense with --algorithm local:2");
  refuses(train + " --patience 1 --keep last --valid-part 2", 2, "expected not --keep last");
  refuses(train + " --sweep rate=0 --valid-part 2", 2, "--sweep, rate=0: ftrl divides by it");
  refuses(train + " --exchange tree:0", 2, "--exchange tree:0");
  refuses(train + " --rate 0.3 --sweep rate=0.1,0.2 --valid-part 2", 2,
          "--rate 0.3 (flag --rate) and --sweep 'rate=0.1,0.2' both set rate");
}

TEST_F(RefusedRequests, AConfiguredRateIsTheWeakerWordThanASweep) {
  const std::string config = folder_.write("c.toml", "[train]\nlr = 0.3\n");
  const Ran ran = run("train " + rows() + " --config " + config + " --sweep rate=0.1,0.2 --valid-part 2");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(RefusedRequests, ATrialOfASweepThatFailsIsALine) {
  const Ran ran =
      run("train --loss squared --optimizer sgd --epochs 9 --sweep rate=0.01,1e30 --valid-part 2 " + rows());
  EXPECT_NE(ran.err.find("rate=1e+30"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("\\x0a"), std::string::npos) << ran.err;
}

TEST_F(RefusedRequests, NumbersOfColumnsAreShownAsTheyAreWritten) {
  const std::string csv = folder_.write("n.csv", "y,price\n1,651.36\n0,2.5\n1,3.5\n0,7.25\n");
  const Ran ran = run("train " + csv);
  EXPECT_NE(ran.err.find("651.36\n"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace thalweg
