// model export: a stored model for other programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "data/column/column_items.h"
#include "data/reader/row_loop.h"
#include "data/scale/value_scales.h"
#include "model/format/model_export.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

// What became of values of features in training, by the keys that the model's rows have.
Result<FeatureScales> value_scales_of(const ModelReader& model) {
  const auto scales = ValueScales::parse(model.manifest().option("value-scales"));
  if (!scales)
    return Status(Code::kModel, fmt::format("{}: value-scales: {}", model.path(), scales.status().message()));
  FeatureScales out;
  for (const auto& [key, form] : scales->all()) out[key] = {form.offset, form.scale};
  return out;
}

bool is_scaled(const ColumnItem& item) {
  const NumberForm& form = item.number;
  return item.kind == Column::Kind::kNumeric && form.shape != NumberForm::Shape::kBucket &&
         (form.shape == NumberForm::Shape::kLog || form.open || form.offset != 0 ||
          (form.scale != 0 && form.scale != 1));
}

// Of columns whose cells are not taken as they stand.
Result<std::vector<ColumnItem>> scaled_columns(const ModelReader& model) {
  const std::string text = model.manifest().option("columns");
  if (text.empty()) return std::vector<ColumnItem>();
  auto items = parse_column_items(text, "the model's columns");
  if (!items) return Status(Code::kModel, fmt::format("{}: {}", model.path(), items.status().message()));
  std::erase_if(*items, [](const ColumnItem& item) { return !is_scaled(item); });
  return items;
}

// What VW's readable form, which has weights alone, is to take into account.
Result<FeatureScales> scales_for_vw(const ModelReader& model, FeatureScales scales,
                                    const std::vector<ColumnItem>& columns) {
  const auto no = [&](const std::string& what, const std::string& expected) {
    return Status(Code::kUsage,
                  fmt::format("{}: {}, which VW's readable form cannot say; expected a model trained with {}",
                              model.path(), what, expected));
  };
  if (!model.manifest().option("interactions").empty() && !(scales.empty() && columns.empty()))
    return no("values of pairs of features were scaled in training", "--raw-values, or columns of num:raw");
  ReadOptions read;
  read.hash_bits = model.manifest().hash_bits();
  for (const ColumnItem& item : columns) {
    if (item.number.shape == NumberForm::Shape::kLog || item.number.open || item.name.empty()) {
      return no(fmt::format("training took logarithms of column \"{}\"", item.name),
                fmt::format("--columns {}:num", quoted_column_name(item.name)));
    }
    scales[RowRules(read).key(column_salt(item.name))] = {item.number.offset, item.number.scale};
  }
  return scales;
}

// A name that ends as files of another format do is a mistake that its readers would meet.
Status check_name(const std::string& destination, std::string_view format) {
  struct Ending {
    std::string_view ending, format;
  };
  constexpr std::array<Ending, 3> kEndings = {
      {{".safetensors", "safetensors"}, {".npz", "npz"}, {".vw", "vw-readable"}}};
  for (const auto& [ending, named] : kEndings) {
    if (!destination.ends_with(ending) || named == format) continue;
    return {Code::kUsage,
            fmt::format("-o {} is named as --format {} is, and {} is what would be written; expected a name "
                        "that ends otherwise, or --format {}, which has {}",
                        destination, named, format, named,
                        named == "vw-readable" ? "linear models of one score only" : "any model")};
  }
  return ok_status();
}

Status run_model_export(const Options& options, Output& out) {
  if (!options.has("export-output")) {
    return with_hint({Code::kUsage, "thalweg model export needs -o FILE"}, options.command().example);
  }
  const Result<ExportFormat> format = parse_export_format(options.choice("export-format").word);
  if (!format) return format.status();
  const std::string& destination = options.text("export-output");
  for (const Status& status :
       {check_name(destination, options.choice("export-format").word), is_no_packed_name(destination)}) {
    if (!status.ok()) return status;
  }
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  auto scales = value_scales_of(*model);
  if (!scales) return scales.status();
  const auto columns = scaled_columns(*model);
  if (!columns) return columns.status();
  if (*format == ExportFormat::kVw) {
    scales = scales_for_vw(*model, *std::move(scales), *columns);
    if (!scales) return scales.status();
    const auto subtracts = [](const auto& scale) { return scale.second.offset != 0; };
    if (std::any_of(scales->begin(), scales->end(), subtracts)) {
      out.note(
          "features had their mean subtracted in training, which the constant makes up for; a row that lacks "
          "one counts there as one of 0, here as one of the mean");
    }
    if (!scales->empty() && model->manifest().hash_bits() != 0)
      out.warn(fmt::format(
          "by --hash-bits {} features may share a weight, and one that was scaled in training has its own "
          "divided by its scale, which is wrong for those that share it",
          model->manifest().hash_bits()));
  } else if (!scales->empty() || !columns->empty()) {
    out.note(
        "weights are those of values as training scaled them, which model inspect shows by value-scales or "
        "columns");
  }
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
