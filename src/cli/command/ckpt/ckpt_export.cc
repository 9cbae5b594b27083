// ckpt export: a checkpoint as a model that predict and eval take.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hint.h"
#include "checkpoint/checkpoint_dir.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "net/system_disk.h"
#include "train/checkpoint/export.h"

namespace thalweg {
namespace {

Status run_ckpt_export(const Options& options, Output& out) {
  if (!options.has("out"))
    return with_hint({Code::kUsage, "thalweg ckpt export needs -o DIR"}, options.command().example);
  const std::string& given = options.arguments()[0];
  const auto exported = checkpoint::with_newest(SystemDisk(), given, [&](const std::string& path) {
    return export_checkpoint(path, options.text("out"));
  });
  if (!exported) return checkpoint::with_older(SystemDisk(), given, exported.status());
  out.note(fmt::format("saved to {}, {} keys; model digest {:016x}", options.text("out"), exported->rows,
                       exported->digest));
  out.json({{"model", options.text("out")},
            {"model_rows", exported->rows},
            {"model_digest", fmt::format("{:016x}", exported->digest)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCkptExportCommand = {
    .path = "ckpt export",
    .summary = "Save a checkpoint, of a directory of them the newest, as a model",
    .example = "thalweg ckpt export runs/ctr.ckpt/step-0.500 -o runs/ctr",
    .run = run_ckpt_export,
    .options = {"out"},
    .arguments = "PATH",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
