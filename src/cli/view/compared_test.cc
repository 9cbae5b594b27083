#include "cli/view/compared.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

// The row of a run that was interrupted has numbers too, but is not that of a whole training.
TEST(ComparisonTable, SaysWhichRunIsNotWhole) {
  std::vector<ComparedTraining> all(3);
  all[0].name = "whole", all[1].name = "cut", all[2].name = "none";
  for (ComparedTraining& run : all) run.result.complete = run.name != "none";
  all[1].result.status = {Code::kAborted, "interrupted"};
  all[2].result.status = {Code::kNonFinite, "the loss is no longer finite"};
  const std::string table = comparison_table(all, {});
  EXPECT_NE(table.find("\nwhole          "), std::string::npos) << table;
  EXPECT_NE(table.find("\ncut (ABORTED)  "), std::string::npos) << table;
  EXPECT_NE(table.find("\nnone           "), std::string::npos) << table;
}

}  // namespace
}  // namespace thalweg
