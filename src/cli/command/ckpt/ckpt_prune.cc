// ckpt prune: removes old checkpoints.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_dir.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

Status run_ckpt_prune(const Options& options, Output& out) {
  SystemDisk disk;
  const std::string& directory = options.arguments()[0];
  const auto pruned = checkpoint::prune(
      disk, directory, {.keep = static_cast<std::uint32_t>(options.integer("keep")), .reads = true});
  if (!pruned) return pruned.status();
  nlohmann::ordered_json damaged = nlohmann::ordered_json::array();
  for (const Status& why : pruned->damaged) {
    out.warn(why.message());
    damaged.push_back(why.message());
  }
  std::string text;
  for (const std::string& path : pruned->gone) text += fmt::format("removed {}\n", path);
  out.human(text);
  out.json({{"removed", pruned->gone}, {"damaged", std::move(damaged)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCkptPruneCommand = {
    .path = "ckpt prune",
    .summary = "Remove all but the newest whole checkpoints of a directory",
    .example = "thalweg ckpt prune runs/ctr.ckpt --keep 1",
    .run = run_ckpt_prune,
    .options = {"keep"},
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
