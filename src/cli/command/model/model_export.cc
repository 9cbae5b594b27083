// model export: a stored model for other programs.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "data/scale/value_scales.h"
#include "model/format/model_export.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

// Of a model's features, by the keys that its rows have.
Result<std::map<Key, float>> scales_for(const ModelReader& model, ExportFormat format) {
  const auto& stored = model.manifest().options;
  const auto text = stored.find("value-scales");
  if (format != ExportFormat::kVw || text == stored.end()) return std::map<Key, float>();
  if (stored.contains("interactions")) {
    return Status(Code::kUsage,
                  fmt::format("{}: values of pairs of features were scaled in training, which VW's readable "
                              "form cannot say; expected a model trained with --raw-values",
                              model.path()));
  }
  const auto scales = ValueScales::parse(text->second);
  if (!scales)
    return Status(Code::kModel, fmt::format("{}: value-scales: {}", model.path(), scales.status().message()));
  return scales->all();
}

Status run_model_export(const Options& options, Output& out) {
  if (!options.has("export-output")) {
    return with_hint({Code::kUsage, "thalweg model export needs -o FILE"}, options.command().example);
  }
  const Result<ExportFormat> format = parse_export_format(options.choice("export-format").word);
  if (!format) return format.status();
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const std::string& destination = options.text("export-output");
  const auto scales = scales_for(*model, *format);
  if (!scales) return scales.status();
  SystemDisk disk;
  if (Status status = export_model(*model, *format, disk, destination, *scales); !status.ok()) return status;
  out.note(fmt::format("wrote {}", destination));
  out.json({{"output", destination}, {"format", options.choice("export-format").word}});
  return ok_status();
}

}  // namespace

extern constinit const Command kModelExportCommand = {
    .path = "model export",
    .summary = "Write a model for other programs",
    .example = "thalweg model export runs/ctr --format npz -o ctr.npz",
    .run = run_model_export,
    .options = {"export-output|export-format"},
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
