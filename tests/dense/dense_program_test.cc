// Dense models through the program: trained, measured, told about.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"
#include "data/idx_for_test.h"

namespace thalweg {
namespace {

using nlohmann::json;

std::string quoted(const std::string& path) { return fmt::format("'{}'", path); }

constexpr std::uint32_t kSide = 8, kClasses = 3;

// Images with a bright stripe: across at the top, across at the bottom, or down the middle; and noise. A part
// of the labels may be wrong.
void write_stripes(const TemporaryFolder& folder, const std::string& name, std::uint32_t count,
                   std::uint64_t seed, double wrong = 0) {
  Random random(seed);
  std::string pixels, labels;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t label = i % kClasses;
    labels += static_cast<char>(wrong > 0 && random.chance(wrong) ? random.below(kClasses) : label);
    for (std::uint32_t y = 0; y < kSide; ++y) {
      for (std::uint32_t x = 0; x < kSide; ++x) {
        const bool bright = label == 0 ? y < 3 : label == 1 ? y > 4 : x == 3 || x == 4;
        pixels += static_cast<char>((bright ? 128 : 0) + random.below(128));
      }
    }
  }
  folder.write(name + "-images-idx3-ubyte", idx_images(count, kSide, kSide, pixels));
  folder.write(name + "-labels-idx1-ubyte", idx_labels(labels));
}

class DenseProgram : public testing::Test {
 protected:
  DenseProgram() {
    write_stripes(folder_, "train", 1200, 1);
    write_stripes(folder_, "t10k", 300, 2);
  }
  // The last line of JSON.
  json told(const std::string& arguments) const {
    const Ran ran = run(arguments + " --json --quiet");
    EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }
  std::string data() const { return quoted(folder_ / ""); }
  const TemporaryFolder folder_;
};

// With the optimizer's state, which data shards that exchange take from the servers.
TEST_F(DenseProgram, TwoTrainingsOfAPassHaveTheBitsOfOneOfTwo) {
  const std::string one = quoted(folder_ / "one");
  const auto digest = [&](const std::string& flags) {
    return told("train --batch 32 --model mlp --hidden 16 " + flags + " " + data())["model_digest"];
  };
  const json by_servers = digest("--optimizer adam --epochs 2");
  EXPECT_NE(digest("--optimizer adam --epochs 1 --out " + one), by_servers);
  EXPECT_EQ(digest("--epochs 1 --servers 2 --init " + one), by_servers);
  EXPECT_EQ(
      digest("--epochs 1 --exchange ring --workers 2 --init " + one + " --out " + quoted(folder_ / "two")),
      by_servers);
  EXPECT_EQ(digest("--epochs 1 --init " + quoted(folder_ / "two")), digest("--optimizer adam --epochs 3"));
  const std::string ring = "--exchange ring --optimizer sgd --rate 0.01 ";
  const json by_ring = digest(ring + "--epochs 2 --workers 2");
  EXPECT_NE(digest(ring + "--epochs 1 --workers 2 --out " + one), by_ring);
  for (const std::string how : {"--workers 2", "--workers 2 --processes", "--workers 2 --servers 2"})
    EXPECT_EQ(digest(ring + "--epochs 1 --init-weights " + one + " " + how), by_ring) << how;
  EXPECT_EQ(run("train --exchange ring --epochs 1 --optimizer adam --init " + one + " " + data()).code, 2);
  const Ran passed_on =
      run("train --algorithm 'rudra-adv*' --optimizer adagrad --init-weights " + one + " " + data());
  EXPECT_EQ(passed_on.code, 2);
  EXPECT_NE(passed_on.err.find("weights that come from a file"), std::string::npos) << passed_on.err;
}

TEST_F(DenseProgram, EachModelLearnsWhatTheImagesShow) {
  for (const std::string model : {"softmax", "mlp --hidden 32", "convnet"}) {
    const json result = told("train --batch 32 --epochs 2 --model " + model + " " + data());
    ASSERT_TRUE(result.contains("valid_accuracy")) << model;
    EXPECT_GT(result["valid_accuracy"].get<double>(), 0.95) << model;
    EXPECT_EQ(result["examples"], 2400);
  }
}

TEST_F(DenseProgram, NoBitDependsOnServersOrWorkers) {
  const std::string job = "train --model mlp --hidden 32 --batch 48 --epochs 2 --data-shards 4 " + data();
  const json one = told(job + " --servers 1 --workers 1");
  for (const std::string nodes :
       {" --servers 3 --workers 2", " --servers 2 --workers 4", " --processes --servers 2 --workers 2"}) {
    const json other = told(job + nodes);
    EXPECT_EQ(one["model_digest"], other["model_digest"]) << nodes;
    EXPECT_EQ(one["valid_logloss"], other["valid_logloss"]) << nodes;
  }
  EXPECT_NE(one["model_digest"], told(job + " --seed 2")["model_digest"]);
  const std::string images = "train --model convnet --batch 64 --epochs 1 " + data();
  EXPECT_EQ(told(images + " --threads 1")["model_digest"],
            told(images + " --processes --workers 2")["model_digest"]);
}

TEST_F(DenseProgram, OneShardOfTheLargerBatchLearnsTheSame) {
  // The same rows make a step either way, summed up in another order.
  const std::string job =
      "train --model softmax --epochs 3 --optimizer sgd --rate 0.002 --batch 64 " + data();
  const json one = told(job + " --data-shards 1"), four = told(job + " --data-shards 4");
  EXPECT_NEAR(one["valid_logloss"].get<double>(), four["valid_logloss"].get<double>(), 0.02);
}

TEST_F(DenseProgram, SaysThatWorkersHaveNothingToDo) {
  const Ran ran = run("train --model softmax --epochs 1 --workers 3 " + data());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("3 workers have 2 data shards, so that 1 of them stand by; --data-shards 3"),
            std::string::npos)
      << ran.err;
}

TEST_F(DenseProgram, APipeIsReadOnce) {
  const std::string rows = quoted(folder_.write("rows.svm", "0 0:1\n1 1:1\n"));
  const Ran ran = run("train --quiet --json --model softmax --inputs 2 --classes 2 - <" + rows);
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran unknown = run("train --quiet --model softmax - <" + rows);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--inputs and --classes must be given"), std::string::npos) << unknown.err;
}

TEST_F(DenseProgram, LearnsWithinABoundAndAsynchronously) {
  for (const std::string sync : {"ssp:2", "async"}) {
    const json result =
        told("train --model mlp --hidden 32 --batch 32 --epochs 2 --sync " + sync + " " + data());
    EXPECT_GT(result["valid_accuracy"].get<double>(), 0.95) << sync;
  }
}

TEST_F(DenseProgram, ShardsExchangeAmongThemselves) {
  const std::string job = "train --model mlp --hidden 32 --batch 48 --epochs 2 --data-shards 2 " + data();
  const json servers = told(job);
  for (const std::string exchange : {" --exchange auto", " --exchange ring --processes"}) {
    const json result = told(job + exchange);
    EXPECT_EQ(result["model_digest"], servers["model_digest"]) << exchange;
    EXPECT_EQ(result["valid_logloss"], servers["valid_logloss"]) << exchange;
    EXPECT_LT(result["bytes_sent"], servers["bytes_sent"]) << exchange;
    EXPECT_GT(result["exchange_seconds_exposed"], 0) << exchange;
    EXPECT_LT(result["pushed_bytes"].get<double>(), 0.1 * servers["pushed_bytes"].get<double>());
  }
}

TEST_F(DenseProgram, EveryAlgorithmLearnsAndRepeatsWhatItSaysItDoes) {
  const std::string job = "train --model mlp --hidden 32 --batch 48 --epochs 2 --data-shards 3 --algorithm ";
  for (const std::string algorithm :
       {"local:4", "fedavg", "dpsgd:ring", "dpsgd:complete", "downpour:fetch=2,push=2", "easgd", "dcasgd",
        "dcasgd-a", "adpsgd", "rudra", "rudra-adv", "'rudra-adv*'", "'rudra-adv*:2,tree=1' --processes"}) {
    const json result = told(job + algorithm + " " + data());
    EXPECT_GT(result["valid_accuracy"].get<double>(), 0.95) << algorithm;
    if (algorithm != "local:4" && algorithm != "dpsgd:ring") continue;
    EXPECT_EQ(told(job + algorithm + " --processes " + data())["model_digest"], result["model_digest"])
        << algorithm;
  }
}

// Wrong labels leave a loss to compare. Gradients of sync are sums over eight shards.
TEST_F(DenseProgram, GossipOnARingLearnsWhatSyncDoes) {
  write_stripes(folder_, "train", 1200, 1, 0.2);
  write_stripes(folder_, "t10k", 300, 2, 0.2);
  const std::string job =
      "train --model mlp --hidden 16 --batch 48 --epochs 8 --data-shards 8 --workers 8 --optimizer sgd ";
  const json sync = told(job + "--algorithm sync --rate 0.000625 " + data());
  const json gossip = told(job + "--algorithm dpsgd:ring --rate 0.005 " + data());
  for (const char* loss : {"train_loss", "valid_loss"}) {
    EXPECT_LT(sync[loss].get<double>(), 0.7) << loss;
    EXPECT_NEAR(gossip[loss].get<double>() / sync[loss].get<double>(), 1, 0.02) << loss;
  }
}

// In virtual time, so that who meets whom is the same each time.
TEST_F(DenseProgram, PairsAtTheirOwnPaceLearnWhatGossipDoes) {
  write_stripes(folder_, "train", 1200, 1, 0.2);
  write_stripes(folder_, "t10k", 300, 2, 0.2);
  const std::string job =
      "simulate train --model mlp --hidden 16 --batch 48 --epochs 8 --data-shards 8 --workers 8 "
      "--optimizer sgd --rate 0.005 --compute 'lognormal(10ms,0.5)' ";
  for (const std::string graph : {"ring", "complete"}) {
    const json gossip = told(job + "--algorithm dpsgd:" + graph + " " + data())["epochs"].back();
    const json pairs = told(job + "--algorithm adpsgd:" + graph + " " + data())["epochs"].back();
    for (const char* loss : {"train_loss", "valid_logloss"}) {
      EXPECT_LT(gossip[loss].get<double>(), 0.7) << loss;
      EXPECT_LE(pairs[loss].get<double>(), 1.02 * gossip[loss].get<double>()) << graph << " " << loss;
    }
  }
}

// In virtual time the same shards exchange the same bytes.
TEST_F(DenseProgram, ASimulatedGroupHasTheModelOfThreads) {
  const std::string job =
      " --model mlp --hidden 32 --batch 48 --epochs 2 --data-shards 3 --workers 3 --algorithm ";
  for (const std::string algorithm :
       {"sync --exchange ring", "local:4", "fedavg", "dpsgd:ring", "dpsgd:complete"}) {
    const json threads = told("train --keep last" + job + algorithm + " " + data());
    const json simulated = told("simulate train" + job + algorithm + " " + data());
    EXPECT_EQ(simulated["model_digest"], threads["model_digest"]) << algorithm;
  }
  const std::string pairs = "simulate train" + job + "adpsgd --compute 'lognormal(10ms,0.5)' " + data();
  const json once = told(pairs), again = told(pairs);
  EXPECT_GT(once["epochs"][1]["valid_accuracy"].get<double>(), 0.95);
  EXPECT_EQ(once["model_digest"], again["model_digest"]);
  EXPECT_EQ(once["simulated_seconds"], again["simulated_seconds"]);
}

// Steps of whole trainings whose vectors take 8 ms: a ring waits 2 (n - 1) times for a message of an n-th,
// neighbours once for two whole ones. Before the eighth step no shard reports, which would take there and
// back.
TEST_F(DenseProgram, SimulatedGossipOutrunsARingWhereLatencyIsHigh) {
  constexpr double kFloats = 64 * 1024 + 1024 + 1024 * 3 + 3;
  const std::string job = fmt::format(
      "simulate train --model mlp --hidden 1024 --epochs 1 --optimizer sgd --rate 0.001 --compute 1us "
      "--bandwidth {:.0f} ",
      kFloats * 4 / 0.008);
  // Of what more steps take, so that neither a job's begin nor its end counts.
  const auto step = [&](int workers, const std::string& flags) {
    const auto run_of = [&](int rows) {
      return told(fmt::format("{} --workers {} --batch {} {} {}", job, workers, rows, flags, data()));
    };
    const json few = run_of(600), many = run_of(200);
    const int steps = many["epochs"][0]["steps"].get<int>(), less = few["epochs"][0]["steps"].get<int>();
    EXPECT_LT(steps, 8);
    return (many["simulated_seconds"].get<double>() - few["simulated_seconds"].get<double>()) /
           (steps - less);
  };
  for (const int workers : {8, 16}) {
    for (const double latency_ms : {0.1, 1.0, 10.0}) {
      const std::string network = fmt::format("--latency {}ms ", latency_ms);
      const double ring = step(workers, network + "--algorithm sync --exchange ring");
      const double gossip = step(workers, network + "--algorithm dpsgd:ring");
      const double times = 2 * (workers - 1) * (latency_ms + 8.0 / workers) / (2 * 8.0 + latency_ms);
      EXPECT_NEAR(ring / gossip, times, 0.03 * times)
          << workers << " workers, " << network << ring << " s, " << gossip << " s";
    }
  }
}

TEST_F(DenseProgram, ASavedModelIsMeasuredAndScoresAlike) {
  const std::string model = quoted(folder_ / "model"), held_out = quoted(folder_ / "t10k-images-idx3-ubyte");
  const json trained = told("train --model mlp --hidden 16 --batch 32 " + data() + " --out " + model);
  const json measured = told("eval --model " + model + " " + held_out);
  EXPECT_EQ(measured["accuracy"], trained["valid_accuracy"]);
  EXPECT_EQ(told("eval --model " + model + " " + data())["accuracy"], measured["accuracy"]);
  const std::string images = quoted(folder_ / "train-images-idx3-ubyte");
  const json apart = told("train --model mlp --hidden 16 --batch 32 " + images + " --valid " + data());
  EXPECT_EQ(apart["model_digest"], trained["model_digest"]);
  EXPECT_EQ(apart["valid_logloss"], trained["valid_logloss"]);
  EXPECT_NEAR(measured["logloss"].get<double>(), trained["valid_logloss"].get<double>(), 1e-6);
  EXPECT_TRUE(measured["auc"].is_null());
  const Ran predicted = run("predict --quiet --model " + model + " " + held_out);
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(predicted.out.substr(0, 6), "0\n1\n2\n");
  EXPECT_EQ(run("predict --quiet --model " + model + " " + data()).out, predicted.out);
  const Ran shares = run("predict --quiet --probabilities --model " + model + " " + held_out);
  EXPECT_EQ(shares.code, 0) << shares.err;
  const std::string first = shares.out.substr(0, shares.out.find('\n'));
  EXPECT_GT(std::strtod(first.c_str(), nullptr), 0.5) << first;
  EXPECT_GE(std::count(first.begin(), first.end(), ','), 2) << first;
  EXPECT_EQ(told("model inspect " + model)["loss"], "classes");
  EXPECT_EQ(told("model digest " + model)["digest"], trained["model_digest"]);
}

TEST_F(DenseProgram, AModelOfClassesThatIsWorseThanNoneIsNotSaved) {
  const std::string model = folder_ / "bad", out = " --out " + quoted(model);
  std::string rows, other, noise;
  for (int i = 0; i < 1000; ++i) {
    rows += fmt::format("{} {}:1\n", i % 3, i % 3);
    other += fmt::format("{} {}:1\n", (i + 1) % 3, i % 3);
    noise += fmt::format("{} {}:1\n", i % 3, i / 3 % 3);
  }
  const std::string job = "train --quiet --model softmax --epochs 5 --batch 10 " + out;
  const Ran wild = run(job + " --optimizer sgd --rate 1e9 " + quoted(folder_.write("noise.svm", noise)));
  EXPECT_EQ(wild.code, 7) << wild.err;
  EXPECT_NE(wild.err.find("diverged"), std::string::npos) << wild.err;
  // Classes that the rows learnt do not have are as wrong as can be.
  const std::string turned = job + " --valid " + quoted(folder_.write("other.svm", other)) + " " +
                             quoted(folder_.write("rows.svm", rows));
  const Ran bad = run(turned);
  EXPECT_EQ(bad.code, 9) << bad.err;
  EXPECT_NE(bad.err.find("worse than that of no features at all, 1.0986"), std::string::npos) << bad.err;
  EXPECT_FALSE(std::filesystem::exists(model));
  EXPECT_EQ(run(turned + " --keep-bad").code, 0);
  EXPECT_TRUE(std::filesystem::exists(model));
}

TEST_F(DenseProgram, WithoutHeldOutImagesAModelIsJudgedByThoseItHasLearnt) {
  write_stripes(folder_, "noise", 1200, 3, 1);
  const std::string model = folder_ / "bad", out = " --out " + quoted(model);
  const std::string job = "train --quiet --batch 32 --epochs 2 --optimizer sgd " + out + " " +
                          quoted(folder_ / "noise-images-idx3-ubyte");
  for (const std::string how :
       {"convnet --rate 0.3", "softmax --rate 3", "softmax --rate 3 --servers 2 --workers 2",
        "softmax --rate 3 --processes --workers 2", "softmax --rate 3 --exchange ring --workers 2"}) {
    const Ran bad = run(job + " --model " + how);
    EXPECT_EQ(bad.code, 9) << how << "\n" << bad.err;
    EXPECT_NE(bad.err.find("the learnt rows' logloss of "), std::string::npos) << how << "\n" << bad.err;
    EXPECT_FALSE(std::filesystem::exists(model)) << how;
  }
  EXPECT_EQ(run(job + " --model softmax --rate 3 --keep-bad").code, 0);
  EXPECT_TRUE(std::filesystem::exists(model));
}

TEST_F(DenseProgram, ExportsTheTensorsThatPyTorchKnows) {
  const std::string model = quoted(folder_ / "model"), file = folder_ / "model.safetensors";
  told("train --model convnet --epochs 1 --batch 128 " + data() + " --out " + model);
  told("model export " + model + " -o " + quoted(file));
  const Ran misnamed = run("model export " + model + " -o " + quoted(folder_ / "model.vw"));
  EXPECT_EQ(misnamed.code, 2) << misnamed.err;
  EXPECT_NE(misnamed.err.find("linear models of one score only"), std::string::npos) << misnamed.err;
  std::ifstream in(file, std::ios::binary);
  std::uint64_t size = 0;
  in.read(reinterpret_cast<char*>(&size), sizeof size);
  ASSERT_LT(size, 1u << 20);
  std::string header(size, ' ');
  in.read(header.data(), static_cast<std::streamsize>(size));
  const json tensors = json::parse(header);
  EXPECT_EQ(tensors["conv1.weight"]["shape"], (std::vector<int>{32, 1, 3, 3}));
  EXPECT_EQ(tensors["conv2.weight"]["shape"], (std::vector<int>{64, 32, 3, 3}));
  EXPECT_EQ(tensors["fc1.weight"]["shape"], (std::vector<int>{128, 256}));
  EXPECT_EQ(tensors["fc2.bias"]["shape"], (std::vector<int>{3}));
  EXPECT_EQ(tensors.size(), 9u) << "eight tensors and the metadata";
}

TEST_F(DenseProgram, RowsOfAnyFormatAndOtherLosses) {
  std::string rows;
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    const bool left = random.chance(0.5), right = random.chance(0.5);
    rows += std::string(left != right ? "1" : "0") + (left ? " 0:1" : "") + (right ? " 1:1" : "") + "\n";
  }
  const std::string file = quoted(folder_.write("xor.svm", rows));
  const std::string job = "train --valid-part 10 --epochs 10 --batch 64 " + file;
  const json linear = told(job + " --model softmax --loss logistic"),
             deep = told(job + " --model mlp --hidden 16 --loss logistic");
  EXPECT_LT(linear["valid_auc"].get<double>(), 0.7);
  EXPECT_GT(deep["valid_auc"].get<double>(), 0.99);
  EXPECT_LT(told(job + " --model mlp --hidden 16 --loss squared")["valid_rmse"].get<double>(), 0.2);
  EXPECT_GT(told(job + " --model mlp --hidden 16")["valid_accuracy"].get<double>(), 0.99);
}

TEST_F(DenseProgram, SumsThatShardsLackAreNoneToGoOnWith) {
  const std::string model = folder_ / "model", job = "train --algorithm downpour " + data();
  (void)told("train --model softmax --optimizer ftrl --out " + model + " " + data());
  const Ran ran = run(job + " --init " + model);
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(
      ran.err.find("--init " + model + " makes no sense with --algorithm downpour: the model goes on by"),
      std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("--init-weights " + model), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("--optimizer"), std::string::npos) << ran.err;
  EXPECT_GT(told(job + " --keep-bad --init-weights " + model)["examples"], 0);
}

TEST_F(DenseProgram, WrongInputHasOneClearError) {
  const auto refused = [&](const std::string& arguments, int code, const std::string& why) {
    const Ran ran = run("train " + arguments);
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << arguments << "\n" << ran.err;
  };
  const std::string odd = quoted(folder_.write("odd.svm", "0.5 1:1\n1 2:1\n"));
  const std::string wide = quoted(folder_.write("wide.svm", "0 1:1\n1 123456789:1\n"));
  const std::string six = quoted(folder_.write("six.svm", "0 1:1\n1 5:1\n"));
  refused("--model mlp --hidden 32,x " + data(), 2,
          "--hidden: '32,x' is not whole numbers from 1 to 1048576");
  refused("--model softmax --hidden 32 " + data(), 2, "--hidden 32");
  refused("--model lr --classes 3 " + six, 2, "has no meaning with");
  refused("--model fm --loss classes " + six, 2, "--loss classes is for lr and dense models");
  refused("--model mlp " + odd, 4, "expected a class, a whole number from 0");
  refused("--model mlp " + wide, 4, "--hash-bits");
  refused("--model convnet " + six, 2, "rows of 6 numbers are none");
  refused("--model softmax --inputs 4 " + six, 4, "feature 5; model softmax takes 0 to 3");
  refused("--model softmax --classes 2 --inputs 64 " + data(), 4, "expected a class: a whole number from 0");
  refused("--model softmax --inputs 65 " + data(), 4,
          "has images of 64 pixels, expected 65, as the model has inputs");
  refused("--model softmax " + quoted(folder_ / "nowhere"), 4, "nowhere");
}

TEST_F(DenseProgram, WithoutItsComponentSaysWhatIsMissing) {
  const std::string alone = folder_ / "thalweg";
  std::filesystem::copy(THALWEG_PROGRAM, alone);
  const auto refused = [&] {
    return run("version; " + quoted(alone) + " train --model mlp " + data() + " 2>&1");
  };
  Ran ran = refused();
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_NE(ran.out.find("dense models need thalweg_torch.so, which is not there; looked for " + alone +
                         "_torch.so"),
            std::string::npos)
      << ran.out;
  folder_.write("thalweg_torch.so", "no library");
  ran = refused();
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_NE(ran.out.find("dense models cannot be used: "), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace thalweg
