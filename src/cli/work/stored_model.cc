#include "cli/work/stored_model.h"

#include <fmt/format.h>

#include "cli/command/commands.h"
#include "cli/options/input.h"
#include "data/column/member_kinds.h"
#include "model/model_kind.h"
#include "net/system_disk.h"

namespace thalweg {

Status as_model(const Status& status) {
  return status.code() == Code::kIo ? Status(Code::kModel, status.message()) : status;
}

Result<ModelReader> open_model(const std::string& path) {
  Result<ModelReader> model = ModelReader::open(SystemDisk(), path);
  if (!model) return as_model(model.status());
  return model;
}

std::map<std::string, std::string> options_to_store(const Options& options, std::string_view command) {
  std::map<std::string, std::string> texts;
  for (const OptionRow* row : options_of(*find_command(program_commands(), command))) {
    if (row->key.empty() || row->key.substr(0, row->key.find('.')) == "output" || !options.has(row->name))
      continue;
    texts.emplace(spelling(*row), value_text(options.value(row->name)));
  }
  return texts;
}

Result<ReadOptions> read_options_for(const Manifest& manifest, const Options& options) {
  ReadOptions read = read_options(options, options.arguments());
  if (manifest.model.loss == Loss::kBytes) {
    if (read.format != "auto" || read.max_bad_rows != 0 || read.hash_bits != 0 || options.has("columns")) {
      return Status(Code::kUsage,
                    fmt::format("options that say how rows are read have no meaning with model {}, which "
                                "takes any file of bytes",
                                manifest.model.name));
    }
    read.format = "libsvm";
    read.text.context = manifest.model.inputs;
    return read;
  }
  const unsigned trained_bits = manifest.hash_bits();
  if (options.has("hash-bits") && read.hash_bits != trained_bits) {
    return Status(Code::kUsage,
                  fmt::format("--hash-bits {}, but the model was trained with {}", read.hash_bits,
                              trained_bits == 0 ? "64-bit ids" : fmt::format("{} bits", trained_bits)));
  }
  read.hash_bits = trained_bits;
  read.interactions = manifest.option("interactions");
  read.value_scales = manifest.option("value-scales");
  const std::string columns = manifest.option("columns");
  if (says_all_columns(columns)) {
    (options.has("columns") ? read.known_numbers : read.known_columns) = columns;
  } else if (!options.has("columns")) {
    read.columns = columns;
  }
  if (!options.has("label-column")) read.label_column = manifest.option("label-column");
  if (!options.has("weight-column")) read.weight_column = manifest.option("weight-column");
  if (options.has("columns") && !says_all_columns(columns) && says_known_of_members(read.columns, columns)) {
    settle_members(read);
    read.columns = columns;
  }
  return read;
}

Status check_given_columns(const Manifest& manifest, const Options& options, const DataSet& data) {
  const std::string known = manifest.option("columns");
  const bool given = options.has("columns") || options.has("label-column") || options.has("weight-column");
  if (data.format().members && options.has("columns") &&
      !says_known_of_members(options.text("columns"), known)) {
    return with_hint(
        {Code::kUsage, fmt::format("--columns {}, but the model was trained with {}", options.text("columns"),
                                   known.empty() ? "what members are by themselves" : "--columns " + known)},
        "leave out --columns: the model knows what it was told");
  }
  if (!given || !says_all_columns(known) || !data.format().columns) return ok_status();
  const Status status = check_same_features(data.columns(), known, manifest.model.fields != 0);
  if (status.ok()) return status;
  return with_hint({status.code(), fmt::format("{}: {}", data.paths().front(), status.message())},
                   "leave out --columns, --label-column and --weight-column: the model knows its columns");
}

}  // namespace thalweg
