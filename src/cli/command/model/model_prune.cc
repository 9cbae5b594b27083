// model prune: a model without the features that hardly count.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/score/remembered_names.h"
#include "cli/view/output.h"
#include "cli/work/stored_model.h"
#include "model/format/model_prune.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

constexpr OptionRow kPruneOptions[] = {
    {.name = "below",
     .type = OptionType::kReal,
     .group = "Output",
     .help = "Leave out features whose weights and factors are all nearer to 0; unset leaves out those that "
             "are 0",
     .example = "0.001",
     .fallback = "0",
     .placeholder = "X",
     .low = 0,
     .high = 1e30},
};

Status run_model_prune(const Options& options, Output& out) {
  if (!options.has("out")) {
    return with_hint({Code::kUsage, "thalweg model prune needs -o DIR"}, options.command().example);
  }
  const Result<ModelReader> model = open_model(options.arguments()[0]);
  if (!model) return model.status();
  const auto names = remembered_names(*model);
  SystemDisk disk;
  const std::string& destination = options.text("out");
  const Result<Pruned> pruned =
      prune_model(*model, static_cast<float>(options.real("below")), disk, destination);
  if (!pruned) return pruned.status();
  const Status kept = names.ok() ? keep_names(*names, destination) : names.status();
  if (!kept.ok()) out.warn(fmt::format("names of features are not kept: {}", kept.message()));
  out.note(fmt::format("wrote {}: {} rows, {} left out", destination, pruned->rows, pruned->removed));
  out.json({{"model", destination},
            {"model_rows", pruned->rows},
            {"removed", pruned->removed},
            {"model_digest", digest_text(pruned->digest)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kModelPruneCommand = {
    .path = "model prune",
    .summary = "Write a model without features whose weights are 0, or nearly so",
    .example = "thalweg model prune runs/ctr --below 0.001 -o runs/small",
    .run = run_model_prune,
    .options = {"out"},
    .own = kPruneOptions,
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
