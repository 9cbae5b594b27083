// node worker: a reader of data, by hand or started by train --processes.
#include "cli/command/command.h"
#include "cli/options/options.h"
#include "cli/signals.h"
#include "cli/view/output.h"
#include "cli/work/own_node.h"

namespace thalweg {
namespace {

Status run_node_worker(const Options& options, Output& out) {
  auto node = train_node(options, out);
  if (!node) return node.status();
  node->stop = &catch_node_interrupts();
  return ended(run_train_worker(*node), out);
}

}  // namespace

extern constinit const Command kNodeWorkerCommand = {
    .path = "node worker",
    .summary = "Run one worker: a reader of data",
    .example = "thalweg node worker --join 127.0.0.1:7100 -- clicks.svm",
    .run = run_node_worker,
    .options = {"listen|join|timeout|grace|secret-file|insecure-no-auth|memory"},
    .arguments = "[FILE...]",
    .arguments_max = kManyArguments,
};

}  // namespace thalweg
