// Pairs of features, counts, classes and sweeps, from outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/score/known_model_for_test.h"

namespace thalweg {
namespace {

class ProgramObjectives : public KnownModel {
 protected:
  void SetUp() override {
    KnownModel::SetUp();
    std::string rows = "site,ad,price,click\n", counts, classes;
    for (int i = 0; i < 600; ++i) {
      const int site = i % 3, ad = i / 3 % 4;
      rows += fmt::format("s{},a{},{},{}\n", site, ad, 0.5 + ad, (site + ad) % 2);
      counts += fmt::format("{} {}:1 {}:1\n", site * (ad + 1) + i % 2, site, 10 + ad);
      classes += fmt::format("{} {}:1 {}:1\n", site, site, 10 + ad);
    }
    write_text(csv_, rows);
    write_text(counts_, counts);
    write_text(classes_, classes);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream text(out_);
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }
  static std::vector<double> numbers(const std::string& line) {
    std::vector<double> all;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) all.push_back(std::stod(cell));
    return all;
  }

  const std::string csv_ = folder_ / "rows.csv", counts_ = folder_ / "counts.svm",
                    classes_ = folder_ / "classes.svm";
  const std::string made_ = folder_ / "made";
};

TEST_F(ProgramObjectives, ProductsHaveTheNamesOfBothAndAddUpToTheScore) {
  for (const char* bits : {"", " --hash-bits 40"}) {
    ASSERT_EQ(run("train --interactions site*ad,site*price --epochs 20 " + csv_ + bits + " -o " + made_), 0)
        << err_;
    ASSERT_EQ(run("predict --model " + made_ + " --raw --audit " + csv_), 0) << err_;
    const auto all = lines();
    ASSERT_EQ(all.size(), 600u * 7);
    std::vector<std::string> names;
    double sum = 0;
    for (std::size_t i = 1; i < 7; ++i) {
      const auto cell = [&](std::size_t which) {
        std::istringstream line(all[i].substr(1));
        std::string text;
        for (std::size_t c = 0; c <= which; ++c) std::getline(line, text, '\t');
        return text;
      };
      names.push_back(cell(0));
      sum += std::stod(cell(3));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"bias", "site=s0", "ad=a0", "price", "site=s0*ad=a0",
                                               "site=s0*price"}));
    EXPECT_NEAR(sum, std::stod(all[0]), 1e-4);
    ASSERT_EQ(run("model weights --json --top 1 --names " + csv_ + " " + made_), 0) << err_;
    EXPECT_NE(json()["weights"][0]["name"].get<std::string>().find('*'), std::string::npos) << out_;
    ASSERT_EQ(run("eval --json --model " + made_ + " " + csv_), 0) << err_;
    EXPECT_GT(json()["auc"], 0.99);
  }
}

TEST_F(ProgramObjectives, PairsThatCannotBeAreRefused) {
  EXPECT_EQ(run("train --interactions site*sale " + csv_), 2);
  EXPECT_NE(err_.find("expected site, ad, price"), std::string::npos) << err_;
  EXPECT_EQ(run("train --interactions site*ad --model fm " + csv_), 2);
  EXPECT_NE(err_.find("makes no sense with --model fm"), std::string::npos) << err_;
}

TEST_F(ProgramObjectives, CountsArePredictedByTheirMeans) {
  ASSERT_EQ(run("train --json --loss poisson --epochs 10 --valid-part 10 " + counts_ + " -o " + made_), 0)
      << err_;
  const double deviance = json()["valid_deviance"], loss = json()["valid_loss"];
  EXPECT_NEAR(deviance, 2 * loss, 1e-9);
  EXPECT_LT(json()["train_loss"], json()["progressive_loss"]);
  ASSERT_EQ(run("eval --json --model " + made_ + " " + counts_), 0) << err_;
  EXPECT_LT(json()["deviance"], 2.0);
  EXPECT_TRUE(json()["auc"].is_null() && json()["logloss"].is_null()) << out_;
  ASSERT_EQ(run("predict --model " + made_ + " " + counts_), 0);
  const auto means = lines();
  ASSERT_EQ(run("predict --raw --model " + made_ + " " + counts_), 0);
  const auto scores = lines();
  ASSERT_EQ(means.size(), 600u);
  for (std::size_t i = 0; i < 20; ++i) {
    const double mean = std::exp(std::stod(scores[i]));
    EXPECT_NEAR(std::stod(means[i]), mean, 1e-5 * mean) << i;
  }
  write_text(counts_, "-2 1:1\n");
  EXPECT_EQ(run("eval --model " + made_ + " " + counts_), 4);
  EXPECT_NE(err_.find("at least 0"), std::string::npos) << err_;
}

TEST_F(ProgramObjectives, ClassesArePredictedAndHaveWeightsEach) {
  ASSERT_EQ(run("train --json --loss classes --epochs 5 --valid-part 10 " + classes_ + " -o " + made_), 0)
      << err_;
  EXPECT_EQ(json()["valid_accuracy"], 1.0);
  ASSERT_EQ(run("predict --model " + made_ + " " + classes_), 0) << err_;
  const auto predicted = lines();
  ASSERT_EQ(predicted.size(), 600u);
  for (std::size_t i = 0; i < predicted.size(); ++i) EXPECT_EQ(predicted[i], std::to_string(i % 3)) << i;
  EXPECT_EQ(run("model export --format vw-readable -o x " + made_), 2);
  EXPECT_NE(err_.find("expected"), std::string::npos) << err_;
  // Site c tells class c.
  const auto best_of_classes = [](const nlohmann::json& list) {
    std::map<int, int> best;
    for (const auto& one : list) {
      if (one["weight"] > 0) best.emplace(one["class"].get<int>(), one["key"].get<int>());
    }
    return best;
  };
  const std::map<int, int> own = {{0, 0}, {1, 1}, {2, 2}};
  ASSERT_EQ(run("model weights --json " + made_), 0) << err_;
  const nlohmann::json shown = json();
  EXPECT_EQ(shown["bias"].size(), 3u);
  EXPECT_EQ(best_of_classes(shown["weights"]), own) << out_;
  ASSERT_EQ(run("model importance --json " + made_ + " " + classes_), 0) << err_;
  const nlohmann::json important = json();
  EXPECT_EQ(best_of_classes(important["features"]), own) << out_;
  for (const auto& feature : important["features"]) {
    EXPECT_NEAR(feature["importance"].get<double>(),
                std::abs(feature["weight"].get<double>()) * feature["entries"].get<double>() / 600, 1e-6);
  }
  ASSERT_EQ(run("predict --probabilities --raw --model " + made_ + " " + classes_), 0) << err_;
  const std::vector<std::string> scores = lines();
  ASSERT_EQ(run("predict --audit --model " + made_ + " " + classes_), 0) << err_;
  const std::vector<std::string> audit = lines();
  EXPECT_EQ(audit[0], "0");
  double sum = 0;
  for (std::size_t i = 1; i < 4; ++i) sum += std::stod(audit[i].substr(audit[i].rfind('\t')));
  EXPECT_NEAR(sum, std::stod(scores[0]), 1e-5) << "of the class that is answered";
  ASSERT_EQ(run("model inspect --json " + made_), 0) << err_;
  EXPECT_EQ(json()["loss"], "classes");
}

TEST_F(ProgramObjectives, ProbabilitiesOfClassesAddUpToOne) {
  ASSERT_EQ(run("train --loss classes --epochs 5 " + classes_ + " -o " + made_), 0) << err_;
  write_text(folder_ / "few.svm", "0 0:1 10:1\n2 2:1 11:1\nx\n1 1:1 10:1\n");
  const std::string scored = "predict --probabilities --model " + made_ + " " + (folder_ / "few.svm");
  ASSERT_EQ(run(scored), 0) << err_;
  const auto probabilities = lines();
  ASSERT_EQ(run(scored + " --raw"), 0) << err_;
  const auto scores = lines();
  ASSERT_EQ(probabilities.size(), 4u);
  EXPECT_EQ(probabilities[2], "nan,nan,nan") << "its line is kept";
  const std::size_t best[] = {0, 2, 0, 1};
  for (const std::size_t row : {0u, 1u, 3u}) {
    const std::vector<double> p = numbers(probabilities[row]), s = numbers(scores[row]);
    ASSERT_EQ(p.size(), 3u) << probabilities[row];
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-6);
    for (std::size_t c = 0; c < 3; ++c) {
      if (c == best[row]) continue;
      EXPECT_GT(p[best[row]], p[c]) << row;
      EXPECT_NEAR(std::log(p[best[row]] / p[c]), s[best[row]] - s[c], 1e-4) << row;
    }
  }
  ASSERT_EQ(run("train " + csv_ + " -o " + made_), 0) << err_;
  EXPECT_EQ(run("predict --probabilities --model " + made_ + " " + csv_), 2);
  EXPECT_NE(err_.find("--loss classes"), std::string::npos) << err_;
}

TEST_F(ProgramObjectives, ASweepTellsOfEachTrainingAndKeepsTheBest) {
  const std::string flags = " --epochs 2 --valid-part 10 " + csv_ + " ";
  ASSERT_EQ(run("train --json --sweep 'rate=0.0001,0.3;l2=1,10'" + flags + "-o " + made_), 0) << err_;
  const auto all = json();
  ASSERT_EQ(all["sweep"].size(), 4u) << out_;
  double least = 1e9;
  for (const auto& trial : all["sweep"]) least = std::min(least, trial["valid_loss"].get<double>());
  int kept = 0;
  for (const auto& trial : all["sweep"]) {
    if (!trial["kept"]) continue;
    ++kept;
    EXPECT_EQ(trial["valid_loss"], least);
    EXPECT_EQ(trial["model_digest"], all["model_digest"]);
    ASSERT_EQ(run(fmt::format("train --json --rate {} --l2 {}{}", trial["rate"].get<double>(),
                              trial["l2"].get<double>(), flags)),
              0)
        << err_;
    EXPECT_EQ(json()["model_digest"], all["model_digest"]);
    ASSERT_EQ(run("model digest --json " + made_), 0) << err_;
    EXPECT_EQ(json()["digest"], all["model_digest"]);
    ASSERT_EQ(run("model inspect --json " + made_), 0) << err_;
    EXPECT_EQ(json()["options"]["rate"], fmt::format("{}", trial["rate"].get<double>()));
  }
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(run("train --sweep rate=1,2 " + csv_), 2);
  EXPECT_NE(err_.find("--valid"), std::string::npos) << err_;
  EXPECT_EQ(run("train --sweep rate=1,2 --processes" + flags), 2);
}

}  // namespace
}  // namespace thalweg
