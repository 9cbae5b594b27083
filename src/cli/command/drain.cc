// drain: a server leaves a live job, which goes on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/work/own_node.h"
#include "thalweg/drain.h"

namespace thalweg {
namespace {

constexpr OptionRow kDrainRows[] = {
    {.name = "server",
     .type = OptionType::kInt,
     .group = "Cluster",
     .help = "Number of the server that is to leave",
     .example = "1",
     .placeholder = "N",
     .low = 0,
     .high = 4095},
    {.name = "drain-timeout",
     .type = OptionType::kDuration,
     .group = "Cluster",
     .help = "Longest wait until it has left; it goes on leaving after that",
     .example = "10min",
     .fallback = "60s",
     .placeholder = "SECONDS",
     .low = 0.001,
     .high = 86400,
     .flag = "timeout"},
};

Status run_drain(const Options& options, Output& out) {
  auto node = joining_node(options, out);
  if (!node) return node.status();
  const auto server = options.maybe_integer("server");
  if (!server) {
    return with_hint(
        {Code::kUsage, "thalweg drain needs --server N, the number of the server that is to leave"},
        options.command().example);
  }
  node->patience = options.duration("drain-timeout");
  node->unmet_patience = kUnmetPatience;
  const auto drain = drain_server(*node, static_cast<std::uint32_t>(*server));
  if (!drain) return drain.status();
  out.human(drain_text(*drain));
  out.json(drain_json(*drain));
  return ok_status();
}

}  // namespace

extern constinit const Command kDrainCommand = {
    .path = "drain",
    .summary = "Let a server leave a live job, which loses nothing and goes on",
    .example = "thalweg drain --server 1 --join 127.0.0.1:7100",
    .run = run_drain,
    .options = {"join|secret-file|insecure-no-auth"},
    .own = kDrainRows,
};

}  // namespace thalweg
