// ckpt show: what a checkpoint has, by its manifest.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_dir.h"
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "net/system_disk.h"

namespace thalweg {
namespace {

Status run_ckpt_show(const Options& options, Output& out) {
  const SystemDisk disk;
  const std::string& given = options.arguments()[0];
  std::string path;
  const auto manifest = checkpoint::with_newest(disk, given, [&](const std::string& newest) {
    path = newest;
    return checkpoint::open(disk, path);
  });
  if (!manifest) return checkpoint::with_older(disk, given, manifest.status());
  std::string text = fmt::format("step {}: {} rows, {} bytes, of library version {}\n",
                                 checkpoint::step_text(manifest->step), manifest->rows(), manifest->bytes(),
                                 manifest->library_version);
  const auto& base = manifest->base;
  if (base) {
    text += fmt::format("{} of the rows are here, what has changed since {}; the others are there\n",
                        manifest->stored_rows(), base->name);
  }
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const checkpoint::Part& part : manifest->parts) {
    text += fmt::format("{}: {} rows, {} bytes", part.file, part.rows, part.bytes);
    for (std::size_t t = 0; t < part.ranges.size(); ++t) {
      if (!part.ranges[t].empty())
        text += fmt::format(", {} {}", manifest->tables[t].name, text_of(part.ranges[t]));
    }
    text += '\n';
    parts.push_back(
        {{"file", part.file}, {"rows", part.rows}, {"bytes", part.bytes}, {"xxh3_128", part.hash}});
  }
  nlohmann::ordered_json shards = nlohmann::ordered_json::array();
  for (const Reached& of : manifest->reached()) {
    text += fmt::format("{}{}", shards.empty() ? "data shards go on with steps " : ", ",
                        checkpoint::step_text(of.low));
    shards.push_back({of.low.epoch, of.low.index});
  }
  if (!shards.empty()) text += '\n';
  for (const auto& [name, value] : manifest->options) text += fmt::format("{} {}\n", name, value);
  out.human(text);
  out.json({{"path", path},
            {"step", {manifest->step.epoch, manifest->step.index}},
            {"rows", manifest->rows()},
            {"bytes", manifest->bytes()},
            {"stored_rows", manifest->stored_rows()},
            {"since", base ? nlohmann::ordered_json(base->name) : nlohmann::ordered_json()},
            {"library_version", manifest->library_version},
            {"options", manifest->options},
            {"job", nlohmann::ordered_json::parse(manifest->job, nullptr, false)},
            {"shards", std::move(shards)},
            {"parts", std::move(parts)}});
  return ok_status();
}

}  // namespace

extern constinit const Command kCkptShowCommand = {
    .path = "ckpt show",
    .summary = "Show what a checkpoint, of a directory of them the newest, has",
    .example = "thalweg ckpt show runs/ctr.ckpt/step-0.500",
    .run = run_ckpt_show,
    .arguments = "PATH",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
