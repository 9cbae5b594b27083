// Features by their names: model weights, model importance, predict --audit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "cli/score/known_model_for_test.h"
#include "cli/score/linear_weights.h"

namespace thalweg {
namespace {

class NamedFeatures : public KnownModel {
 protected:
  // Clicks by site, with a price.
  void SetUp() override {
    KnownModel::SetUp();
    std::string rows = "id,site,ad,price,click\n";
    for (int i = 0; i < 400; ++i) {
      rows += std::to_string(i % 7) + "," + (i % 4 < 2 ? "a.com" : "\"b,c\"") + "," +
              (i % 3 == 0 ? "x" : "y") + ",0.5," + (i % 4 < 2 ? "1" : "0") + "\n";
    }
    write_text(csv_, rows);
  }
  std::string trained(const std::string& options) {
    EXPECT_EQ(run("train --columns id:-,price:num,site:cat,ad:cat --epochs 3 " + options + " " + csv_ +
                  " --out " + (folder_ / "csv")),
              0)
        << err_;
    return folder_ / "csv";
  }
  std::string csv_ = folder_ / "rows.csv";
};

TEST_F(NamedFeatures, WeightsOfNumbersHaveNamesAlready) {
  ASSERT_EQ(run("model weights --json " + model_), 0) << err_;
  EXPECT_EQ(json()["bias"], -1.0);
  ASSERT_EQ(json()["weights"].size(), 2u);
  EXPECT_EQ(json()["weights"][0], (nlohmann::json{{"key", 3}, {"name", "3"}, {"weight", 2.0}}));
  EXPECT_EQ(json()["weights"][1]["name"], "5");
  ASSERT_EQ(run("model weights --top 1 " + model_), 0) << err_;
  EXPECT_EQ(out_, "        weight  feature\n            -1  bias\n             2  3\n");
}

TEST_F(NamedFeatures, HashedWeightsHaveTheNamesThatDataGives) {
  for (const std::string bits : {"", "--hash-bits 20"}) {
    const std::string model = trained(bits);
    ASSERT_EQ(run("model weights --json --top 2 --names " + csv_ + " " + model), 0) << err_;
    const auto top = json()["weights"];
    ASSERT_EQ(top.size(), 2u);
    const bool first = top[0]["name"] == "site=a.com";
    EXPECT_EQ(top[first ? 0 : 1]["name"], "site=a.com") << out_;
    EXPECT_EQ(top[first ? 1 : 0]["name"], "site=b,c") << out_;
    EXPECT_GT(top[first ? 0 : 1]["weight"], 0);
    EXPECT_LT(top[first ? 1 : 0]["weight"], 0);
    ASSERT_EQ(run("model weights --json --column ad --names " + csv_ + " " + model), 0) << err_;
    const auto of_ad = json()["weights"];
    ASSERT_EQ(of_ad.size(), 2u) << out_;
    for (const auto& feature : of_ad) {
      EXPECT_EQ(feature["name"].get<std::string>().substr(0, 3), "ad=") << out_;
    }
  }
  EXPECT_EQ(run("model weights --column ad " + (folder_ / "csv")), 2);
  EXPECT_EQ(run("model weights --column adv --names " + csv_ + " " + (folder_ / "csv")), 2);
  EXPECT_NE(err_.find("--column adv: no feature is of such a column; there are ad, price, site\n"), err_.npos)
      << err_;
}

TEST_F(NamedFeatures, ATrainingRemembersNames) {
  const std::string model = trained("--hash-bits 30 --remember-names 3");
  const std::string moved = folder_ / "moved.csv";
  std::filesystem::rename(csv_, moved);
  ASSERT_EQ(run("model weights --json --column site " + model), 0) << err_;
  ASSERT_EQ(json()["weights"].size(), 2u) << out_;
  ASSERT_EQ(run("model weights --json " + model), 0) << err_;
  const auto weights = json()["weights"];
  ASSERT_EQ(weights.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto name = weights[i]["name"].get<std::string>();
    EXPECT_EQ(name == weights[i]["key"].dump(), i >= 3) << name;
  }
  ASSERT_EQ(run("model weights --json --names " + moved + " " + model), 0) << err_;
  EXPECT_EQ(json()["weights"][0]["name"], weights[0]["name"]);
  EXPECT_NE(json()["weights"][4]["name"], weights[4]["name"]);
  const std::string names = read_text(model + "/names.tsv");
  write_text(model + "/names.tsv", names + "5\tx\n");
  EXPECT_EQ(run("model weights " + model), 8);
  EXPECT_NE(err_.find("names.tsv: is damaged"), err_.npos) << err_;
  write_text(model_ + "/names.tsv", names);
  EXPECT_EQ(run("model weights " + model_), 8) << "of another model";
  EXPECT_EQ(run("train --remember-names 3 " + moved), 2);
  EXPECT_EQ(run("train --remember-names 3 --out " + model + " - <" + moved), 2);
}

TEST_F(NamedFeatures, NamesStayWithTheRowsThatStay) {
  const std::string model = trained("--hash-bits 30 --remember-names 5"), small = folder_ / "small";
  const auto named = [&](const std::string& of) {
    EXPECT_EQ(run("model weights --json " + of), 0) << err_;
    std::vector<std::string> names;
    const auto weights = json()["weights"];
    for (const auto& weight : weights) names.push_back(weight["name"]);
    return names;
  };
  const std::vector<std::string> all = named(model);
  ASSERT_EQ(all.size(), 5u);
  ASSERT_EQ(run("model weights --json " + model), 0) << err_;
  const double third = std::abs(json()["weights"][2]["weight"].get<double>());
  const std::string below = " --below " + std::to_string(third * 0.9999);
  ASSERT_EQ(run("model prune" + below + " -o " + small + " " + model), 0) << err_;
  EXPECT_EQ(named(small), (std::vector<std::string>{all[0], all[1], all[2]}));
  const auto sorted = [&](const std::string& of) {
    std::vector<std::string> names = named(of);
    std::sort(names.begin(), names.end());
    return names;
  };
  const std::vector<std::string> before = sorted(model);
  ASSERT_EQ(run("train --init " + model + " --out " + model + " " + csv_), 0) << err_;
  EXPECT_EQ(sorted(model), before) << "goes on in its own place";
  ASSERT_EQ(run("model prune -o " + model + " " + model), 0) << err_;
  EXPECT_EQ(sorted(model), before) << "in its own place";
}

TEST_F(NamedFeatures, ImportanceIsTheMeanContributionOfARow) {
  write_text(rows_, "1 3:1\n0 5:2\n0 3:0.5 5:-2\n1 9:1\n");
  ASSERT_EQ(run("model importance --json " + model_ + " " + rows_), 0) << err_;
  const auto features = json()["features"];
  EXPECT_EQ(json()["examples"], 4);
  ASSERT_EQ(features.size(), 2u);
  EXPECT_EQ(features[0]["name"], "3");
  EXPECT_EQ(features[0]["importance"], (2 * 1 + 2 * 0.5) / 4);
  EXPECT_EQ(features[0]["entries"], 2);
  EXPECT_EQ(features[1]["importance"], (0.5 * 2 + 0.5 * 2) / 4);
  const std::string model = trained("");
  ASSERT_EQ(run("model importance --top 1 --json " + model + " " + csv_), 0) << err_;
  EXPECT_EQ(json()["features"][0]["name"].get<std::string>().substr(0, 5), "site=") << out_;
}

TEST_F(NamedFeatures, AnAuditShowsTheTermsOfEachScore) {
  write_text(rows_, "1 3:1\nx\n0 3:0.5 5:2 9:4\n");
  ASSERT_EQ(run("predict --raw --audit --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(out_,
            "1\n\tbias\t1\t-1\t-1\n\t3\t1\t2\t2\n"
            "nan\n"
            "1\n\tbias\t1\t-1\t-1\n\t3\t0.5\t2\t1\n\t5\t2\t0.5\t1\n\t9\t4\t0\t0\n");
}

TEST_F(NamedFeatures, AnAuditOfFactorsAddsUpWithTheirInteractions) {
  for (const std::string name : {"fm --rank 4", "ffm --rank 4"}) {
    const std::string model = trained("--model " + name);
    ASSERT_EQ(run("predict --raw --audit --id-column site --model " + model + " " + csv_), 0) << err_;
    std::istringstream text(out_);
    std::string line;
    ASSERT_TRUE(std::getline(text, line));
    EXPECT_EQ(line.substr(0, 6), "a.com,");
    const double score = std::stod(line.substr(6));
    double sum = 0;
    std::vector<std::string> names;
    while (std::getline(text, line) && line.front() == '\t') {
      sum += std::stod(line.substr(line.rfind('\t')));
      names.push_back(line.substr(1, line.find('\t', 1) - 1));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"bias", "site=a.com", "ad=x", "price", "interactions"}));
    EXPECT_NEAR(sum, score, 1e-5);
  }
}

TEST_F(NamedFeatures, AnAuditNamesWhatIsPairedWithItself) {
  const std::string model = trained("--interactions price*price,price*ad --raw-values");
  write_text(csv_, "site,ad,price\na.com,x,3\n");
  ASSERT_EQ(run("predict --audit --model " + model + " " + csv_), 0) << err_;
  for (const char* name : {"\n\tprice\t", "\n\tprice*price\t", "\n\tad=x\t", "\n\tad=x*price\t"})
    EXPECT_NE(out_.find(name), out_.npos) << name << "\n" << out_;
}

TEST_F(NamedFeatures, PruningLeavesOutWhatHardlyCounts) {
  const std::string small = folder_ / "small";
  ASSERT_EQ(run("model prune --json --below 1 -o " + small + " " + model_), 0) << err_;
  EXPECT_EQ(json()["model_rows"], 1);
  EXPECT_EQ(json()["removed"], 1);
  const auto digest = json()["model_digest"];
  ASSERT_EQ(run("model digest --json " + small), 0) << err_;
  EXPECT_EQ(json()["digest"], digest);
  ASSERT_EQ(run("predict --raw --model " + small + " " + rows_), 0) << err_;
  EXPECT_EQ(out_, "1\n-1\n0\n-1\n") << "without 0.5 for key 5";
  save(folder_ / "zeros", 0.0f);
  ASSERT_EQ(run("model prune --json -o " + (folder_ / "zeros") + " " + (folder_ / "zeros")), 0) << err_;
  EXPECT_EQ(json()["removed"], 1) << "a weight of 0";
  const std::string factors = trained("--model fm");
  ASSERT_EQ(run("model prune --json -o " + small + " " + factors), 0) << err_;
  EXPECT_EQ(json()["removed"], 0);
  ASSERT_EQ(run("model diff --json " + small + " " + factors), 0) << err_;
  EXPECT_EQ(json()["equal"], true);
  ASSERT_EQ(run("train --init " + small + " " + csv_), 0) << "with its optimizer state: " << err_;
  EXPECT_EQ(run("model prune " + model_), 2);
}

TEST_F(NamedFeatures, AgesOfPrunedFeaturesGoWithThem) {
  const std::string model = trained("--expire-after 1000");
  ASSERT_EQ(run("model inspect --json " + model), 0) << err_;
  const auto rows = json()["tables"][1]["rows"].get<std::uint64_t>();
  ASSERT_EQ(json()["tables"][2]["rows"], rows);
  ASSERT_EQ(run("model prune --json --below 1e30 -o " + model + " " + model), 0) << err_;
  EXPECT_EQ(json()["removed"], rows);
  EXPECT_EQ(json()["model_rows"], 0);
  ASSERT_EQ(run("model inspect --json " + model), 0) << err_;
  EXPECT_EQ(json()["tables"][2]["rows"], 0) << "of ages";
}

TEST(TopFeatures, KeepTheHighestEachOnce) {
  TopFeatures top(2);
  for (const int rank : {3, 1, 4, 1, 5, 4}) {
    top.add({static_cast<Key>(rank), static_cast<float>(-rank), static_cast<double>(rank)});
  }
  EXPECT_FALSE(top.wants(5, 5)) << "is there";
  EXPECT_FALSE(top.wants(9, 4)) << "of equal ranks the lower key stays";
  EXPECT_TRUE(top.wants(2, 4));
  const std::vector<Feature> all = top.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].key, 5u);
  EXPECT_EQ(all[1].key, 4u);
}

}  // namespace
}  // namespace thalweg
