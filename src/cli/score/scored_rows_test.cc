// Scoring and model commands of the built program, on a model whose predictions are known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/cases_for_test.h"
#include "cli/score/known_model_for_test.h"
#include "cli/work/stored_model.h"

namespace thalweg {
namespace {

class Scoring : public KnownModel {};

TEST_F(Scoring, PredictsInInputOrder) {
  ASSERT_EQ(run("predict --model " + model_ + " " + rows_), 0) << err_;
  std::istringstream lines(out_);
  for (const double score : {1.0, 0.0, 1.0, -1.0}) {
    double prediction = -1;
    lines >> prediction;
    EXPECT_NEAR(prediction, sigmoid(score), 1e-6);
  }
  const std::string on_screen = out_;
  ASSERT_EQ(run("predict --json -o " + (folder_ / "scores") + " --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(read_text(folder_ / "scores"), on_screen);
  EXPECT_EQ(json()["examples"], 4);
  EXPECT_EQ(run("predict --threads 1 --model " + model_ + " - <" + rows_), 0) << err_;
  EXPECT_EQ(out_, on_screen);
}

TEST_F(Scoring, FeaturesThatTheModelDoesNotHaveAreNoted) {
  ASSERT_EQ(run("eval --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(err_.find("the model knows"), std::string::npos) << err_;
  write_text(rows_, "1 30:1\n0 50:1\n");
  for (const std::string command : {"eval", "predict"}) {
    ASSERT_EQ(run(command + " --model " + model_ + " " + rows_), 0) << err_;
    EXPECT_NE(err_.find("the model knows 0 % of the features of these rows"), std::string::npos) << err_;
  }
}

TEST_F(Scoring, AModelThatIsWorseThanNoneOnTheseRowsIsSaidToBe) {
  ASSERT_EQ(run("eval --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_NE(err_.find("the measured auc of 0.375 is worse than that of no features at all, 0.5"),
            std::string::npos)
      << err_;
  write_text(rows_, "1 3:1\n0 9:1\n");
  ASSERT_EQ(run("eval --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(err_, "");
}

TEST_F(Scoring, ColumnsThatAreGivenOtherwiseThanInTrainingAreRefused) {
  const std::string rows = folder_ / "rows.csv", model = folder_ / "csv";
  write_text(rows, "label,n,c\n1,2,x\n0,3,y\n");
  ASSERT_EQ(run("train " + rows + " --columns c:cat --out " + model), 0) << err_;
  for (const std::string command : {"eval", "predict"}) {
    EXPECT_EQ(run(command + " --columns n:num --model " + model + " " + rows), 0) << err_;
    EXPECT_EQ(run(command + " --columns n:cat --model " + model + " " + rows), 2);
    EXPECT_NE(err_.find("rows.csv: column \"n\" is cat here, and the model was trained with it as num"),
              err_.npos)
        << err_;
  }
  EXPECT_EQ(run("eval --label-column n --model " + model + " " + rows), 2);
  EXPECT_NE(err_.find("column \"n\" is label here"), err_.npos) << err_;
}

TEST_F(Scoring, MembersOfJsonLinesAreColumnsToo) {
  const std::string rows = folder_ / "rows.jsonl", model = folder_ / "json";
  write_text(rows, R"({"won":1,"user":{"id":7},"n":2,"day":"a,b","ad_id":3})"
                   "\n"
                   R"({"won":0,"user":{"id":8},"day":"c","ad_id":4})"
                   "\n");
  ASSERT_EQ(run("train " + rows + " --columns won:label,user.id:cat --out " + model), 0) << err_;
  EXPECT_EQ(read_text(model + "/model.json").find("won:label"), std::string::npos);
  ASSERT_EQ(run("predict --id-column user.id --keep day,n --model " + model + " " + rows), 0) << err_;
  std::istringstream lines(out_);
  std::string first, second;
  std::getline(lines, first), std::getline(lines, second);
  EXPECT_TRUE(first.starts_with("7,\"a,b\",2,")) << first;
  EXPECT_TRUE(second.starts_with("8,c,,")) << second;
  ASSERT_EQ(run("eval --json --by user.id --model " + model + " " + rows), 0) << err_;
  EXPECT_EQ(json()["groups"]["groups"], 2);
  EXPECT_EQ(run("eval --by user.no --model " + model + " " + rows), 2);
  EXPECT_NE(err_.find("--by: no row has a member \"user.no\""), err_.npos) << err_;
  ASSERT_EQ(run("predict --model " + model + " " + rows), 0) << err_;
  const std::string answers = out_;
  EXPECT_EQ(run("predict --columns user.id:cat,won:label --model " + model + " " + rows), 0) << err_;
  EXPECT_EQ(out_, answers) << "ad_id is a category though it is not named again";
  EXPECT_EQ(run("predict --columns n:cat --model " + model + " " + rows), 2);
  EXPECT_NE(err_.find("the model was trained with --columns ad_id:cat,user.id:cat"), err_.npos) << err_;
  EXPECT_EQ(run("train " + rows + " --columns n:cat --init " + model), 2);
  EXPECT_EQ(run("train " + rows + " --init " + model), 0) << err_;
}

TEST_F(Scoring, ManyBatchesKeepTheirOrder) {
  std::string text, expected;
  for (int row = 0; row < 20000; ++row) text += row % 3 == 0 ? "1 3:1\n" : "0 5:2\n";
  write_text(rows_, text);
  ASSERT_EQ(run("predict --model " + model_ + " " + rows_), 0) << err_;
  std::istringstream lines(out_);
  double prediction = 0;
  for (int row = 0; row < 20000; ++row) {
    ASSERT_TRUE(lines >> prediction);
    ASSERT_NEAR(prediction, sigmoid(row % 3 == 0 ? 1 : 0), 1e-6) << row;
  }
}

TEST_F(Scoring, EvalMeasures) {
  ASSERT_EQ(run("eval --json --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(json()["examples"], 4);
  // Scores 1 and -1 of positives against 0 and 1 of negatives: 1 wins once and ties once, -1 never.
  EXPECT_NEAR(json()["auc"].get<double>(), 1.5 / 4, 1e-9);
  const double loss = -(2 * std::log(sigmoid(-1)) + std::log(0.5) + std::log(sigmoid(1))) / 4;
  EXPECT_NEAR(json()["logloss"].get<double>(), loss, 1e-6);
  ASSERT_EQ(run("eval --model " + model_ + " " + rows_), 0);
  EXPECT_NE(out_.find("auc                0.375000"), std::string::npos) << out_;
}

TEST_F(Scoring, EvalMeasuresWithinGroups) {
  write_text(rows_, "1 qid:1 3:1\n0 qid:1 5:2\n0 qid:2 3:0.5 5:2\n1 qid:2 9:1\n1 qid:3 3:1 # qid:1\n");
  ASSERT_EQ(run("eval --json --by qid --at 1 --model " + model_ + " " + rows_), 0) << err_;
  const auto groups = json()["groups"];
  EXPECT_EQ(groups["groups"], 3);
  EXPECT_EQ(groups["rows"], 5);
  EXPECT_EQ(groups["part"], 1.0);
  EXPECT_EQ(groups["group_auc"], 0.5);
  EXPECT_NEAR(groups["ndcg"].get<double>(), 2.0 / 3, 1e-9);
  EXPECT_NEAR(groups["map"].get<double>(), 2.0 / 3, 1e-9);
  ASSERT_EQ(run("eval --by qid --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_NE(out_.find("group_auc          0.500000\nndcg@10            "), out_.npos) << out_;
  EXPECT_EQ(run("eval --by user --model " + model_ + " " + rows_), 2);
  EXPECT_NE(err_.find("--by user: the input is libsvm"), err_.npos) << err_;
  const std::string csv = folder_ / "rows.csv", model = folder_ / "csv";
  write_text(csv, "user,site,click\n\"a,1\",x,1\n\"a,1\",y,0\n7,y,1\n7.0,x,0\n");
  ASSERT_EQ(run("train --columns user:- --epochs 5 " + csv + " --out " + model), 0) << err_;
  ASSERT_EQ(run("eval --json --by user --model " + model + " " + csv), 0) << err_;
  EXPECT_EQ(json()["groups"]["groups"], 2);
  EXPECT_EQ(json()["groups"]["group_auc"], 0.5);
}

TEST_F(Scoring, EvalShowsReliabilityBins) {
  ASSERT_EQ(run("eval --json --bins 2 --model " + model_ + " " + rows_), 0) << err_;
  const auto bins = json()["bins"];
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0]["rows"], 2);
  EXPECT_NEAR(bins[0]["mean_prediction"].get<double>(), (sigmoid(-1) + sigmoid(0)) / 2, 1e-6);
  EXPECT_EQ(bins[0]["mean_label"], 0.5);
  EXPECT_NEAR(bins[1]["mean_prediction"].get<double>(), sigmoid(1), 1e-6);
  ASSERT_EQ(run("eval --bins 2 --model " + model_ + " " + rows_), 0);
  EXPECT_NE(out_.find("2         0.731059     0.500000\n"), out_.npos) << out_;
}

TEST_F(Scoring, EvalShowsReliabilityBinsOfEachModel) {
  save(folder_ / "other", 3.0f);
  const std::string other = " --model " + (folder_ / "other") + " ";
  ASSERT_EQ(run("eval --json --bins 2 --model " + (folder_ / "other") + " " + rows_), 0) << err_;
  const auto alone = json()["bins"];
  ASSERT_EQ(run("eval --json --bins 2 --model " + model_ + other + rows_), 0) << err_;
  EXPECT_EQ(json()["models"][0]["bins"][0]["mean_label"], 0.5);
  EXPECT_EQ(json()["models"][1]["bins"], alone);
  ASSERT_EQ(run("eval --bins 2 --model " + model_ + other + rows_), 0) << err_;
  EXPECT_NE(out_.find("\n\n" + (folder_ / "other") + "\n        rows"), out_.npos) << out_;
}

TEST_F(Scoring, EvalComparesModelsOnTheSameRows) {
  save(folder_ / "other", 3.0f);
  std::string text;
  const std::size_t rows = 9000 / kEveryForTest / 4 * 4;
  for (std::size_t row = 0; row < rows; ++row)
    text += row % 4 == 0 ? "0 3:1\n" : row % 4 == 1 ? "0 5:2\n" : "1 3:1\n";
  write_text(rows_, text);
  const std::string models =
      "--model " + model_ + " --model " + (folder_ / "other") + " --model " + model_ + " ";
  ASSERT_EQ(run("eval --json " + models + rows_), 0) << err_;
  const auto all = json();
  EXPECT_EQ(all["examples"], rows);
  EXPECT_EQ(all["resamples"], 1000);
  ASSERT_EQ(all["models"].size(), 3u);
  const auto& first = all["models"][0];
  const auto& other = all["models"][1];
  EXPECT_EQ(first["model"], model_);
  EXPECT_FALSE(first.contains("difference"));
  // Of scores 1 and 2 of rows of key 3, of which 2 in 3 are positive.
  const auto loss = [](double score) {
    return -(2 * std::log(sigmoid(score)) + std::log(sigmoid(-score))) / 3;
  };
  const auto& difference = other["difference"]["logloss"];
  const double expected = 0.75 * (loss(2) - loss(1));
  EXPECT_NEAR(difference["value"].get<double>(), expected, 1e-6);
  EXPECT_NEAR(other["logloss"].get<double>() - first["logloss"].get<double>(), expected, 1e-6);
  EXPECT_LT(difference["low"].get<double>(), expected);
  EXPECT_GT(difference["high"].get<double>(), expected);
  EXPECT_LT(difference["high"].get<double>() - difference["low"].get<double>(),
            0.1 * std::sqrt(kEveryForTest));
  EXPECT_EQ(all["models"][2]["difference"]["auc"]["low"], 0.0) << "of equal models";
  ASSERT_EQ(run("eval " + models + rows_), 0) << err_;
  EXPECT_NE(out_.find("\nlogloss            " + model_), out_.npos) << out_;
  EXPECT_EQ(run("eval " + models + "- <" + rows_), 2);
  EXPECT_EQ(run("predict " + models + rows_), 2);
}

TEST_F(Scoring, EvalComparesModelsWithinGroups) {
  save(folder_ / "other", -2.0f);
  const std::string models = "--model " + model_ + " --model " + (folder_ / "other") + " ";
  std::string text;
  for (int group = 0; group < 30; ++group) {  // In two of three key 3 is the better one.
    for (int times = 0; times < 4; ++times)
      text += fmt::format("{0} qid:{2} 3:1\n{1} qid:{2} 9:1\n", group % 3 > 0 ? 1 : 0, group % 3 > 0 ? 0 : 1,
                          group);
  }
  write_text(rows_, text);
  ASSERT_EQ(run("eval --json --by qid --at 2 " + models + rows_), 0) << err_;
  const auto all = json();
  EXPECT_EQ(all["groups"]["groups"], 30);
  EXPECT_NEAR(all["models"][0]["group_auc"].get<double>(), 2.0 / 3, 1e-9);
  EXPECT_NEAR(all["models"][1]["group_auc"].get<double>(), 1.0 / 3, 1e-9);
  const auto& difference = all["models"][1]["difference"]["group_auc"];
  EXPECT_NEAR(difference["value"].get<double>(), -1.0 / 3, 1e-9);
  // A group gives 1 or -1, whose deviation is 0.943: 30 of them 1.96 * 0.172 to either side.
  EXPECT_NEAR(difference["low"].get<double>(), -1.0 / 3 - 0.337, 0.05);
  EXPECT_NEAR(difference["high"].get<double>(), -1.0 / 3 + 0.337, 0.05);
  for (const auto& model : all["models"]) {  // As of each by itself.
    ASSERT_EQ(run("eval --json --by qid --at 2 --model " + model["model"].get<std::string>() + " " + rows_),
              0);
    for (const char* metric : {"group_auc", "ndcg", "map"})
      EXPECT_EQ(json()["groups"][metric], model[metric]);
  }
  ASSERT_EQ(run("eval --by qid " + models + rows_), 0) << err_;
  EXPECT_NE(out_.find("\ngroup_auc          " + model_), out_.npos) << out_;
  EXPECT_NE(out_.find("\nndcg@10 "), out_.npos) << out_;
  EXPECT_EQ(run("eval --by user " + models + rows_), 2);
}

TEST_F(Scoring, ErrorsHaveTheirCodes) {
  EXPECT_EQ(run("predict " + rows_), 2);
  EXPECT_EQ(run("predict --model " + (folder_ / "nothing") + " " + rows_), 8);
  EXPECT_EQ(run("predict --model " + model_ + " " + (folder_ / "nothing")), 4);
  EXPECT_EQ(run("predict -o /does/not/exist/x --model " + model_ + " " + rows_), 1);
  EXPECT_EQ(run("predict --model " + model_ + " " + rows_ + " >/dev/full"), 1);
  write_text(folder_ / "bad.svm", "1 3:1\n7 3:1\n");
  EXPECT_EQ(run("eval --model " + model_ + " " + (folder_ / "bad.svm")), 4);
  EXPECT_NE(err_.find("bad.svm:2:1: saw \"7\", expected a label"), std::string::npos) << err_;
  EXPECT_EQ(run("predict -o " + (folder_ / "scores") + " --model " + model_ + " " + (folder_ / "bad.svm")),
            0);
  EXPECT_EQ(run("predict --hash-bits 5 --model " + model_ + " " + rows_), 2);
  std::string table;
  for (const auto& entry : std::filesystem::directory_iterator(model_)) {
    if (entry.path().string().find("weights") != std::string::npos) table = entry.path().string();
  }
  std::string bytes = read_text(table);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(table, bytes);
  EXPECT_EQ(run("predict --model " + model_ + " " + rows_), 8);
  EXPECT_NE(err_.find("thalweg: MODEL: " + table), std::string::npos) << err_;
  EXPECT_EQ(run("model digest " + model_), 8);
}

TEST_F(Scoring, ModelCommandsShowWhatIsStored) {
  ASSERT_EQ(run("model inspect --json " + model_), 0) << err_;
  EXPECT_EQ(json()["model"], "lr");
  EXPECT_EQ(json()["metrics"]["valid_auc"], 0.75);
  EXPECT_EQ(json()["tables"][1]["rows"], 2);
  ASSERT_EQ(run("model digest " + model_), 0) << err_;
  EXPECT_EQ(out_.size(), 17u);
  const std::string digest = out_.substr(0, 16);
  save(folder_ / "other", 2.5f);
  ASSERT_EQ(run("model digest --json " + (folder_ / "other")), 0);
  EXPECT_NE(json()["digest"], digest);
  ASSERT_EQ(run("model diff --json " + model_ + " " + (folder_ / "other")), 0) << err_;
  EXPECT_EQ(json()["equal"], false);
  EXPECT_EQ(json()["tables"][1]["different_rows"], 1);
  EXPECT_EQ(json()["tables"][1]["max_abs_difference"], 0.5);
  ASSERT_EQ(run("model diff --json " + model_ + " " + model_), 0);
  EXPECT_EQ(json()["equal"], true);
}

TEST_F(Scoring, ModelExportWritesEachFormat) {
  ASSERT_EQ(run("model export " + model_ + " --format text -o " + (folder_ / "text")), 0) << err_;
  EXPECT_EQ(read_text(folder_ / "text/weights.tsv"), "3\t2\n5\t0.5\n");
  ASSERT_EQ(run("model export " + model_ + " --format npz -o " + (folder_ / "m.npz")), 0) << err_;
  EXPECT_EQ(read_text(folder_ / "m.npz").substr(0, 2), "PK");
  ASSERT_EQ(run("model export " + model_ + " -o " + (folder_ / "m.safetensors")), 0) << err_;
  for (const char* name : {"x.vw", "x.npz"}) {
    EXPECT_EQ(run("model export " + model_ + " -o " + (folder_ / name)), 2);
    EXPECT_NE(err_.find("expected a name that ends otherwise"), std::string::npos) << err_;
    EXPECT_FALSE(std::filesystem::exists(folder_ / name));
  }
  EXPECT_EQ(run("model export " + model_ + " --format vw-readable -o " + (folder_ / "m.vw")), 0) << err_;
  EXPECT_EQ(run("model export " + model_ + " --format npz -o " + (folder_ / "m.safetensors")), 2);
  EXPECT_EQ(run("model export " + model_), 2);
  EXPECT_EQ(run("model export --help"), 0);
  EXPECT_EQ(out_.find("unset is standard output"), std::string::npos) << out_;
  EXPECT_EQ(run("model export --format hdf5 " + model_), 2);
}

TEST_F(Scoring, InputOptionsOfTheTrainingAreKept) {
  Options trained;
  trained.assign(*find_option("hash-bits"), std::int64_t{20}, Origin::kFlag, "flag");
  const auto stored = options_to_store(trained, "train");
  EXPECT_EQ(stored.at("hash-bits"), "20");
  EXPECT_EQ(stored.at("sync"), "bsp");
  EXPECT_EQ(stored.count("rate"), 0u);
  EXPECT_EQ(stored.count("out"), 0u);
  save(folder_ / "hashed", 2.0f, stored);
  const Result<ModelReader> model = open_model(folder_ / "hashed");
  EXPECT_EQ(read_options_for(model->manifest(), Options())->hash_bits, 20u);
  EXPECT_EQ(run("predict --hash-bits 20 --model " + (folder_ / "hashed") + " " + rows_), 0) << err_;
}

// A column that was a category in training is one in any file, whatever its first rows look like.
TEST_F(Scoring, ColumnsAreWhatTheyWereInTraining) {
  const auto file = [this](const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    return folder_ / name;
  };
  std::string rows;
  for (int i = 0; i < 200; ++i) rows += "1,7\n0,zz\n1,abc\n0,12\n";
  const std::string train = file("train.csv", "click,site\n" + rows);
  const std::string valid = file("valid.csv", "click,site\n1,7\n0,12\n");
  const std::string model = folder_ / "columns";
  ASSERT_EQ(
      run("train --json --epochs 3 --label-column click " + train + " --valid " + valid + " --out " + model),
      0)
      << err_;
  EXPECT_EQ(json()["valid_auc"], 1.0);
  ASSERT_EQ(run("predict --model " + model + " " + train), 0) << err_;
  const std::string seven = out_.substr(0, out_.find('\n') + 1);
  EXPECT_GT(std::stod(seven), 0.5);
  for (const char* text : {"click,site\n1,7\n", "site\n7\n", "other,site,click\n3,7,\n", "1,7\n"}) {
    ASSERT_EQ(run("predict --model " + model + " " + file("new.csv", text)), 0) << err_;
    EXPECT_EQ(out_, seven) << text;
  }
  EXPECT_EQ(run("eval --model " + model + " " + file("new.csv", "site\n7\n")), 2);
}

}  // namespace
}  // namespace thalweg
