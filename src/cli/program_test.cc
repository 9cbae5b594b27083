// The built program from outside: exit codes, streams, messages.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/path_for_test.h"
#include "cli/run_for_test.h"
#include "cli/view/output.h"

namespace thalweg {
namespace {

nlohmann::json last_line(const std::string& out) {
  const std::size_t end = out.find_last_not_of('\n');
  const std::size_t start = out.rfind('\n', end);
  return nlohmann::json::parse(out.substr(start == out.npos ? 0 : start + 1), nullptr, false);
}

TEST(Program, UnknownCommandsComeWithTheNearest) {
  for (const std::string words : {"trian", "help trian", "config show trian"}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("did you mean 'thalweg train'?"), std::string::npos) << ran.err;
  }
  EXPECT_NE(run("model --json").err.find("needs a second word"), std::string::npos);
  EXPECT_EQ(run("train x --sync ssp:-1").err.find("ssp:S'?"), std::string::npos);
}

TEST(Program, AlgorithmsAreExplainedWithoutInputAndOneOfTwoSpellingsIsTaken) {
  const Ran help = run("train --algorithm help");
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_EQ(help.out.find("sync "), 0u) << help.out;
  EXPECT_NE(help.out.find("\nssp:S "), std::string::npos) << help.out;
  EXPECT_EQ(last_line(run("train --algorithm help --json").out).at("help"), help.out);
  EXPECT_EQ(run("predict --algorithm help").code, 2);
  for (const std::string words : {"train x --algorithm ssp:4 --sync ssp:4", "train x --algorithm ssp"}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << words;
    EXPECT_NE(ran.err.find("--algorithm"), std::string::npos) << ran.err;
  }
}

TEST(Program, NothingIsWrittenOverItsInput) {
  const std::string folder = test_path("over");
  const std::string path = folder + "/train.svm";
  const std::string rows = "1 1:1\n0 2:1\n1 1:1\n0 2:1\n";
  std::filesystem::create_directory(folder);
  std::ofstream(path) << rows;
  EXPECT_EQ(run("train '" + path + "' --out '" + folder + "/model'").code, 0);
  for (const std::string& words :
       {"data split '" + path + "' --valid-part 2 --out '" + folder + "/model/..'",
        "predict --model '" + folder + "/model' '" + path + "' -o '" + folder + "/./train.svm'"}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("would be written over the input"), std::string::npos) << ran.err;
    std::stringstream left;
    left << std::ifstream(path).rdbuf();
    EXPECT_EQ(left.str(), rows);
  }
  std::filesystem::remove_all(folder);
}

TEST(Program, AHeldOutPartWithoutRowsIsSaidAndNull) {
  const std::string path = test_path("few.svm");
  std::ofstream(path) << "1 1:1\n0 2:1\n";
  const Ran ran = run("train '" + path + "' --valid-part 10 --json");
  std::remove(path.c_str());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("--valid-part 10 held out no row"), std::string::npos) << ran.err;
  const nlohmann::json summary = last_line(ran.out);
  for (const char* field : {"valid_auc", "valid_logloss", "best_epoch", "valid_calibration"}) {
    EXPECT_TRUE(summary.at(field).is_null()) << field;
  }
}

TEST(Program, RowsThatTellLittleAreSaid) {
  const std::string path = test_path("ones.svm");
  std::ofstream(path) << "1 1:1\n1 2:1\n";
  const Ran ran = run("train '" + path + "' --valid '" + path + "'");
  std::remove(path.c_str());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("ones.svm is both trained on and held out"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("measured on have the label 1"), std::string::npos) << ran.err;
}

TEST(Program, ExitCodesFollowTheCause) {
  EXPECT_EQ(run("version").code, 0);
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("nonsense").code, 2);
  EXPECT_EQ(run("version --nonsense").code, 2);
  EXPECT_EQ(run("version extra").code, 2);
  EXPECT_EQ(run("version --config /does/not/exist").code, 3);
  EXPECT_EQ(run("version", "THALWEG_NONSENSE=1").code, 3);
  EXPECT_EQ(run("version", "THALWEG_EPOCHS=many").code, 3);
  EXPECT_EQ(run("completion tcsh").code, 2);
  EXPECT_EQ(run("version >/dev/full").code, 1);
}

TEST(Program, ErrorsGoToStandardErrorInOneForm) {
  const Ran ran = run("version --depps");
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "thalweg: USAGE: '--depps' is not a flag of thalweg version\nhint: did you mean '--deps'?\n");
}

TEST(Program, JsonEndsStandardOutputWhateverHappens) {
  EXPECT_TRUE(last_line(run("version --json").out).contains("version"));
  EXPECT_TRUE(last_line(run("doctor --json").out).contains("checks"));
  EXPECT_TRUE(last_line(run("help --json").out).contains("help"));
  EXPECT_TRUE(last_line(run("version --help --json").out).contains("help"));
  EXPECT_TRUE(last_line(run("completion bash --json").out).contains("script"));
  const auto error = last_line(run("version --depps --json").out)["error"];
  EXPECT_EQ(error["code"], "USAGE");
  EXPECT_EQ(error["hint"], "did you mean '--deps'?");
  EXPECT_EQ(last_line(run("version", "THALWEG_JSON=1").out).contains("version"), true);
  EXPECT_TRUE(last_line(run("nonsense --json --set $'\\xff'").out).contains("error"));
}

TEST(Program, DoctorWarnsOfMoreThreadsThanCores) {
  const auto threads = [](const std::string& flags, const std::string& variables) {
    const auto told = last_line(run("doctor --json" + flags, variables).out);
    for (const auto& check : told["checks"]) {
      if (check["name"] == "threads") return check;
    }
    return nlohmann::json();
  };
  const std::string none = "OMP_NUM_THREADS= OPENBLAS_NUM_THREADS= MKL_NUM_THREADS= ";
  EXPECT_EQ(threads("", none)["verdict"], "ok");
  EXPECT_EQ(threads(" --threads 1", none + "OMP_NUM_THREADS=1,1")["verdict"], "ok");
  for (const std::string name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    const auto check = threads("", none + name + "=4000");
    EXPECT_EQ(check["verdict"], "slow") << name;
    EXPECT_NE(check["advice"].get<std::string>().find("set " + name + " to "), std::string::npos) << check;
  }
  EXPECT_EQ(threads(" --threads 1024", none)["verdict"], "slow");
}

TEST(Program, ConfigShowPrintsAFileThatConfigReads) {
  const std::string path = test_path("program_test.toml");
  const std::string flags =
      " --set train.rate=0.25 --set input.valid='a \"b\".svm' --set cluster.sync=ssp:4 ";
  EXPECT_EQ(run("config show" + flags + ">" + path).code, 0);
  const Ran from_flags = run("config show --json" + flags);
  const Ran from_file = run("config show --json --config " + path);
  auto one = last_line(from_flags.out)["options"], two = last_line(from_file.out)["options"];
  ASSERT_TRUE(one.is_object() && two.is_object()) << from_file.err;
  EXPECT_EQ(one["train.rate"]["value"], 0.25);
  EXPECT_EQ(one["train.rate"]["origin"], "--set train.rate");
  for (auto& [key, shown] : one.items()) {
    if (key != "output.json") {
      EXPECT_EQ(shown["value"], two[key]["value"]) << key;
    }
  }
  EXPECT_NE(run("config show --origin", "THALWEG_EPOCHS=7").out.find("train.epochs = 7"), std::string::npos);
  std::remove(path.c_str());
}

TEST(Program, ShowsMachineRooms) {
  const auto room = last_line(run("topo show dgx1v --json").out);
  EXPECT_EQ(room["ranks"], 8);
  EXPECT_EQ(room["rings"].size(), 2u);
  EXPECT_NEAR(room["tree_bytes_per_second"].get<double>(), 24.0 / 7 * 18e9, 1e3);
  const std::string path = test_path("room.toml"), picture = test_path("room.svg");
  EXPECT_EQ(run("topo show rack-10g --ranks 8 --format toml >" + path).code, 0);
  EXPECT_EQ(last_line(run("topo show --json " + path).out)["links"],
            last_line(run("topo show --json --ranks 8 rack-10g").out)["links"]);
  EXPECT_NE(run("topo show " + path).out.find("levels: 4 x 2; 2 machines"), std::string::npos);
  EXPECT_EQ(run("topo show --ranks 9 " + path).code, 2);
  EXPECT_EQ(run("topo show no-such-room").code, 2);
  EXPECT_EQ(run("topo show '" THALWEG_PROGRAM "'").code, 3);
  EXPECT_EQ(run("topo show dgx1v --ranks 9").code, 2);
  const Ran without = run("topo show dgx1v --svg " + picture, "PATH=/nowhere");
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(without.err.find("apt-get install graphviz"), std::string::npos) << without.err;
  EXPECT_EQ(run("topo show dgx1v --svg " + picture).code, 0);
  std::stringstream svg;
  svg << std::ifstream(picture).rdbuf();
  EXPECT_NE(svg.str().find("gpu7"), std::string::npos);
  std::remove(picture.c_str());
  std::remove(path.c_str());
}

TEST(Program, BadInputIsADataError) {
  EXPECT_EQ(run("data check /does/not/exist").code, 4);
  EXPECT_EQ(run("data check /").code, 4);
  EXPECT_EQ(run("data check '" THALWEG_PROGRAM "'").code, 4);
  EXPECT_EQ(run("data check /dev/null").code, 4);
  EXPECT_EQ(run("data check").code, 2);
  EXPECT_EQ(run("data stats /dev/null").code, 4);
  EXPECT_EQ(run("data split some.svm").code, 2);
  EXPECT_EQ(run("data synth --rows 10 -o /does/not/exist/a").code, 1);
  EXPECT_EQ(run("data synth --rows 1000 -o /dev/full").code, 1);
}

TEST(Program, PlainTextGetsNoNameOfWhatIsPacked) {
  const std::string rows = test_path("few.svm"), model = test_path("few_model");
  EXPECT_EQ(run("data synth --rows 20 -o " + rows).code, 0);
  EXPECT_EQ(run("train --keep-bad --out " + model + " " + rows).code, 0);
  for (const std::string ending : {"gz", "bz2", "xz", "zst"}) {
    const std::string path = test_path("plain." + ending);
    for (const std::string& command :
         {std::string("data synth --rows 10"), "predict --model " + model + " " + rows}) {
      const Ran refused = run(command + " -o " + path);
      EXPECT_EQ(refused.code, 2) << command;
      EXPECT_NE(refused.err.find("expected a name without ." + ending), std::string::npos) << refused.err;
      EXPECT_NE(refused.err.find("hint: "), std::string::npos) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(path));
    }
  }
  std::filesystem::remove_all(model);
  std::remove(rows.c_str());
}

TEST(Program, APartThatHoldsOutNoRowIsWarnedOf) {
  const std::string path = test_path("few.svm"), parts = test_path("few_parts");
  EXPECT_EQ(run("data synth --rows 20 -o " + path).code, 0);
  const Ran none = run("data split --valid-part 100 --out " + parts + " " + path);
  EXPECT_EQ(none.code, 0);
  EXPECT_NE(none.err.find("few_parts/valid.svm has no rows: --valid-part 100 "), std::string::npos)
      << none.err;
  const Ran two = run("data split --force --valid-part 10 --out " + parts + " " + path);
  EXPECT_EQ(two.err.find("has no rows"), std::string::npos) << two.err;
  std::filesystem::remove_all(parts);
  std::remove(path.c_str());
}

TEST(Program, ChecksWhatItMakes) {
  const std::string path = test_path("program_test.svm");
  EXPECT_EQ(last_line(run("data synth --rows 500 --json -o " + path).out)["rows"], 500);
  EXPECT_EQ(last_line(run("data check --json " + path).out)["rows"], 500);
  EXPECT_EQ(last_line(run("data stats --json " + path).out)["entries"], 500 * 39);
  const std::string parts = test_path("parts");
  const auto split = last_line(run("data split --json --valid-part 10 --out " + parts + " " + path).out);
  EXPECT_EQ(split["valid_rows"], 50);
  EXPECT_EQ(last_line(run("data check --json " + parts + "/train.svm").out)["rows"], 450);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parts), {}), 2);
  const std::string again = "data split --valid-part 5 --out " + parts + " " + path;
  const Ran refused = run(again);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("parts/train.svm is there already"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--force"), std::string::npos);
  EXPECT_EQ(last_line(run("data check --json " + parts + "/train.svm").out)["rows"], 450);
  EXPECT_EQ(run(again + " --force").code, 0);
  EXPECT_EQ(last_line(run("data check --json " + parts + "/train.svm").out)["rows"], 400);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(parts), {}), 2);
  std::filesystem::remove_all(parts);
  std::ofstream(path, std::ios::app) << "maybe 1:1\n";
  EXPECT_EQ(run("data check " + path).code, 4);
  EXPECT_NE(run("data check " + path).err.find(":501:1: saw \"maybe\""), std::string::npos);
  EXPECT_EQ(run("data check --on-bad-row skip:1 " + path).code, 0);
  std::remove(path.c_str());
}

TEST(Program, WhatIsTrainedWithHashedKeysIsScoredWithThem) {
  const std::string rows = test_path("hashed.svm"), model = test_path("model");
  EXPECT_EQ(run("data synth --rows 2000 -o " + rows).code, 0);
  const Ran trained = run("train " + rows + " --valid " + rows + " --hash-bits 12 --json --out " + model);
  EXPECT_EQ(trained.code, 0) << trained.err;
  const auto scored = last_line(run("eval --json --model " + model + " " + rows).out);
  EXPECT_NEAR(scored["logloss"].get<double>(), last_line(trained.out)["valid_logloss"].get<double>(), 1e-9);
  EXPECT_EQ(run("predict --hash-bits 13 --model " + model + " " + rows).code, 2);
  EXPECT_EQ(run("train /does/not/exist").code, 4);
  std::filesystem::remove_all(model);
  std::remove(rows.c_str());
}

TEST(Program, CodesMapToExitCodes) {
  EXPECT_EQ(exit_code(Code::kOk), 0);
  EXPECT_EQ(exit_code(Code::kUsage), 2);
  EXPECT_EQ(exit_code(Code::kConfig), 3);
  EXPECT_EQ(exit_code(Code::kData), 4);
  EXPECT_EQ(exit_code(Code::kPeerLost), 5);
  EXPECT_EQ(exit_code(Code::kTimeout), 6);
  EXPECT_EQ(exit_code(Code::kNonFinite), 7);
  EXPECT_EQ(exit_code(Code::kModel), 8);
  EXPECT_EQ(exit_code(Code::kAborted), 130);
}

TEST(Program, SimulatesFaultsTheSameWayEachTime) {
  const Ran first = run("simulate faults --seeds 3:13 --json"),
            second = run("simulate faults --seeds 3:13 --json");
  ASSERT_EQ(first.code, 0) << first.err;
  const auto object = last_line(first.out);
  EXPECT_EQ(object["seeds"], 10);
  EXPECT_EQ(object["violations"], 0);
  EXPECT_EQ(object["trace_hash"], last_line(second.out)["trace_hash"]);
  EXPECT_NE(object["trace_hash"], last_line(run("simulate faults --seeds 4:14 --json").out)["trace_hash"]);
}

TEST(Program, SimulatesFaultsOfGroups) {
  const Ran first = run("simulate faults --groups --seeds 3:13 --json"),
            second = run("simulate faults --groups --seeds 3:13 --json");
  ASSERT_EQ(first.code, 0) << first.err;
  const auto object = last_line(first.out);
  EXPECT_EQ(object["seeds"], 10);
  EXPECT_EQ(object["violations"], 0);
  EXPECT_GE(object["groups"], 10);
  EXPECT_EQ(object["trace_hash"], last_line(second.out)["trace_hash"]);
  const Ran traced = run("simulate faults --groups --replay 4 --trace");
  ASSERT_EQ(traced.code, 0) << traced.err;
  for (const char* what : {"the plan: ", "group 0 forms: 0 1", " begins "})
    EXPECT_NE(traced.err.find(what), std::string::npos) << what;
}

TEST(Program, SimulatesQuorums) {
  const Ran first = run("simulate quorum --seeds 3:33 --json"),
            second = run("simulate quorum --seeds 3:33 --json");
  ASSERT_EQ(first.code, 0) << first.err;
  const auto object = last_line(first.out);
  EXPECT_EQ(object["seeds"], 30);
  EXPECT_EQ(object["violations"], 0);
  EXPECT_GT(object["hints_delivered"], 0);
  EXPECT_EQ(object["trace_hash"], last_line(second.out)["trace_hash"]);
  const Ran traced = run("simulate quorum --replay 4 --trace");
  ASSERT_EQ(traced.code, 0) << traced.err;
  for (const char* what : {"the plan: ", "put of key ", "write reply of key ", "compare of key "})
    EXPECT_NE(traced.err.find(what), std::string::npos) << what;
  EXPECT_EQ(run("simulate quorum --seeds 4:3").code, 2);
}

// The run that a failure's hint names: one line for each frame that arrives, and for each fault.
TEST(Program, ReplaysASeedWithAReadableTrace) {
  const Ran ran = run("simulate faults --replay 1 --trace");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* what : {"the plan: ", "newcomer-0 -> ", "join as worker", "welcome, server-0",
                           "map 1: 0@worker-", "worker-0 -> server-0", "worker-1 -x scheduler", "(cut off)",
                           "push table 0 shard ", "pull-reply", "** clog of "})
    EXPECT_NE(ran.err.find(what), std::string::npos) << what;
}

// A seed runs with less of what it means.
void expect_smaller(const std::string& replay, const std::string& reduced) {
  const Ran whole = run(replay + " --json");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Ran less = run(replay + " --reduced " + reduced + " --json");
  ASSERT_EQ(less.code, 0) << less.err;
  EXPECT_LT(last_line(less.out)["events"], last_line(whole.out)["events"]);
}

void expect_refused(const std::string& command, const std::string& why) {
  const Ran refused = run(command);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
}

TEST(Program, ReplaysASeedWithLessOfItsCluster) {
  expect_smaller("simulate faults --schedulers --replay 2", "workers=1,shards=1,steps=1");
  expect_refused("simulate faults --replay 2 --reduced nothing",
                 "--reduced: 'nothing' names what this seed's cluster does not have, which is: ");
  for (const char* wrong : {"--seeds 1:3 --reduced drop", "--replay 2 --groups --reduced drop",
                            "--replay 2 --restarts --reduced epochs=1", "--replay 2 --reduced workers=x"})
    EXPECT_EQ(run(std::string("simulate faults ") + wrong).code, 2) << wrong;
}

TEST(Program, ReplaysASeedWithLessOfItsGroup) {
  expect_smaller("simulate faults --groups --replay 4", "operations=1,ranks=3");
  expect_refused("simulate faults --groups --replay 4 --reduced drop",
                 "--reduced: 'drop' names what this seed's group does not have, which is: ");
}

TEST(Program, ReplaysASeedWithLessOfItsLives) {
  expect_smaller("simulate faults --restarts --replay 2", "life.1,life.2,shards=1,passes=1");
  expect_refused("simulate faults --restarts --replay 2 --reduced life.0,life.1,life.2,life.3,life.4",
                 "--reduced: life=0: this seed's job has 5, expected 1 to that");
}

TEST(Program, ReplaysASeedWithLessOfItsRing) {
  expect_smaller("simulate quorum --replay 4", "clients=1,requests=2");
  expect_refused("simulate quorum --replay 4 --reduced nothing",
                 "--reduced: 'nothing' names what this seed's ring does not have, which is: ");
  for (const char* wrong : {"--seeds 1:3 --reduced clients=1", "--replay 4 --reduced requests=1000",
                            "--replay 4 --reduced clients=1,clients=1"})
    EXPECT_EQ(run(std::string("simulate quorum ") + wrong).code, 2) << wrong;
}

TEST(Program, SimulatesEveryRouteWithOneObjectALine) {
  const Ran ran =
      run("simulate exchange --topology pcie-box --route all --ranks 4 --bytes 16M --no-pipeline --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::stringstream lines(ran.out);
  std::map<std::string, double> times;
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    EXPECT_EQ(object["ranks"], 4);
    EXPECT_EQ(object["bytes"], 16000000);
    EXPECT_GE(object["time_seconds"].get<double>(), object["lower_bound_seconds"].get<double>() * (1 - 1e-9));
    EXPECT_TRUE(object["max_rank_bytes_sent"].is_number_unsigned());
    EXPECT_TRUE(object["busiest_link"].is_string());
    EXPECT_EQ(object["checked"], true);
    times[object["route"].get<std::string>()] = object["time_seconds"].get<double>();
  }
  EXPECT_NEAR(times.at("star"), 6e-3, 1e-6);
  EXPECT_NEAR(times.at("cpu"), 8e-3, 1e-6);
  EXPECT_NEAR(times.at("spread"), 1.5e-3, 1e-6);
}

TEST(Program, SimulatesWithoutRealNumbersWhenAsked) {
  const std::string command = "simulate exchange --topology pcie-box --route ring --bytes 1M --json";
  auto checked = nlohmann::json::parse(run(command).out);
  auto counted = nlohmann::json::parse(run(command + " --no-check").out);
  EXPECT_EQ(checked["checked"], true);
  EXPECT_EQ(counted["checked"], false);
  checked.erase("checked");
  counted.erase("checked");
  EXPECT_EQ(checked, counted);
}

TEST(Program, SimulatesWhatSoftwareCostsAndHowLinksAreShared) {
  const std::string command =
      "simulate exchange --topology uniform:4,1GB/s,0 --route star --bytes 4M --no-pipeline --no-check "
      "--json ";
  const auto seconds = [&](const std::string& more) {
    return nlohmann::json::parse(run(command + more).out)["time_seconds"].get<double>();
  };
  EXPECT_NEAR(seconds(""), 24e-3, 1e-9);
  EXPECT_NEAR(seconds("--message-cost 1ms"), 24e-3 + 4e-3, 1e-9);
  EXPECT_NEAR(seconds("--reduce-rate 1GB/s"), 24e-3 + 4e-3, 1e-9)
      << "the last vector is added when it is there";
  EXPECT_NEAR(seconds("--sharing fair"), 24e-3, 1e-9) << "all come at the end";
  EXPECT_EQ(run(command + "--message-cost soon").code, 2);
  EXPECT_EQ(run(command + "--reduce-rate 5").code, 2);
  EXPECT_EQ(run(command + "--sharing first").code, 2);
}

TEST(Program, OffersListsOnlyWhereTheyAreTaken) {
  EXPECT_EQ(run("topo plan --help").out.find("A,B,C"), std::string::npos);
  EXPECT_NE(run("simulate exchange --help").out.find("A,B,C"), std::string::npos);
  const Ran ran = run("topo plan --topology dgx1v --bytes 1M,2M");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("simulate exchange takes lists"), std::string::npos) << ran.err;
}

TEST(Program, GivesTheBusiestLinksOrAll) {
  for (const bool all : {false, true}) {
    const Ran ran = run(std::string("simulate exchange --topology uniform:50,1GB/s,1us --route ring --bytes "
                                    "1M --json") +
                        (all ? " --links all" : ""));
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto object = nlohmann::json::parse(ran.out);
    EXPECT_EQ(object["links"], 100);
    EXPECT_EQ(object["link_bytes"].size(), all ? 100u : 64u);
    EXPECT_EQ(object["link_bytes"][object["busiest_link"].get<std::string>()], object["busiest_link_bytes"]);
  }
}

TEST(Program, DrawsWhatItSimulated) {
  const std::string picture = test_path("program_test.svg");
  for (const char* what :
       {"--ranks 2:8 --bytes 1M", "--ranks 4 --bytes 1K:1M", "--ranks 4 --bytes 1M --route ring"}) {
    const Ran ran =
        run(std::string("simulate exchange --topology uniform:8,1GB/s,1us --plot '") + picture + "' " + what);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::stringstream text;
    text << std::ifstream(picture).rdbuf();
    EXPECT_EQ(text.str().rfind("<svg ", 0), 0u) << what;
    EXPECT_NE(text.str().find("</svg>"), std::string::npos) << what;
    std::remove(picture.c_str());
  }
}

TEST(Program, DrawsNoPictureOfAnotherForm) {
  const std::string picture = test_path("program_test.pdf");
  const Ran ran = run("simulate exchange --ranks 2 --bytes 1K --route ring --plot '" + picture + "'");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("the picture is SVG; expected a name that ends in .svg"), std::string::npos)
      << ran.err;
  EXPECT_FALSE(std::filesystem::exists(picture));
}

TEST(Program, RanksRoutesByTheirTimes) {
  const Ran ran = run("topo plan --topology dgx1v --op all-reduce --bytes 160M --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto object = nlohmann::json::parse(ran.out);
  double last = 0;
  for (const auto& route : object["routes"]) {
    EXPECT_GE(route["time_seconds"].get<double>(), last);
    last = route["time_seconds"].get<double>();
  }
  EXPECT_EQ(object["choice"], object["routes"][0]["route"]);
  EXPECT_LT(object["routes"][0]["time_seconds"].get<double>(), 2.7e-3);
}

TEST(Program, RefusesExchangesThatMakeNoSense) {
  for (const char* what : {"--route nonsense", "--topology nowhere", "--ranks 0", "--bytes 1x", "--op add",
                           "--topology pcie-box --route rings", "--ranks 8:4"}) {
    const Ran ran = run(std::string("simulate exchange ") + what);
    EXPECT_EQ(ran.code, 2) << what << ": " << ran.err;
    EXPECT_EQ(ran.err.rfind("thalweg: USAGE: ", 0), 0u) << ran.err;
  }
}

}  // namespace
}  // namespace thalweg
