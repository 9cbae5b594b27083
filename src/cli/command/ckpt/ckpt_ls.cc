// ckpt ls: what a directory of checkpoints has.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_dir.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

Status run_ckpt_ls(const Options& options, Output& out) {
  const SystemDisk disk;
  const auto all = checkpoint::list(disk, options.arguments()[0]);
  if (!all) return all.status();
  std::string text;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const checkpoint::Listed& one : *all) {
    const Step step = one.misnamed.value_or(one.step);
    nlohmann::ordered_json json = {
        {"path", one.path}, {"step", {step.epoch, step.index}}, {"complete", one.status.ok()}};
    if (one.status.ok()) {
      json["rows"] = one.manifest.rows();
      json["bytes"] = one.manifest.bytes();
      json["since"] = nullptr;
      text += fmt::format("{}  {} rows, {} bytes, {} parts", one.path, one.manifest.rows(),
                          one.manifest.bytes(), one.manifest.parts.size());
      if (const auto& base = one.manifest.base) {
        json["since"] = base->name;
        text += fmt::format(", {} changed since {}", one.manifest.stored_rows(), base->name);
      }
      text += '\n';
    } else {
      json["error"] = one.status.message();
      text += fmt::format("{}  {}\n", one.path, one.status.message());
    }
    list.push_back(std::move(json));
  }
  if (all->empty()) out.note("no checkpoints in " + options.arguments()[0]);
  out.human(text);
  out.json({{"checkpoints", std::move(list)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCkptLsCommand = {
    .path = "ckpt ls",
    .summary = "List the checkpoints in a directory",
    .example = "thalweg ckpt ls runs/ctr.ckpt",
    .run = run_ckpt_ls,
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
