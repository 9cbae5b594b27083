// model inspect, export, diff, digest.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/commands.h"
#include "cli/command/stored_model.h"
#include "model/format/model_export.h"
#include "model/format/model_report.h"
#include "net/system_disk.h"

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

ordered_json to_json(const TableDiff& table) {
  return {{"name", table.name},
          {"common_keys", table.common_keys},
          {"only_left", table.only_left},
          {"only_right", table.only_right},
          {"different_rows", table.different_rows},
          {"max_abs_difference", table.max_abs_difference}};
}

template <class Item>
ordered_json to_json_array(const std::vector<Item>& items) {
  ordered_json array = ordered_json::array();
  for (const Item& item : items) array.push_back(to_json(item));
  return array;
}

}  // namespace

Status run_model_inspect(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<ModelSummary> summary = inspect_model(*model);
  if (!summary) return as_model(summary.status());
  const Manifest& manifest = summary->manifest;
  out.human(to_text(*summary));
  out.json({{"model", manifest.model.name},
            {"loss", manifest.model.loss == Loss::kLogistic ? "logistic" : "squared"},
            {"library_version", manifest.library_version},
            {"digest", digest_text(manifest.digest)},
            {"tables", to_json_array(summary->tables)},
            {"options", manifest.options},
            {"metrics", manifest.metrics}});
  return ok_status();
}

Status run_model_export(const Options& options, Output& out) {
  if (!options.has("export-output")) {
    return with_hint({Code::kUsage, "thalweg model export needs -o FILE"},
                     find_command(program_commands(), "model export")->example);
  }
  const Result<ExportFormat> format = parse_export_format(options.choice("export-format").word);
  if (!format) return format.status();
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const std::string& destination = options.text("export-output");
  SystemDisk disk;
  if (Status status = export_model(*model, *format, disk, destination); !status.ok()) return status;
  out.note(fmt::format("wrote {}", destination));
  out.json({{"output", destination}, {"format", options.choice("export-format").word}});
  return ok_status();
}

Status run_model_diff(const Options& options, Output& out) {
  const Result<ModelReader> left = open_model(options.arguments()[0]);
  if (!left) return left.status();
  const Result<ModelReader> right = open_model(options.arguments()[1]);
  if (!right) return right.status();
  const Result<ModelDiff> diff = diff_models(*left, *right);
  if (!diff) return as_model(diff.status());
  out.human(to_text(*diff));
  out.json({{"equal", diff->equal()},
            {"tables", to_json_array(diff->tables)},
            {"only_left", diff->only_left},
            {"only_right", diff->only_right}});
  return ok_status();
}

Status run_model_digest(const Options& options, Output& out) {
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const Result<std::uint64_t> digest = model->compute_digest();
  if (!digest) return as_model(digest.status());
  if (*digest != model->manifest().digest) {
    return {Code::kModel, fmt::format("{}: the rows have digest {}, model.json says {}", model->path(),
                                      digest_text(*digest), digest_text(model->manifest().digest))};
  }
  out.human(digest_text(*digest) + "\n");
  out.json({{"digest", digest_text(*digest)}});
  return ok_status();
}

}  // namespace thalweg
