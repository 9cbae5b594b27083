// node server: a keeper of parameters, by hand or started by train --processes.
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/signals.h"
#include "cli/view/output.h"
#include "cli/work/own_node.h"

namespace thalweg {
namespace {

Status run_node_server(const Options& options, Output& out) {
  auto node = train_node(options, out);
  if (!node) return node.status();
  node->node.threads = static_cast<std::uint32_t>(options.maybe_integer("threads").value_or(0));
  warn_if_insecure(node->node, out);
  node->stop = &catch_node_interrupts();
  return ended(run_train_server(*node), out);
}

}  // namespace

extern constinit const Command kNodeServerCommand = {
    .path = "node server",
    .summary = "Run one server: a keeper of parameters",
    .example = "thalweg node server --join 127.0.0.1:7100",
    .run = run_node_server,
    .options = {"listen|join|timeout|grace|secret-file|insecure-no-auth|memory|threads"},
};

}  // namespace thalweg
