// ckpt verify: whether every byte is as it was written.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_dir.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

Status run_ckpt_verify(const Options& options, Output& out) {
  const SystemDisk disk;
  const std::string& given = options.arguments()[0];
  std::string path;
  const Status whole = checkpoint::with_newest(disk, given, [&](const std::string& newest) {
    path = newest;
    return checkpoint::verify(disk, path);
  });
  if (!whole.ok()) return checkpoint::with_older(disk, given, whole);
  out.human(path + " is whole\n");
  out.json({{"path", path}, {"complete", true}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCkptVerifyCommand = {
    .path = "ckpt verify",
    .summary =
        "Read every byte of a checkpoint, of a directory of them the newest, and say whether it is whole",
    .example = "thalweg ckpt verify runs/ctr.ckpt/step-0.500",
    .run = run_ckpt_verify,
    .arguments = "PATH",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
