// What `train --run-dir` leaves behind, and what `plot` makes of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/cases_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class RunDirectories : public testing::Test {
 protected:
  RunDirectories() { EXPECT_EQ(run("data synth --rows 4000 -o " + rows_).code, 0); }
  ~RunDirectories() override {
    std::remove(rows_.c_str());
    std::filesystem::remove_all(directory_);
  }
  Ran train(const std::string& flags) const {
    return run("train " + rows_ + " --run-dir " + directory_ + " " + flags);
  }
  json file(const std::string& name) const { return json::parse(text_of(directory_ + "/" + name)); }
  std::vector<json> metrics() const {
    std::ifstream lines(directory_ + "/metrics.jsonl");
    std::vector<json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }

  const std::string rows_ = test_path("rows.svm"), directory_ = test_path("run");
};

TEST_F(RunDirectories, HasWhatTheRunIsHowItGoesAndWhatComesOut) {
  const Ran trained = train("--epochs 3 --valid-part 10 --json");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(file("config.json")["train.epochs"]["value"], 3);
  EXPECT_EQ(file("config.json")["train.epochs"]["origin"], "flag --epochs");
  EXPECT_EQ(file("environment.json")["arguments"][0], rows_);
  EXPECT_EQ(file("result.json")["code"], "OK");
  EXPECT_EQ(file("result.json")["result"], json::parse(trained.out));
  const json result = file("result.json")["result"];
  for (const char* field : {"samples_per_second", "valid_loss", "valid_accuracy", "bytes_sent", "idle_share",
                            "exchange_seconds_exposed"})
    EXPECT_GT(result[field], 0) << field;
  EXPECT_GE(result["samples_per_second"], result["examples_per_second"]) << "nodes that start learn nothing";
  EXPECT_EQ(result["train_loss"], result["train_logloss"]);
  EXPECT_EQ(result["staleness_mean"], 0);
  EXPECT_EQ(result["staleness_counts"][0]["steps_max"], 0);
  double before_s = 0;
  std::vector<int> epochs;
  for (const json& line : metrics()) {
    EXPECT_GE(line["seconds"], before_s);
    before_s = line["seconds"];
    EXPECT_LE(before_s, result["seconds"]);
    if (line["kind"] != "epoch") continue;
    epochs.push_back(line["epoch"]);
    EXPECT_GT(line["valid_auc"], 0.6);
    EXPECT_LT(line["train_logloss"], 0.7);
    EXPECT_EQ(line["steps"].get<double>() * 3, result["steps"].get<double>() * epochs.back());
    EXPECT_GT(line["bytes_sent"], line["bytes_pushed"]);
    EXPECT_EQ(line["staleness_mean"], 0);
  }
  EXPECT_EQ(epochs, (std::vector{1, 2, 3}));
}

TEST_F(RunDirectories, IsNewForEachRun) {
  ASSERT_EQ(train("--json").code, 0);
  const std::string before = text_of(directory_ + "/result.json");
  const Ran again = train("--json");
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("is not empty"), std::string::npos) << again.err;
  EXPECT_EQ(text_of(directory_ + "/result.json"), before);
}

TEST_F(RunDirectories, TellsOfAFailure) {
  std::ofstream(rows_, std::ios::app) << "1 3:x\n";
  EXPECT_EQ(train("").code, 4);
  EXPECT_EQ(file("result.json")["code"], "DATA");
  EXPECT_NE(file("result.json")["message"].get<std::string>().find(":4001"), std::string::npos);
  EXPECT_FALSE(file("result.json").contains("result"));
}

TEST_F(RunDirectories, IsDrawn) {
  const std::string epochs = std::to_string(200 / kEveryForTest);  // Long enough for lines about progress.
  ASSERT_EQ(train("--valid-part 10 --epochs " + epochs).code, 0);
  const std::string picture = test_path("loss.svg"), png = test_path("loss.png");
  ASSERT_EQ(run("plot loss " + directory_ + " " + directory_ + "/ -o " + picture).code, 0);
  EXPECT_NE(text_of(picture).find("_run, held out"), std::string::npos);
  const std::filesystem::path here(directory_), there = test_path("another") + "/" + here.filename().string();
  std::filesystem::create_directories(there.parent_path());
  std::filesystem::copy(here, there);
  ASSERT_EQ(run("plot loss " + directory_ + " " + there.string() + " -o " + picture).code, 0);
  EXPECT_NE(text_of(picture).find("another/" + here.filename().string() + ", held out"), std::string::npos);
  EXPECT_EQ(run("plot staleness " + directory_).out.substr(0, 5), "<?xml");
  ASSERT_EQ(run("plot loss " + directory_ + " -o " + png).code, 0);
  EXPECT_EQ(text_of(png).substr(1, 3), "PNG");
  for (const char* other : {"loss.pdf", "loss"}) {
    const std::string path = test_path(other);
    const Ran refused = run("plot loss " + directory_ + " -o " + path);
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("expected a name that ends in .svg or .png"), std::string::npos)
        << refused.err;
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(run("plot loss " + directory_ + " -o /dev/null").code, 0) << "a file that is none";
  const Ran without = run("plot loss " + directory_, "PATH=/nowhere");
  EXPECT_EQ(without.code, 1);
  EXPECT_NE(without.err.find("apt-get install gnuplot-nox"), std::string::npos) << without.err;
  for (const std::string& path : {picture, png}) std::remove(path.c_str());
}

TEST_F(RunDirectories, ThatIsNoneOrDamagedIsNamed) {
  EXPECT_EQ(run("plot loss " + directory_).code, 4);
  std::filesystem::create_directory(directory_);
  std::ofstream(directory_ + "/metrics.jsonl") << "{\"kind\":\"progress\",\"seconds\":1}\nnot this\n";
  const Ran damaged = run("plot loss " + directory_);
  EXPECT_EQ(damaged.code, 4);
  EXPECT_NE(damaged.err.find("metrics.jsonl:2"), std::string::npos) << damaged.err;
  std::ofstream(directory_ + "/metrics.jsonl") << "{\"kind\":\"progress\",\"seconds\":1}\n{\"kind\":\"prog";
  const Ran empty = run("plot loss " + directory_);
  EXPECT_EQ(empty.code, 4);
  EXPECT_NE(empty.err.find("have no loss"), std::string::npos) << empty.err;
}

}  // namespace
}  // namespace thalweg
