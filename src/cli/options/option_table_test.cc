#include "cli/options/option_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "cli/command/commands.h"
#include "cli/options/option_value.h"
#include "cli/options/options.h"
#include "cli/options/suggest.h"

namespace thalweg {
namespace {

TEST(OptionTable, NamesKeysAndFlagsAreUnique) {
  std::set<std::string> names, keys, flags, letters;
  for (const OptionRow& row : option_rows()) {
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    if (!row.key.empty()) {
      EXPECT_TRUE(keys.insert(std::string(row.key)).second) << row.key;
    }
  }
  for (const Command& command : program_commands()) {
    for (const OptionRow* row : options_of(command)) {
      for (const auto text : spellings(*row)) {
        const std::string flag = std::string(command.path) + "--" + std::string(text);
        EXPECT_TRUE(flags.insert(flag).second) << flag;
      }
      if (row->letter == 0) continue;
      EXPECT_TRUE(letters.insert(std::string(command.path) + row->letter).second) << row->name;
    }
  }
}

TEST(OptionTable, ExamplesDefaultsAndWordsAreSound) {
  for (const OptionRow& row : option_rows()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_NE(row.help.back(), '.') << row.name;
    if (row.type == OptionType::kFlag) continue;
    EXPECT_TRUE(parse_value(row, row.example).ok()) << row.name;
    EXPECT_FALSE(placeholder_text(row).empty()) << row.name;
    if (!row.fallback.empty()) {
      EXPECT_TRUE(parse_value(row, row.fallback).ok()) << row.name;
    }
  }
}

TEST(OptionTable, EveryRowHasACommandAndCommandsNameRows) {
  for (const OptionRow& row : option_rows())
    EXPECT_NE(takers_of(row, program_commands(), "|"), "") << row.name;
  for (const Command& command : program_commands()) {
    for (const std::string_view names : command.options) {
      for (const std::string_view name : split(names, '|')) {
        EXPECT_NE(find_option(name), nullptr) << command.path << " " << name;
      }
    }
    for (const OptionRow& row : command.own) EXPECT_EQ(row.key, "") << row.name;
  }
}

// The row behind --spelling or one of its aliases.
const OptionRow* find_flag(std::string_view text, std::string_view command) {
  for (const OptionRow* row : options_of(*find_command(program_commands(), command))) {
    const auto names = spellings(*row);
    if (std::find(names.begin(), names.end(), text) != names.end()) return row;
  }
  return nullptr;
}

TEST(OptionTable, OneFlagMayMeanDifferentThingsToCommands) {
  EXPECT_EQ(find_flag("model", "train")->name, "model");
  EXPECT_EQ(find_flag("model", "predict")->name, "model-dir");
  EXPECT_EQ(find_flag("format", "model export")->name, "export-format");
  EXPECT_EQ(find_flag("rate", "predict"), nullptr);
  EXPECT_EQ(find_flag("fabric", "run"), find_flag("transport", "run"));
  EXPECT_EQ(find_flag("fabric", "bench exchange")->name, "bench-transport");
  for (const char* name : {"lr", "learning-rate", "rate"}) EXPECT_EQ(find_flag(name, "train")->name, "rate");
  EXPECT_EQ(find_flag("", "train"), nullptr);
  EXPECT_EQ(variable_name(*find_option("factor-rate")), "THALWEG_FACTOR_RATE");
  EXPECT_EQ(variable_name(*find_option("model-dir")), "");
}

TEST(OptionValue, ReadsEachTypeAndRefusesItsNeighbours) {
  const auto read = [](std::string_view name, std::string_view text) {
    const Result<OptionValue> value = parse_value(*find_option(name), text);
    return value ? value_text(*value) : "refused";
  };
  EXPECT_EQ(read("epochs", "3"), "3");
  EXPECT_EQ(read("epochs", "0"), "refused");
  EXPECT_EQ(read("epochs", "3.5"), "refused");
  EXPECT_EQ(read("epochs", ""), "refused");
  EXPECT_EQ(read("epochs", "99999999999999999999"), "refused");
  EXPECT_EQ(read("rate", "0.05"), "0.05");
  EXPECT_EQ(read("rate", "-1"), "refused");
  EXPECT_EQ(read("rate", "nan"), "refused");
  EXPECT_EQ(read("rate", "inf"), "refused");
  EXPECT_EQ(read("rate", "0,5"), "refused");
  EXPECT_EQ(read("sync", "ssp:4"), "ssp:4");
  EXPECT_EQ(read("sync", "ssp"), "refused");
  EXPECT_EQ(read("sync", "ssp:S"), "refused");
  EXPECT_EQ(read("sync", "ssp:-1"), "refused");
  EXPECT_EQ(read("sync", "ssp:4294967296"), "refused") << "it would not fit";
  EXPECT_EQ(read("combine", "tree:1"), "tree:1");
  EXPECT_EQ(read("combine", "tree:0"), "refused") << "nobody could be a node's child";
  EXPECT_EQ(read("combine", "tree:4097"), "refused");
  EXPECT_EQ(read("on-bad-row", "skip:10"), "skip:10");
  EXPECT_EQ(read("timeout", "30"), "30");
  EXPECT_EQ(read("timeout", "500ms"), "0.5");
  EXPECT_EQ(read("timeout", "2m"), "120");
  EXPECT_EQ(read("timeout", "2 parsecs"), "refused");
  EXPECT_EQ(read("seeds", "0:100"), "0:100");
  EXPECT_EQ(read("seeds", "5:4"), "refused");
  EXPECT_EQ(read("json", "yes"), "true");
  EXPECT_EQ(read("json", "maybe"), "refused");
}

TEST(OptionValue, SaysWhatWasExpected) {
  const OptionRow& servers = *find_option("servers");
  EXPECT_EQ(parse_value(servers, "many").status().message(),
            "'many' is not a whole number from 1 to 4096, such as 2");
  EXPECT_EQ(parse_value(*find_option("combine"), "grid").status().message(),
            "'grid' is not one of none|machine|tree:K, K from 1 to 4096");
  EXPECT_NE(
      parse_value(*find_option("optimizer"), "adagrd").status().message().find("did you mean 'adagrad'"),
      std::string::npos);
}

TEST(Options, KnowsWhatIsUnset) {
  const Options options;
  EXPECT_EQ(options.integer("seed"), 1);
  EXPECT_EQ(options.choice("sync"), (Choice{"bsp", std::nullopt}));
  EXPECT_EQ(options.maybe_real("rate"), std::nullopt);
  EXPECT_EQ(options.real("timeout"), 60);
  EXPECT_FALSE(options.flag("processes"));
  EXPECT_EQ(options.place("epochs"), "default");
}

TEST(OptionsDeath, CrashesOnAWrongNameOrType) {
  const Options options;
  EXPECT_DEATH(options.integer("epoch"), "no such option");
  EXPECT_DEATH(options.text("epochs"), "another type");
  EXPECT_DEATH(options.real("rate"), "unset");
}

TEST(Suggest, CountsEditsAndPicksTheNearest) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("trian", "train"), 1u);
  EXPECT_EQ(nearest("epohcs", {"epochs", "batch"}), "epochs");
  EXPECT_EQ(nearest("work", {"servers", "workers"}), "workers");
  EXPECT_EQ(nearest("zzz", {"epochs", "batch"}), "");
}

}  // namespace
}  // namespace thalweg
