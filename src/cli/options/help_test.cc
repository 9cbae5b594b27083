#include "cli/options/help.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "cli/command/commands.h"
#include "cli/options/completion.h"
#include "cli/options/option_table.h"
#include "cli/path_for_test.h"
#include "model/metric/metric.h"

namespace thalweg {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Help, EveryCommandShowsItsFlagsAndItsExample) {
  for (const Command& command : program_commands()) {
    const std::string text = command_help(command);
    EXPECT_TRUE(has(text, std::string(command.example)));
    EXPECT_EQ(command.example.rfind("thalweg ", 0), 0u) << command.path;
    for (const OptionRow* row : options_of(command)) {
      EXPECT_TRUE(has(text, "--" + std::string(spelling(*row)))) << command.path << " " << row->name;
      EXPECT_TRUE(has(text, std::string(row->help))) << row->name;
    }
    EXPECT_TRUE(has(program_help(program_commands()), std::string(command.summary)));
  }
}

TEST(Help, OfEvalNamesEachMetric) {
  const std::string help = command_help(*find_command(program_commands(), "eval"));
  const std::string manual = manual_page(program_commands(), "1.2.3");
  for (const Metric* metric : metrics()) {
    EXPECT_TRUE(has(help, fmt::format("  {:<18} {}\n", metric->name, metric->summary))) << metric->name;
    EXPECT_TRUE(has(manual, std::string(metric->name))) << metric->name;
  }
}

TEST(Help, EveryCommandOfTheTableIsKnownOnce) {
  for (const Command& command : program_commands()) {
    EXPECT_EQ(find_command(program_commands(), command.path), &command) << command.path;
  }
}

TEST(ManualPage, NamesEveryOptionWithItsVariableAndKey) {
  const std::string page = manual_page(program_commands(), "1.2.3");
  EXPECT_EQ(page.rfind(".TH THALWEG 1", 0), 0u);
  for (const OptionRow& row : option_rows()) {
    std::string flag = "\\-\\-";
    for (const char c : spelling(row)) flag += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_TRUE(has(page, flag)) << row.name;
    if (row.key.empty()) continue;
    EXPECT_TRUE(has(page, "Key " + std::string(row.key) + ", variable " + variable_name(row))) << row.name;
  }
}

// What a program says of a script, to standard error too.
std::string output_of(const std::string& program, const std::string& script) {
  const std::string path = test_path("completion");
  std::ofstream(path) << script;
  std::FILE* pipe = popen((program + " " + path + " 2>&1").c_str(), "r");
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  const int status = pclose(pipe);
  std::remove(path.c_str());
  return status == 0 ? out : out + "failed";
}

TEST(Completion, ScriptsAreWellFormed) {
  EXPECT_EQ(output_of("bash -n", bash_completion(program_commands())), "");
  EXPECT_EQ(output_of("zsh -n", zsh_completion(program_commands())), "");
  EXPECT_EQ(output_of("fish -n", fish_completion(program_commands())), "");
  const std::string cut = output_of("LC_ALL=C bash -n", bash_completion(program_commands()) + "if");
  EXPECT_TRUE(has(cut, "syntax error: unexpected end of file\n") && has(cut, "failed")) << cut;
}

std::string bash_offers(const std::string& words) {
  return output_of("bash", bash_completion(program_commands()) + "COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _thalweg; "
                               "echo \"${COMPREPLY[*]}\"\n");
}

TEST(Completion, BashOffersCommandsFlagsAndChoices) {
  EXPECT_EQ(bash_offers("thalweg compl"), "completion\n");
  EXPECT_EQ(bash_offers("thalweg config ''"), "show\n");
  EXPECT_EQ(bash_offers("thalweg config show --or"), "--origin\n");
  EXPECT_EQ(bash_offers("thalweg completion ''"), "bash zsh fish\n");
}

}  // namespace
}  // namespace thalweg
