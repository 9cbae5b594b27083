// Models of text through the program: trained, measured, continued.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;

class TextProgram : public testing::Test {
 protected:
  TextProgram() {
    // After each of two letters the same word follows.
    Random random(1);
    std::string text;
    while (text.size() < 6000) text += random.chance(0.5) ? "one bird\n" : "two fish\n";
    file_ = folder_.write("words.txt", text);
  }
  json told(const std::string& arguments) const {
    const Ran ran = run(arguments + " --json --quiet");
    EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }
  std::string train() const { return "train " + kSizes + in_quotes(file_); }
  // A model that has been trained a little.
  std::string model() const {
    const std::string path = in_quotes(folder_ / "model");
    told(train() + " --epochs 10 --rate 0.02 --out " + path);
    return path;
  }

  const std::string kSizes = "--model gpt --layers 1 --width 16 --heads 2 --context 16 --batch 16 ";
  const TemporaryFolder folder_;
  std::string file_;
};

TEST_F(TextProgram, LearnsWhatFollowsWhat) {
  const json result = told(train() + " --epochs 10 --rate 0.02");
  ASSERT_TRUE(result.contains("valid_nats_per_byte"));
  // One choice of two a line of 9 bytes is 0.077 nats a byte; the first bytes of a row know less.
  EXPECT_LT(result["valid_nats_per_byte"].get<double>(), 0.25);
  EXPECT_EQ(result["examples"], 10 * 337) << "windows of 16 bytes and one behind in 5,405 bytes";
  EXPECT_TRUE(result.contains("train_nats_per_byte"));
  for (const char* word : {"valid_accuracy", "valid_auc", "valid_logloss", "train_logloss"})
    EXPECT_FALSE(result.contains(word)) << word;
}

TEST_F(TextProgram, NoBitDependsOnServersOrWorkers) {
  const std::string job = train() + " --epochs 1 --data-shards 4";
  const json one = told(job + " --servers 1 --workers 1");
  for (const std::string nodes : {" --servers 3 --workers 2", " --processes --servers 2 --workers 4"}) {
    const json other = told(job + nodes);
    EXPECT_EQ(one["model_digest"], other["model_digest"]) << nodes;
    EXPECT_EQ(one["valid_nats_per_byte"], other["valid_nats_per_byte"]) << nodes;
  }
  EXPECT_NE(one["model_digest"], told(job + " --seed 2")["model_digest"]);
}

// Bytes are no values that could be scaled.
TEST_F(TextProgram, ATrainingThatDivergesIsNotSaved) {
  const Ran ran = run(train() + " --quiet --epochs 5 --rate 1e6 --out " + in_quotes(folder_ / "wild"));
  EXPECT_EQ(ran.code, 7) << ran.err;
  EXPECT_NE(ran.err.find("hint: lower --rate\n"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("largest value"), std::string::npos) << ran.err;
}

// What has come by a pipe cannot be read again.
TEST_F(TextProgram, AModelOfAPipeThatIsWorseThanNoneIsNotSaved) {
  const std::string out = folder_ / "bad",
                    job = "train " + kSizes + "- --quiet --rate 10 --out " + in_quotes(out),
                    from = " <" + in_quotes(file_);
  const Ran bad = run(job + from);
  EXPECT_EQ(bad.code, 9) << bad.err;
  EXPECT_NE(bad.err.find("the train nats_per_byte of "), std::string::npos) << bad.err;
  EXPECT_NE(bad.err.find("no features at all, 5.5452"), std::string::npos) << bad.err;
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(run(job + " --batch 64" + from).code, 0) << "of so few steps nobody can say";
  EXPECT_EQ(run(job + " --keep-bad" + from).code, 0);
}

TEST_F(TextProgram, HoldsOutTheEndUnlessToldOtherwise) {
  const auto rows = [&](const std::string& more) { return told(train() + " --epochs 1" + more)["examples"]; };
  EXPECT_EQ(rows(" --valid-part 2"), 187);
  EXPECT_EQ(rows(" --valid " + in_quotes(file_)), 375);
  std::string text(600, 'x');
  text += std::string(66, 'y');  // The last tenth.
  const std::string file = in_quotes(folder_.write("end.txt", text));
  EXPECT_GT(told("train " + kSizes + file + " --epochs 10 --rate 0.02")["valid_nats_per_byte"].get<double>(),
            4);
}

TEST_F(TextProgram, TextByAPipeIsReadOnce) {
  const json piped = told("train " + kSizes + "- <" + in_quotes(file_));
  EXPECT_EQ(piped["examples"], 375);
  EXPECT_FALSE(piped.contains("valid_nats_per_byte"));
}

TEST_F(TextProgram, ASavedModelIsMeasuredAlike) {
  const std::string model = in_quotes(folder_ / "whole");
  const json trained =
      told("train --model gpt --layers 6 --width 8 --heads 2 --context 16 --batch 64 --epochs 1 --valid " +
           in_quotes(file_) + " --out " + model + " " + in_quotes(file_));
  const json measured = told("eval --model " + model + " " + in_quotes(file_));
  EXPECT_NEAR(measured["nats_per_byte"].get<double>(), trained["valid_nats_per_byte"].get<double>(), 1e-6);
  EXPECT_TRUE(measured["accuracy"].is_null());
  EXPECT_TRUE(measured["logloss"].is_null());
  const json inspected = told("model inspect " + model);
  EXPECT_EQ(inspected["loss"], "bytes");
  EXPECT_EQ(inspected["tables"].size(), 76u);
  EXPECT_EQ(told("model digest " + model)["digest"], trained["model_digest"]);
  EXPECT_EQ(run("model diff " + model + " " + model).code, 0);
}

TEST_F(TextProgram, ExportsTheTensorsThatNanoGptKnows) {
  const std::string file = folder_ / "model.safetensors";
  told("model export " + model() + " -o " + in_quotes(file));
  std::ifstream in(file, std::ios::binary);
  std::uint64_t size = 0;
  in.read(reinterpret_cast<char*>(&size), sizeof size);
  ASSERT_LT(size, 1u << 20);
  std::string header(size, ' ');
  in.read(header.data(), static_cast<std::streamsize>(size));
  const json tensors = json::parse(header);
  EXPECT_EQ(tensors["transformer.wte.weight"]["shape"], (std::vector<int>{256, 16}));
  EXPECT_EQ(tensors["transformer.wpe.weight"]["shape"], (std::vector<int>{16, 16}));
  EXPECT_EQ(tensors["transformer.h.0.attn.c_attn.weight"]["shape"], (std::vector<int>{48, 16}));
  EXPECT_EQ(tensors["transformer.h.0.mlp.c_fc.weight"]["shape"], (std::vector<int>{64, 16}));
  EXPECT_EQ(tensors["transformer.h.0.mlp.c_proj.weight"]["shape"], (std::vector<int>{16, 64}));
  EXPECT_EQ(tensors["transformer.ln_f.weight"]["shape"], (std::vector<int>{16}));
}

TEST_F(TextProgram, GeneratesTheSameForASeed) {
  const std::string generate = "generate --model " + model() + " --prompt 'one b' --bytes 60";
  EXPECT_EQ(run(generate + " --bytes 4 --temperature 0").out, "one bird\n\n");
  const Ran first = run(generate + " --seed 3");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out.size(), 5u + 60 + 1);
  EXPECT_EQ(first.out, run(generate + " --seed 3").out);
  // Of a hot draw, so that each byte follows from its own number alone.
  const std::string hot = generate + " --temperature 100 --json --seed ";
  const std::string third = told(hot + "3")["text"], fourth = told(hot + "4")["text"];
  for (std::size_t shift = 0; shift < 3; ++shift)
    EXPECT_NE(third.substr(shift, 40), fourth.substr(0, 40)) << shift;
  const json result = told(generate + " --seed 3");
  EXPECT_EQ("one b" + result["text"].get<std::string>() + "\n", first.out);
}

TEST_F(TextProgram, WrongInputHasOneClearError) {
  const auto refused = [&](const std::string& arguments, int code, const std::string& why) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << arguments << "\n" << ran.err;
  };
  const std::string file = in_quotes(file_), tiny = in_quotes(folder_.write("tiny.txt", "to be"));
  const std::string gpt = "train --model gpt ";
  refused(gpt + "--layers 0 " + file, 2, "--layers: '0' is not a whole number from 1 to 64");
  refused(gpt + "--width 100 --heads 3 " + file, 2, "--width 100 does not divide among --heads 3");
  refused(gpt + "--heads 256 " + file, 2, "--heads 256; expected 1 to 128");
  refused(gpt + tiny, 4, "5 bytes to learn from; expected more than the 128 of --context");
  refused(gpt + "--context 700 " + file, 4, "600 bytes to hold out; expected more than the 700 of --context");
  refused(gpt + in_quotes(folder_.write("empty.txt", "")), 4, "empty.txt: is empty; expected text");
  refused(gpt + "--format csv " + file, 2, "--format has no meaning with --model gpt");
  refused(gpt + "--inputs 3 " + file, 2, "--inputs has no meaning with --model gpt");
  refused(gpt + "--loss classes " + file, 2, "--loss has no meaning with --model gpt");
  refused("train --model mlp --layers 3 " + file, 2, "--layers 3 (flag --layers) has no meaning with");
  refused("generate --prompt x", 2, "--model DIR is missing");
  refused("generate --prompt x --model " + in_quotes(folder_ / "nowhere"), 8, "nowhere");
  const std::string text_model = model(), rows = in_quotes(folder_.write("rows.svm", "1 1:1\n0 2:1\n"));
  refused("predict --model " + text_model + " " + file, 2, "is of text, which has no rows to score");
  refused("eval --format libsvm --model " + text_model + " " + file, 2, "takes any file of bytes");
  refused("eval --model " + text_model + " " + tiny, 4, "5 bytes; expected more than the 16 of --context");
  told("train " + rows + " --out " + in_quotes(folder_ / "clicks"));
  refused("generate --model " + in_quotes(folder_ / "clicks"), 2, "model lr is not of text");
}

}  // namespace
}  // namespace thalweg
