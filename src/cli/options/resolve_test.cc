#include "cli/options/resolve.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/command/commands.h"
#include "cli/options/config_file.h"
#include "cli/path_for_test.h"

namespace thalweg {
namespace {

using Words = std::vector<std::string>;

Result<Options> read(const Words& words, const Variables& variables = {}) {
  Result<CommandLine> line = parse_command_line(program_commands(), words);
  if (!line) return line.status();
  return resolve(*line, variables);
}

std::string error(const Words& words, const Variables& variables = {}) {
  const Result<Options> options = read(words, variables);
  return options ? "accepted"
                 : std::string(code_name(options.status().code())) + " " + options.status().message();
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class ConfigFile : public testing::Test {
 protected:
  ConfigFile() : path_(test_path("resolve_test.toml")) {}
  ~ConfigFile() override { std::filesystem::remove(path_); }
  std::string write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  std::string error_of(const std::string& text) {
    std::string message = error({"train", "a.svm", "--config", write(text)});
    if (const auto at = message.find(path_); at != message.npos) message.replace(at, path_.size(), "FILE");
    return message;
  }
  std::string path_;
};

TEST_F(ConfigFile, EachOriginBeatsTheWeakerOnes) {
  const std::string path = write("[train]\nepochs = 2\nrate = 0.1\nbatch = 10\nl2 = 1\n");
  const Variables variables = {{"THALWEG_RATE", "0.2"}, {"THALWEG_BATCH", "20"}, {"THALWEG_L2", "2"}};
  const Words words = {"train",          "a.svm", "--config",   path,   "--set",
                       "train.batch=30", "--set", "train.l2=3", "--l2", "4"};
  const Result<Options> options = read(words, variables);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->integer("epochs"), 2);
  EXPECT_EQ(options->place("epochs"), path + ":2");
  EXPECT_EQ(options->real("rate"), 0.2);
  EXPECT_EQ(options->place("rate"), "THALWEG_RATE");
  EXPECT_EQ(options->integer("batch"), 30);
  EXPECT_EQ(options->place("batch"), "--set train.batch");
  EXPECT_EQ(options->real("l2"), 4);
  EXPECT_EQ(options->place("l2"), "flag --l2");
  EXPECT_EQ(options->arguments(), Words{"a.svm"});
  const Result<Options> named = read({"train", "a.svm"}, {{"THALWEG_CONFIG", path}});
  EXPECT_EQ(named->integer("epochs"), 2);
}

TEST_F(ConfigFile, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(error_of("[train]\nepoch = 2\n"),
            "CONFIG FILE:2:1: there is no option 'train.epoch'\nhint: did you mean 'train.epochs'?");
  EXPECT_HAS(error_of("rate = 0.1\n"), "did you mean 'train.rate'?");
  EXPECT_HAS(error_of("[trian]\nrate = 0.1\n"), "there is no option 'trian'");
  EXPECT_HAS(error_of("train.epochs = \"2\"\n"),
             "FILE:1:16: train.epochs is a string, expected a whole number");
  EXPECT_HAS(error_of("train.epochs = 0\n"), "FILE:1:16: train.epochs: '0' is not a whole number from 1");
  EXPECT_HAS(error_of("train.rate = nan\n"), "'nan' is not a number");
  EXPECT_HAS(error_of("cluster.timeout = \"3 days\"\n"),
             "'3 days' is not seconds, or a number with the unit");
  EXPECT_HAS(error_of("train = 3\n"), "FILE:1:1: there is no option 'train'");
  EXPECT_HAS(error_of("[train]\nepochs = 2\nepochs = 3\n"), "CONFIG FILE:3:");
  EXPECT_HAS(error_of("train.epochs = \n"), "CONFIG FILE:1:");
  EXPECT_HAS(error_of(std::string("a = 1\nb\0 = 2\n", 13)), "FILE:2:2: a NUL byte");
  EXPECT_HAS(error_of(std::string(kConfigBytesMax + 1, '#')), "FILE: larger than 1 MiB");
  EXPECT_HAS(error_of(std::string(5000, '[')), "CONFIG FILE:1:");
  EXPECT_HAS(error({"train", "a.svm", "--config", "/does/not/exist"}),
             "CONFIG /does/not/exist: cannot open: No such file");
  EXPECT_HAS(error({"train", "a.svm", "--config", "/"}), "CONFIG /: cannot");
}

TEST(Resolve, UnknownNamesComeWithTheNearest) {
  EXPECT_HAS(error({"train", "a.svm", "--epoch", "3"}), "USAGE '--epoch' is not a flag of thalweg train");
  EXPECT_HAS(error({"train", "a.svm", "--epoch=3"}), "hint: did you mean '--epochs'?");
  EXPECT_HAS(error({"version", "--epochs", "3"}), "it belongs to: train");
  EXPECT_HAS(error({"simulate", "train", "a.svm", "--patience", "1"}),
             "it belongs to: train|node scheduler|node quorum");
  for (const char* of_several : {"--keep", "--processes"})
    EXPECT_HAS(error({"simulate", "train", "a.svm", of_several, "1"}), "it belongs to: train|");
  EXPECT_HAS(error({"trian"}), "hint: did you mean 'thalweg train'?");
  EXPECT_HAS(error({"config", "shw"}), "hint: did you mean 'thalweg config show'?");
  EXPECT_HAS(error({"train", "a.svm"}, {{"THALWEG_EPOCH", "3"}}),
             "CONFIG the environment variable THALWEG_EPOCH");
  EXPECT_HAS(error({"train", "a.svm"}, {{"THALWEG_EPOCH", "3"}}), "did you mean 'THALWEG_EPOCHS'?");
  EXPECT_HAS(error({"train", "a.svm", "--set", "train.epoch=3"}),
             "USAGE --set train.epoch: there is no option");
  EXPECT_HAS(error({"version", "--set", "train.epochs=3"}), "means nothing to thalweg version");
}

TEST_F(ConfigFile, AliasesOfFlagsAreUnderstoodWhereFlagsAre) {
  for (const std::string alias : {"lr", "learning_rate"}) {
    const std::string path = write("[train]\n" + alias + " = 0.1\n");
    EXPECT_EQ(read({"train", "a.svm", "--config", path})->real("rate"), 0.1);
    EXPECT_EQ(read({"train", "a.svm", "--set", "train." + alias + "=0.2"})->real("rate"), 0.2);
  }
  EXPECT_EQ(read({"train", "a.svm"}, {{"THALWEG_LEARNING_RATE", "0.3"}})->real("rate"), 0.3);
  EXPECT_HAS(error_of("lr = 0.1\n"), "there is no option 'lr'\nhint: did you mean 'train.lr'?");
  EXPECT_HAS(error_of("[train]\nrate = 0.1\nlr = 0.2\n"), "train.rate is given twice, in ");
  EXPECT_HAS(error({"train", "a.svm"}, {{"THALWEG_LR", "0.3"}, {"THALWEG_RATE", "0.2"}}),
             "THALWEG_LR and THALWEG_RATE are the same option");
}

TEST(Resolve, WrongValuesNameOptionValueAndExpectation) {
  EXPECT_EQ(error({"train", "a.svm", "--servers", "0"}),
            "USAGE --servers: '0' is not a whole number from 1 to 4096, such as 2");
  EXPECT_HAS(error({"train", "a.svm", "--rate", "-1"}), "USAGE --rate: '-1' is not a number of at least 0");
  EXPECT_HAS(error({"train", "a.svm"}, {{"THALWEG_SYNC", "sspp:3"}}),
             "CONFIG THALWEG_SYNC: 'sspp:3' is not one of");
  EXPECT_HAS(error({"train", "a.svm", "--set", "train.rate=fast"}), "USAGE --set train.rate: 'fast'");
  EXPECT_HAS(error({"train", "a.svm", "--set", "train.rate"}), "expected KEY=VALUE");
  EXPECT_EQ(error({"train", "a.svm", "--rate"}), "USAGE --rate needs a value");
  EXPECT_HAS(error({"train", "a.svm", "--out", "--json"}), "--out needs a value, but '--json' follows it");
}

TEST(Resolve, WidthsOfLayersAreNamedWithWhatIsWrong) {
  for (const std::string widths : {"0", "8,0,4", "8,,4", "32,x", "32x", "-1", "8.5"}) {
    EXPECT_EQ(error({"train", "a.svm", "--model", "mlp", "--hidden", widths}),
              "USAGE --hidden: '" + widths +
                  "' is not whole numbers from 1 to 1048576 with commas between, such as 256,128");
  }
  EXPECT_EQ(read({"train", "a.svm", "--model", "mlp", "--hidden", "8,4"})->text("hidden"), "8,4");
}

TEST(Resolve, CountsArguments) {
  EXPECT_HAS(error({"train"}), "USAGE thalweg train needs FILE...");
  EXPECT_HAS(error({"version", "now"}), "takes no argument, so 'now' is one too many");
  EXPECT_HAS(error({}), "no command given");
  EXPECT_HAS(error({"config"}), "needs a second word");
  const Result<Options> options = read({"train", "-q", "[a-c]", "-", "--epochs=2", "--", "--odd"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->arguments(), (Words{"[a-c]", "-", "--odd"}));
  EXPECT_EQ(options->integer("epochs"), 2);
  EXPECT_TRUE(options->flag("quiet"));
}

TEST(Resolve, TheLastOfANumberOrChoiceCounts) {
  EXPECT_EQ(read({"train", "a", "--rate", "1", "b", "--rate", "2"})->real("rate"), 2);
  EXPECT_TRUE(read({"--json", "train", "a"})->flag("json"));
}

TEST(Resolve, NamesAreNotOverwrittenUnseen) {
  EXPECT_EQ(error({"train", "a.svm", "--valid", "b.svm", "--valid", "c.svm"}),
            "USAGE --valid is given twice, as 'b.svm' and 'c.svm'; expected once");
}

TEST(Resolve, RefusesCombinationsThatCannotBeMeant) {
  EXPECT_EQ(error({"train", "a", "--valid", "v", "--valid-part", "10"}),
            "USAGE --valid v (flag --valid) cannot be combined with --valid-part 10 (flag --valid-part)");
  EXPECT_HAS(error({"train", "a", "--rank", "8"}),
             "--rank 8 (flag --rank) has no meaning with --model lr (default)");
  EXPECT_EQ(error({"train", "a", "--rank", "8", "--model", "fm"}), "accepted");
  EXPECT_EQ(error({"train", "a", "--model", "lr"}, {{"THALWEG_RANK", "8"}}), "accepted");
  EXPECT_HAS(error({"train", "a", "--classes", "3"}), "or --loss classes");
  EXPECT_EQ(error({"train", "a", "--classes", "3", "--loss", "classes"}), "accepted");
  EXPECT_HAS(error({"train", "a", "--workers", "4", "--data-shards", "2"}), "is more than --data-shards 2");
  EXPECT_HAS(error({"train", "a", "--l1", "1", "--optimizer", "adam"}),
             "has no meaning with --optimizer adam");
  EXPECT_HAS(error({"train", "a", "--combine", "machine", "--sync", "async"}),
             "--combine machine (flag --combine) has no meaning with --sync async");
  EXPECT_EQ(error({"train", "a", "--combine", "tree:3"}), "accepted");
  EXPECT_HAS(error({"train", "a", "-q", "-v"}), "--quiet (flag --quiet) cannot be combined with --verbose");
  EXPECT_EQ(error({"version"}, {{"THALWEG_VALID", "v"}, {"THALWEG_VALID_PART", "10"}}), "accepted");
}

TEST(Resolve, ConfigShowTakesTheFlagsOfTheCommandItShows) {
  const Result<Options> options = read({"config", "show", "train", "--rate", "0.5"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->real("rate"), 0.5);
  EXPECT_EQ(options->arguments(), Words{"train"});
  EXPECT_HAS(error({"config", "show", "--rate", "0.5"}), "'--rate' is not a flag");
  EXPECT_EQ(read({"config", "show", "--set", "train.rate=0.5"})->real("rate"), 0.5);
}

}  // namespace
}  // namespace thalweg
