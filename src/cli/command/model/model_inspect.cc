// model inspect: what a stored model holds.
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "model/format/model_report.h"
#include "model/format/training_json.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const TableSummary& table) {
  return {{"name", table.name},      {"rows", table.rows},
          {"dim", table.dim},        {"state_floats", table.state_floats},
          {"bytes", table.bytes},    {"zero_rows", table.zero_rows},
          {"mean", table.mean},      {"rms", table.rms},
          {"max_abs", table.max_abs}};
}

Status run_model_inspect(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<ModelSummary> summary = inspect_model(*model);
  if (!summary) return as_model(summary.status());
  const Manifest& manifest = summary->manifest;
  ordered_json tables = ordered_json::array();
  for (const TableSummary& table : summary->tables) tables.push_back(to_json(table));
  out.human(to_text(*summary));
  ordered_json json = {{"model", manifest.model.name},
                       {"loss", loss_name(manifest.model.loss)},
                       {"library_version", manifest.library_version},
                       {"digest", digest_text(manifest.digest)},
                       {"tables", tables},
                       {"options", manifest.options},
                       {"metrics", manifest.metrics}};
  if (manifest.training) json["training"] = training_json(*manifest.training, "");
  out.json(json);
  return ok_status();
}

}  // namespace

extern constinit const Command kModelInspectCommand = {
    .path = "model inspect",
    .summary = "Show what a model holds and how it was trained",
    .example = "thalweg model inspect runs/ctr",
    .run = run_model_inspect,
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
