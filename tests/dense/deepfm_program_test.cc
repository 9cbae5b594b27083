// deepfm through the program: trained, measured, told about.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;

class DeepFmProgram : public testing::Test {
 protected:
  DeepFmProgram() {
    rows_ = folder_ / "rows.ffm";
    flat_ = folder_ / "rows.svm";
    EXPECT_EQ(run("data synth --rows 4000 --format libffm -o " + rows_).code, 0);
    EXPECT_EQ(run("data synth --rows 4000 -o " + flat_).code, 0);
  }
  json told(const std::string& arguments) const {
    const Ran ran = run(arguments + " --json --quiet");
    EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }
  const TemporaryFolder folder_;
  std::string rows_, flat_;
};

TEST_F(DeepFmProgram, LearnsFromRowsWithFieldsAndWithout) {
  for (const std::string& rows : {rows_, flat_}) {
    const json result = told("train --model deepfm --valid-part 5 --epochs 2 " + rows);
    EXPECT_GT(result["valid_auc"].get<double>(), 0.62) << rows;
    EXPECT_EQ(result["examples"], 6400) << rows;
  }
}

TEST_F(DeepFmProgram, APipeMustSayItsFieldsWhereItHasSome) {
  EXPECT_EQ(told("train --model deepfm --batch 500 - <" + flat_)["examples"], 4000);
  EXPECT_EQ(told("train --model deepfm --batch 500 --fields 39 - <" + rows_)["examples"], 4000);
  const Ran ran = run("train --model deepfm - <" + rows_);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--fields must be given when deepfm learns from libffm rows of a pipe"),
            std::string::npos)
      << ran.err;
}

TEST_F(DeepFmProgram, APipeOfColumnsHasTheirFields) {
  std::string csv = "site,ad,click\n";
  for (int row = 0; row < 300; ++row)
    csv += fmt::format("s{},a{},{}\n", row % 7, row % 3, row % 7 < 3 ? 1 : 0);
  const std::string rows = folder_ / "rows.csv", model = folder_ / "model";
  write_text(rows, csv);
  const std::string job = "train --model deepfm --hidden 8 --batch 100 --data-shards 1 --out " + model + " ";
  const json piped = told(job + "- <" + rows);
  EXPECT_NE(run("model inspect " + model).out.find("rank 8, 2 fields"), std::string::npos);
  EXPECT_EQ(told(job + rows)["model_digest"], piped["model_digest"]);
}

// What it goes on with is known by its flags, not by its tables.
TEST_F(DeepFmProgram, AnotherShapeThanThatOfTheModelIsRefusedByItsFlag) {
  const std::string flat = folder_ / "flat", fields = folder_ / "fields";
  (void)told("train --model deepfm --hidden 8 --out " + flat + " " + flat_);
  (void)told("train --model deepfm --hidden 8,4 --out " + fields + " " + rows_);
  const auto refused = [](const std::string& arguments, const std::string& why) {
    const Ran ran = run("train " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << arguments << "\n" << ran.err;
  };
  refused("--init " + fields + " --hidden 8 " + rows_,
          "--hidden 8, but the model at " + fields + " has 8,4; leave --hidden out");
  refused("--init-weights " + fields + " --rank 4 " + rows_,
          "--rank 4, but the model at " + fields + " has 8; leave --rank out");
  refused("--init " + fields + " --fields 3 " + rows_,
          "--fields 3, but the model at " + fields + " has 39; leave --fields out");
  refused("--init " + flat + " --fields 3 " + flat_, "has no fields; leave --fields out");
  refused("--init-weights " + flat + " " + rows_,
          "--init-weights " + flat + ": its fields are none, and this training's those that rows have");
}

TEST_F(DeepFmProgram, ASchedulerWithoutRowsSaysThatItsModelHasNoFields) {
  const std::string job = "node scheduler --model deepfm --listen nowhere ";
  const std::string warning = "deepfm learns without fields, since no training files are named here";
  EXPECT_NE(run(job).err.find(warning), std::string::npos) << run(job).err;
  for (const std::string& told : {std::string("--fields 39"), flat_})
    EXPECT_EQ(run(job + told).err.find(warning), std::string::npos) << told;
}

TEST_F(DeepFmProgram, ARowOfAFieldThatTheModelHasNotIsABadRow) {
  const std::string model = folder_ / "model", late = folder_ / "late.ffm";
  (void)told("train --model deepfm --hidden 8 --out " + model + " " + rows_);
  write_text(late, "1 0:1:1\n0 39:1:1\n1 38:2:1\n");
  const std::string place = late + ":2:1: saw \"field 39\", expected fields 0 to 38";
  for (const std::string& command : {"eval --model " + model, std::string("train --model deepfm --fields 39"),
                                     "train --model deepfm --valid " + late + " " + rows_}) {
    const bool is_valid = command.find("--valid") != std::string::npos;
    const Ran ran = run(command + (is_valid ? "" : " " + late));
    EXPECT_EQ(ran.code, 4) << command;
    EXPECT_NE(ran.err.find(place), std::string::npos) << ran.err;
  }
  EXPECT_EQ(told("eval --on-bad-row skip:1 --model " + model + " " + late)["examples"], 2);
  const Ran answers = run("predict --model " + model + " " + late);
  EXPECT_EQ(answers.code, 0) << answers.err;
  EXPECT_EQ(std::count(answers.out.begin(), answers.out.end(), '\n'), 3) << answers.out;
  EXPECT_NE(answers.out.find("\nnan\n"), std::string::npos) << answers.out;
}

// The same rows with fields and without: entries of the latter are in the order of their fields.
TEST_F(DeepFmProgram, AnEntrysPlaceIsItsFieldWhereRowsHaveNone) {
  const std::string job = "train --model deepfm --hidden 8 --batch 200 --data-shards 2 ",
                    model = folder_ / "model";
  const json with_fields = told(job + "--valid " + rows_ + " " + rows_);
  const json by_place = told(job + "--fields 39 --out " + model + " --valid " + flat_ + " " + flat_);
  EXPECT_EQ(by_place["valid_auc"], with_fields["valid_auc"]);
  EXPECT_NE(told(job + "--valid " + flat_ + " " + flat_)["valid_auc"], with_fields["valid_auc"]);
  EXPECT_EQ(told(job + "--fields 39 --processes --valid " + flat_ + " " + flat_)["model_digest"],
            by_place["model_digest"]);
  EXPECT_NEAR(told("eval --model " + model + " " + flat_)["auc"].get<double>(),
              by_place["valid_auc"].get<double>(), 1e-6);
  EXPECT_NE(run("model inspect " + model).out.find("39 fields by place"), std::string::npos);
  EXPECT_EQ(told(job + "--init " + model + " " + flat_)["examples"], 4000);
  const auto refusal = [](const std::string& command) {
    const Ran ran = run(command);
    EXPECT_NE(ran.code, 0) << command;
    return ran.err;
  };
  EXPECT_NE(refusal("eval --model " + model + " " + rows_).find("rows have fields"), std::string::npos);
  EXPECT_NE(refusal(job + "--init " + model + " " + rows_).find("its fields are the places"),
            std::string::npos);
  EXPECT_NE(refusal(job + "--fields 38 " + flat_).find(":1: saw \"39 entries\", expected at most 38"),
            std::string::npos);
  EXPECT_NE(refusal(job + "--fields 39 --min-count 2 " + flat_).find("expected one of the two"),
            std::string::npos);
}

TEST_F(DeepFmProgram, NoBitDependsOnServersWorkersOrTheRoute) {
  const std::string job = "train --model deepfm --hidden 8 --batch 200 --data-shards 4 " + rows_;
  const json one = told(job + " --servers 1 --workers 1");
  for (const std::string nodes : {" --servers 3 --workers 2", " --processes --servers 2 --workers 4"})
    EXPECT_EQ(told(job + nodes)["model_digest"], one["model_digest"]) << nodes;
  EXPECT_EQ(told(job + " --workers 4 --exchange auto --optimizer adagrad")["model_digest"],
            told(job + " --workers 4 --optimizer adagrad")["model_digest"]);
  EXPECT_NE(told(job + " --seed 2")["model_digest"], one["model_digest"]);
  EXPECT_NE(told(job + " --layer-rate 0.05")["model_digest"], one["model_digest"]);
}

// Of two shards each route adds up as servers do, of more some.
TEST_F(DeepFmProgram, LayersByARouteLeaveFactorsToServersWithTheSameBits) {
  const std::string job = "train --model deepfm --hidden 8 --batch 200 --valid-part 5 --epochs 2 " + rows_;
  for (const auto& [shards, route] :
       {std::pair("4", "dense:recursive-doubling"), {"3", "dense:binomial-tree"}, {"2", "dense:ring"}}) {
    const std::string own = fmt::format(" --data-shards {} --workers {}", shards, shards);
    const json by_servers = told(job + own);
    for (const std::string nodes : {" --servers 1", " --servers 3", " --processes --servers 2"}) {
      const json result = told(job + own + " --exchange " + route + nodes);
      EXPECT_EQ(result["model_digest"], by_servers["model_digest"]) << route << nodes;
      EXPECT_EQ(result["valid_auc"], by_servers["valid_auc"]) << route << nodes;
    }
  }
}

TEST_F(DeepFmProgram, LayersByARouteGoOnWithTheirState) {
  const std::string job = "train --hidden 8 --batch 200 --data-shards 2 " + rows_, first = folder_ / "first";
  const json twice = told(job + " --model deepfm --epochs 2");
  told(job + " --model deepfm --exchange dense:auto --out " + first);
  for (const std::string way : {"dense:auto", "dense:auto --processes", "auto --processes", "servers"})
    EXPECT_EQ(told(job + " --init " + first + " --exchange " + way)["model_digest"], twice["model_digest"])
        << way;
}

// Per step each of n shards sends 2 (n - 1) / n of the layers to others and none to servers, which get them
// once a pass, with a float of state for each of theirs.
TEST_F(DeepFmProgram, LayersGoByTheRouteAndNothingElseDoes) {
  const auto counted = [&](int hidden, const std::string& exchange) {
    return told(
        fmt::format("train --model deepfm --hidden {} --batch 256 --epochs 2 --data-shards 4 --workers 4 "
                    "--processes --servers 1 --exchange {} {}",
                    hidden, exchange, rows_));
  };
  constexpr std::uint64_t kShards = 4, kPasses = 2, kShown = 2 * kPasses, kInputs = 39 * 8, kFloat = 4;
  const auto bytes = [](std::uint64_t hidden) { return kFloat * ((kInputs + 2) * hidden + 1); };
  const auto number = [](const json& result, const char* name) { return result[name].get<std::uint64_t>(); };
  const json narrow = counted(8, "dense:ring"), wide = counted(24, "dense:ring");
  const std::uint64_t steps = number(wide, "steps");  // And a round a pass in which none has a step.
  const std::uint64_t more = bytes(24) - bytes(8);
  EXPECT_EQ(number(wide, "pushed_bytes") - number(narrow, "pushed_bytes"), kShown * more);
  // Pulls that wait for others are told so by some bytes more.
  const auto sent = static_cast<double>(kShown * more + 2 * (kShards - 1) * (steps + kPasses) * more);
  EXPECT_NEAR(static_cast<double>(number(wide, "bytes_sent") - number(narrow, "bytes_sent")), sent,
              sent / 50);
  const json by_servers = counted(24, "servers");
  constexpr std::uint64_t kEmptyPush = 128, kTables = 9;
  EXPECT_LT(number(wide, "pushed_bytes"), number(by_servers, "pushed_bytes") - kShards * steps * bytes(24) +
                                              kShown * bytes(24) +
                                              kShards * kTables * (steps + 8) * kEmptyPush);
}

TEST_F(DeepFmProgram, EveryAlgorithmThatMakesSenseTrainsIt) {
  const std::string job = "train --model deepfm --hidden 8 --valid-part 5 --batch 200 --data-shards 3 ";
  for (const std::string algorithm :
       {"ssp:2", "async", "softsync:2", "backup:1", "downpour", "easgd", "dcasgd", "local:4", "fedavg"}) {
    const json result = told(job + "--algorithm " + algorithm + " --optimizer adagrad " + rows_);
    EXPECT_GT(result["valid_auc"].get<double>(), 0.55) << algorithm;
  }
  const Ran gossip = run(job + "--algorithm dpsgd:ring " + rows_);
  EXPECT_EQ(gossip.code, 2);
  EXPECT_NE(gossip.err.find("makes no sense with --model deepfm"), std::string::npos) << gossip.err;
}

TEST_F(DeepFmProgram, ASavedModelIsMeasuredScoredShownAndExported) {
  const std::string model = folder_ / "model";
  const json trained =
      told("train --model deepfm --hidden 8,4 --valid " + rows_ + " --out " + model + " " + rows_);
  const json measured = told("eval --model " + model + " " + rows_);
  EXPECT_NEAR(measured["auc"].get<double>(), trained["valid_auc"].get<double>(), 1e-6);
  EXPECT_EQ(told("predict --model " + model + " " + rows_ + " -o " + folder_ / "scores")["examples"], 4000);
  const Ran shown = run("model inspect " + model);
  EXPECT_NE(shown.out.find("model    deepfm, logistic loss, rank 8, 39 fields"), std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("mlp.5.bias"), std::string::npos) << shown.out;
  EXPECT_EQ(run("model digest " + model).out.substr(0, 16), trained["model_digest"].get<std::string>());
  const std::string exported = folder_ / "model.safetensors";
  ASSERT_EQ(run("model export " + model + " -o " + exported).code, 0);
  std::string head(16384, ' ');
  std::FILE* const file = std::fopen(exported.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  head.resize(std::fread(head.data(), 1, head.size(), file));
  std::fclose(file);
  EXPECT_NE(head.find(R"("mlp.1.weight":{)"), std::string::npos) << head;
  EXPECT_NE(head.find(R"("shape":[8,312])"), std::string::npos) << head;
  EXPECT_NE(head.find(R"("factors.keys")"), std::string::npos) << head;
}

TEST_F(DeepFmProgram, WrongFlagsSayWhatIsExpected) {
  const auto refusal = [&](const std::string& flags, const std::string& rows) {
    const Ran ran = run("train --model deepfm " + flags + " " + rows);
    EXPECT_EQ(ran.code, 2) << flags;
    return ran.err;
  };
  EXPECT_NE(refusal("--hidden 8,,4", rows_).find("'8,,4' is not whole numbers from 1"), std::string::npos);
  EXPECT_NE(refusal("--layers 2", rows_).find("--layers"), std::string::npos);
  EXPECT_NE(refusal("--loss classes", rows_).find("for lr and dense models"), std::string::npos);
  EXPECT_NE(refusal("--rank 1024 --fields 100", rows_).find("fields * rank <= 65536"), std::string::npos);
  const Ran linear = run("train --model fm --layer-rate 0.1 " + flat_);
  EXPECT_EQ(linear.code, 2);
  EXPECT_NE(linear.err.find("--layer-rate"), std::string::npos) << linear.err;
}

}  // namespace
}  // namespace thalweg
