// model diff: how two stored models differ.
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "model/format/model_report.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const TableDiff& table) {
  return {{"name", table.name},
          {"common_keys", table.common_keys},
          {"only_left", table.only_left},
          {"only_right", table.only_right},
          {"different_rows", table.different_rows},
          {"max_abs_difference", table.max_abs_difference}};
}

Status run_model_diff(const Options& options, Output& out) {
  const Result<ModelReader> left = open_model(options.arguments()[0]);
  if (!left) return left.status();
  const Result<ModelReader> right = open_model(options.arguments()[1]);
  if (!right) return right.status();
  const Result<ModelDiff> diff = diff_models(*left, *right);
  if (!diff) return as_model(diff.status());
  ordered_json tables = ordered_json::array();
  for (const TableDiff& table : diff->tables) tables.push_back(to_json(table));
  out.human(to_text(*diff));
  out.json({{"equal", diff->equal()},
            {"tables", tables},
            {"only_left", diff->only_left},
            {"only_right", diff->only_right}});
  return ok_status();
}

}  // namespace

extern constinit const Command kModelDiffCommand = {
    .path = "model diff",
    .summary = "Compare the keys and values of two models",
    .example = "thalweg model diff runs/old runs/new",
    .run = run_model_diff,
    .arguments = "DIR DIR",
    .arguments_min = 2,
    .arguments_max = 2,
};

}  // namespace thalweg
