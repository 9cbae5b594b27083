// ckpt reshard: a checkpoint as another number of servers would have stored it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hint.h"
#include "checkpoint/checkpoint_dir.h"
#include "checkpoint/reshard.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

Status run_ckpt_reshard(const Options& options, Output& out) {
  const auto parts = options.maybe_integer("parts");
  if (!options.has("out") || !parts)
    return with_hint({Code::kUsage, "thalweg ckpt reshard needs --parts N and -o DIR"},
                     options.command().example);
  SystemDisk disk;
  const std::string& given = options.arguments()[0];
  std::string path;
  const auto made = checkpoint::with_newest(disk, given, [&](const std::string& newest) {
    path = newest;
    return checkpoint::reshard(disk, path, options.text("out"), static_cast<std::uint32_t>(*parts));
  });
  if (!made) return checkpoint::with_older(disk, given, made.status());
  out.human(fmt::format("{} has what {} has, in {} parts\n", *made, path, *parts));
  out.json({{"path", *made}, {"of", path}, {"parts", *parts}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCkptReshardCommand = {
    .path = "ckpt reshard",
    .summary =
        "Write a checkpoint, of a directory of them the newest, as another number of servers would have",
    .example = "thalweg ckpt reshard runs/ctr.ckpt --parts 4 -o runs/ctr4.ckpt",
    .run = run_ckpt_reshard,
    .options = {"parts|out"},
    .arguments = "PATH",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
