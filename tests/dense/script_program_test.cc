// TorchScript modules through the program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;

bool says(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

class ScriptProgram : public testing::Test {
 protected:
  // Rows of 64 numbers; the class is the third of them in which most are.
  ScriptProgram() {
    Random random(4);
    std::string rows;
    for (int r = 0; r < 900; ++r) {
      const std::uint64_t label = random.below(3);
      rows += std::to_string(label);
      for (std::uint64_t i = 0; i < 63; ++i) {
        const bool in_third = i / 21 == label;
        if (random.chance(in_third ? 0.5 : 0.2)) rows += fmt::format(" {}:{:.3f}", i, random.unit());
      }
      rows += fmt::format(" 63:{:.3f}\n", random.unit());
    }
    rows_ = folder_.write("rows.svm", rows);
  }
  std::string module(const std::string& kind) const {
    const std::string path = folder_ / (kind + ".pt");
    EXPECT_EQ(
        std::system(fmt::format("{} {} {}", in_quotes(THALWEG_MAKE_SCRIPT), kind, in_quotes(path)).c_str()),
        0);
    return path;
  }
  json told(const std::string& arguments) const {
    const Ran ran = run(arguments + " --json --quiet");
    EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }
  std::string refused(const std::string& arguments) const {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  }
  std::string train(const std::string& kind) const {
    return fmt::format("train {} --model script:{} --valid-part 10 ", in_quotes(rows_),
                       in_quotes(module(kind)));
  }

  const TemporaryFolder folder_;
  std::string rows_;
};

TEST_F(ScriptProgram, LearnsFromTheWeightsThatComeWithIt) {
  const std::string begin = train("linear");
  const json untouched =
      told(begin + "--epochs 1 --rate 0 --optimizer sgd --out " + in_quotes(folder_ / "begin"));
  const json learnt = told(begin + "--epochs 5 --out " + in_quotes(folder_ / "model"));
  EXPECT_GT(learnt["valid_accuracy"], 0.85);
  EXPECT_LT(untouched["valid_accuracy"], 0.6);
  const json with_ring = told(begin + "--epochs 1 --rate 0 --optimizer sgd --exchange ring --workers 2");
  EXPECT_EQ(with_ring["model_digest"], untouched["model_digest"])
      << "the module's own weights at every shard";
  const json by_processes = told(begin + "--epochs 5 --processes --servers 2 --workers 2");
  EXPECT_EQ(by_processes["model_digest"], learnt["model_digest"]);
  EXPECT_EQ(told(begin + "--epochs 5")["model_digest"], learnt["model_digest"]) << "each time the same bits";
}

// The directory has all that a model needs.
TEST_F(ScriptProgram, IsAModelLikeOthersOnceItIsSaved) {
  const std::string model = folder_ / "model";
  const json learnt = told(train("linear") + "--epochs 3 --out " + in_quotes(model));
  std::filesystem::remove(folder_ / "linear.pt");
  EXPECT_GT(told("eval --model " + in_quotes(model) + " " + in_quotes(rows_))["accuracy"], 0.8);
  EXPECT_NE(run("model inspect " + in_quotes(model)).out.find("layer.weight"), std::string::npos);
  const Ran predicted = run("predict --model " + in_quotes(model) + " " + in_quotes(rows_));
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 900);
  const json gone_on =
      told("train " + in_quotes(rows_) + " --init " + in_quotes(model) + " --epochs 2 --valid-part 10");
  const json whole = told(train("linear") + "--epochs 5");
  EXPECT_EQ(gone_on["model_digest"], whole["model_digest"]);
  const std::string init = "--init " + in_quotes(model);
  EXPECT_EQ(told(train("linear") + init + " --epochs 2")["model_digest"], whole["model_digest"])
      << "its file may be named again";
  EXPECT_TRUE(says(refused(train("gained") + init), "gained.pt, but the model at")) << "another one";
  std::ofstream(model + "/script.pt", std::ios::app) << "x";
  const Ran damaged = run("eval --model " + in_quotes(model) + " " + in_quotes(rows_));
  EXPECT_EQ(damaged.code, 8);
  EXPECT_NE(damaged.err.find("script.pt is damaged"), std::string::npos) << damaged.err;
}

// As state_dict() has them: buffers and parameters that are not learnt, too.
TEST_F(ScriptProgram, IsExportedWithWhatItDoesNotLearn) {
  const std::string model = in_quotes(folder_ / "model");
  told(train("linear") + "--epochs 1 --out " + model);
  const std::string tensors = folder_ / "model.safetensors", arrays = folder_ / "model.npz";
  told("model export " + model + " -o " + in_quotes(tensors));
  const std::string all = read_text(tensors);
  std::uint64_t length = 0;
  ASSERT_GT(all.size(), sizeof length);
  std::memcpy(&length, all.data(), sizeof length);
  const json header = json::parse(all.substr(sizeof length, length));
  EXPECT_EQ(header.size(), 5u) << header;
  EXPECT_EQ(header["layer.weight"]["shape"], json({3, 64}));
  EXPECT_EQ(header["layer.scale"]["shape"], json::array());
  EXPECT_EQ(header["layer.counted"]["dtype"], "I64");
  std::int64_t counted[2] = {};
  std::memcpy(
      counted,
      all.data() + sizeof length + length + header["layer.counted"]["data_offsets"][0].get<std::size_t>(),
      sizeof counted);
  EXPECT_EQ(counted[1], 7);
  told("model export " + model + " --format npz -o " + in_quotes(arrays));
  EXPECT_NE(read_text(arrays).find("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"),
            std::string::npos);
}

TEST_F(ScriptProgram, WhatItPrintsIsNoResult) {
  const Ran ran = run(train("chatty") + "--epochs 1 --json --quiet");
  EXPECT_TRUE(json::accept(ran.out)) << ran.out;
  EXPECT_NE(ran.err.find("rows of 64\n"), std::string::npos) << ran.err;
}

TEST_F(ScriptProgram, UsesTheModulesOwnLoss) {
  const std::string squared = train("huber") + "--loss squared --rate 0.02 --epochs 4 ";
  const json own = told(squared);
  EXPECT_LT(own["valid_rmse"], 0.75);
  EXPECT_LT(own["train_loss"], 0.3);
  EXPECT_NE(told(train("line") + "--loss squared --rate 0.02 --epochs 4 ")["model_digest"],
            own["model_digest"]);
}

// logloss is that of the scores, whatever the module learns by.
TEST_F(ScriptProgram, FiguresAreOfTheLossThatTheyAreNamedAfter) {
  const std::string still = "--epochs 1 --rate 0 --optimizer sgd --out " + in_quotes(folder_ / "model");
  for (const char* kind : {"linear", "hundredfold"}) {
    const json figures = told(train(kind) + still);
    EXPECT_NEAR(figures["valid_logloss"].get<double>(), std::log(3), 0.2) << kind;
    EXPECT_NEAR(figures["train_logloss"].get<double>(), std::log(3), 0.2) << kind;
    const json measured = told("eval --model " + in_quotes(folder_ / "model") + " " + in_quotes(rows_));
    EXPECT_NEAR(measured["logloss"].get<double>(), std::log(3), 0.2) << kind;
  }
}

// As `linear` learns with one number more, which no seed has drawn.
TEST_F(ScriptProgram, AParameterMayHaveNoDimensions) {
  const std::string model = folder_ / "model";
  EXPECT_GT(told(train("gained") + "--epochs 5 --out " + in_quotes(model))["valid_accuracy"], 0.85);
  const std::string still = "--epochs 1 --rate 0 --optimizer sgd";
  EXPECT_EQ(told(train("gained") + still)["valid_loss"], told(train("linear") + still)["valid_loss"])
      << "times 1";
  EXPECT_GT(told("eval --model " + in_quotes(model) + " " + in_quotes(rows_))["accuracy"], 0.85);
}

// What passes the trial may still fail: for some numbers of rows, for some rows, or where gradients are
// wanted.
TEST_F(ScriptProgram, AModuleThatFailsEndsTheTrainingWithWhatItSays) {
  const std::string processes = "--processes --servers 1 --workers 2 ";
  const std::pair<const char*, const char*> failures[] = {
      {"even", "even.pt: it fails on a batch of 51 rows: RuntimeError: shape '[25, 2, 3]' is invalid"},
      {"detached", "detached.pt: it fails on a batch of 51 rows: element 0 of tensors does not require grad"},
      {"doubled", "doubled.pt: it fails on a batch of 51 rows: RuntimeError: Target 4 is out of bounds."}};
  for (const auto& [kind, message] : failures) {
    for (const std::string& how : {std::string(), processes}) {
      const std::string error = refused(train(kind) + "--data-shards 2 --batch 102 " + how);
      EXPECT_TRUE(says(error, "thalweg: USAGE: ")) << error;
      EXPECT_TRUE(says(error, message)) << error;
    }
  }
}

TEST_F(ScriptProgram, AModuleThatFailsOnTheRowsToScoreSaysSo) {
  const std::string model = folder_ / "model";
  told(train("dark") + "--raw-values --epochs 1 --out " + in_quotes(model));
  const std::string bright = folder_.write("bright.svm", "1 2:1 63:1\n0 63:2\n");
  for (const char* command : {"eval", "predict", "predict --probabilities"}) {
    const std::string error =
        refused(std::string(command) + " --model " + in_quotes(model) + " " + in_quotes(bright));
    EXPECT_TRUE(says(
        error, "script.pt: it fails on a batch of 2 rows: RuntimeError: AssertionError: a row is too bright"))
        << error;
  }
  const std::string held_out =
      refused(fmt::format("train {} --raw-values --model script:{} --valid {}", in_quotes(rows_),
                          in_quotes(folder_ / "dark.pt"), in_quotes(bright)));
  EXPECT_TRUE(says(held_out, "dark.pt: it fails on a batch of ")) << held_out;
}

TEST_F(ScriptProgram, WhatCannotBeUsedIsRefusedWithTheReason) {
  const std::string wrong = refused(train("wrong"));
  EXPECT_TRUE(says(wrong, "its forward makes CPUFloatType [2, 2]; expected float32 [2, 3]")) << wrong;
  const std::string narrow = refused(train("narrow"));
  EXPECT_TRUE(says(narrow,
                   "narrow.pt: cannot be used as a TorchScript module: RuntimeError: mat1 and mat2 "
                   "shapes cannot be multiplied (2x64 and 32x3)"))
      << narrow;
  const std::string frozen = refused(train("frozen"));
  EXPECT_TRUE(says(frozen, "frozen.pt: it has no parameters that want gradients")) << frozen;
  const std::string rows = refused(fmt::format("train {0} --model script:{0}", in_quotes(rows_)));
  EXPECT_TRUE(says(rows, "rows.svm: cannot be used as a TorchScript module")) << rows;
  const std::string missing = refused(fmt::format("train {} --model script:nowhere.pt", in_quotes(rows_)));
  EXPECT_TRUE(says(missing, "nowhere.pt: cannot be opened: No such file or directory")) << missing;
  const std::string bare = refused(fmt::format("train {} --model script", in_quotes(rows_)));
  EXPECT_TRUE(says(bare, "script:FILE")) << bare;
}

}  // namespace
}  // namespace thalweg
